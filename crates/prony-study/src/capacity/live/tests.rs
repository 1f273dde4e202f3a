//! Searches by scripted runs: a server of known capacity, and what can go wrong on the way. In one
//! file: all tests share the scripted server at its top.

use prony_model::{
    Absence, AbsenceKind, Arrivals, CapacityOutcome, Confirmation, Finding, FindingCode, FleetAgent,
    Interval, LatencySummary, Limiter, LimiterKind, SecondPoint, Severity, from_json,
};

use super::*;
use crate::capacity::LiveScaling;
use crate::loads::Loaded;

const STORED: &str = include_str!("../../../../prony/tests/it/stored.json");

fn stored() -> RunResult {
    let mut result = from_json(STORED).expect("a stored run");
    result.findings.clear();
    result.timing.interrupted = false;
    result
}

/// One worker with a fixed service time: beyond its capacity a queue grows as long as the load lasts.
pub(crate) struct Rig {
    capacity: f64,
    service_ms: f64,
    clock: Duration,
    pub(crate) runs: usize,
    /// Loads that were put on the server, as rates.
    loads: Vec<f64>,
    /// Their seeds.
    seeds: Vec<u64>,
    ended: Vec<TrialOutcome>,
    /// At this rate it stops answering for ever.
    dies_at: f64,
    /// After a rate this high single requests take long.
    jams_at: f64,
    /// From this rate on half of the requests fail, as often as that.
    breaks_at: f64,
    breaks_times: usize,
    is_jammed: bool,
    is_dead: bool,
    /// After so many runs it stops answering, too.
    dies_after_runs: usize,
    /// The run of a closed loop in which half of the requests fail.
    fails_in_run: usize,
    /// The run in which Ctrl-C comes.
    pub(crate) interrupted_at: usize,
    /// α and β of a closed loop.
    law: (f64, f64),
    /// The client can't send this rate and more: in short loads, and in those of 30 seconds or more.
    client_per_s: (f64, f64),
    /// In every trial the client waits for its core.
    is_disturbed: bool,
}

impl Rig {
    pub(crate) fn new(capacity: f64) -> Self {
        Self {
            capacity,
            service_ms: 1e3 / capacity,
            clock: Duration::ZERO,
            runs: 0,
            loads: Vec::new(),
            seeds: Vec::new(),
            ended: Vec::new(),
            dies_at: f64::INFINITY,
            jams_at: f64::INFINITY,
            breaks_at: f64::INFINITY,
            breaks_times: usize::MAX,
            is_jammed: false,
            is_dead: false,
            dies_after_runs: usize::MAX,
            fails_in_run: 0,
            interrupted_at: usize::MAX,
            law: (1.0, 0.0),
            client_per_s: (f64::INFINITY, f64::INFINITY),
            is_disturbed: false,
        }
    }
}

fn summary(count: u64, p50_ms: f64, p99_ms: f64, max_ms: f64) -> LatencySummary {
    let quantiles = [("0.5", p50_ms), ("0.75", p99_ms), ("0.9", p99_ms), ("0.95", p99_ms), ("0.99", p99_ms)];
    LatencySummary {
        count,
        min_ms: Some(p50_ms.min(p99_ms)),
        mean_ms: Some(p50_ms),
        max_ms: Some(max_ms),
        quantiles_ms: quantiles.into_iter().map(|(key, value)| (key.to_owned(), Some(value))).collect(),
        ..LatencySummary::default()
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn whole_number(value: f64) -> u64 {
    value as u64
}

impl LoadRunner for Rig {
    type Error = String;

    fn run(&mut self, plan: &RunPlan) -> Result<Loaded, String> {
        self.runs += 1;
        let measured = plan.end.duration().expect("every load ends by the clock");
        self.clock += plan.warmup + measured;
        if self.is_dead || self.runs > self.dies_after_runs {
            return Err("connection refused".to_owned());
        }
        let measured_s = measured.as_secs_f64();
        let mut failed_share = 0.0;
        let mut result = stored();
        result.plan = plan.clone();
        result.timing.measured_s = measured_s;
        result.timing.interrupted = self.runs == self.interrupted_at;
        let (sent, done, p50, p99) = match plan.load {
            Load::Closed { connections } => {
                let users = f64::from(connections);
                let (alpha, beta) = self.law;
                let rate =
                    self.capacity * users / (1.0 + alpha * (users - 1.0) + beta * users * (users - 1.0));
                let time = if self.is_jammed { 900.0 } else { 1e3 * users / rate };
                let least = if self.is_jammed { 900.0 } else { self.service_ms };
                result.rate.asked_per_s = None;
                result.rate.whole_rounds_per_s = Some(rate);
                result.rate.done_per_s = rate;
                if self.runs == self.fails_in_run {
                    failed_share = 0.5;
                }
                let count = rate * measured_s;
                result.latency.service = summary(whole_number(count), least, time, time);
                (count, count, least, time)
            }
            Load::Open { rate_per_s, .. } => {
                let asked = rate_per_s.as_per_second();
                self.loads.push(asked);
                self.seeds.push(plan.seed);
                self.is_jammed |= asked >= self.jams_at;
                self.is_dead |= asked >= self.dies_at;
                if asked >= self.breaks_at && self.breaks_times > 0 {
                    self.breaks_times -= 1;
                    failed_share = 0.5;
                }
                result.rate.asked_per_s = Some(asked);
                let excess = (asked / self.capacity - 1.0).max(0.0);
                let queue_ms = |share: f64| self.service_ms + 1e3 * excess * measured_s * share;
                let done = asked.min(self.capacity);
                result.rate.done_per_s = done;
                let (short, long) = self.client_per_s;
                let is_limit = asked >= if measured_s < 30.0 { short } else { long };
                let limit = is_limit.then_some(FindingCode::RateNotReached);
                let wait = self.is_disturbed.then_some(FindingCode::RunQueueWait);
                result.findings.extend(limit.into_iter().chain(wait).map(|code| Finding {
                    code,
                    severity: Severity::Invalid,
                    evidence: Vec::new(),
                    message: "all of a core".to_owned(),
                    advice: String::new(),
                }));
                if excess > 0.0 {
                    let sentence = "one thread".to_owned();
                    result.limiter =
                        Some(Limiter { kind: LimiterKind::ServerThread, sentence, evidence: Vec::new() });
                }
                let service =
                    summary(whole_number(asked * measured_s), self.service_ms, queue_ms(0.5), queue_ms(1.0));
                result.latency.service = service;
                (asked * measured_s, asked * measured_s, queue_ms(0.5), queue_ms(0.99))
            }
        };
        let (sent, done) = (whole_number(sent), whole_number(done * (1.0 - failed_share)));
        result.requests = prony_model::Requests {
            intended: sent,
            sent,
            answered: done,
            done,
            failed: sent - done,
            ..prony_model::Requests::default()
        };
        result.latency.response = summary(done, p50, p99, p99 * 1.1);
        result.series = vec![SecondPoint { p50_ms: Some(self.service_ms), ..SecondPoint::default() }];
        Ok(result.into())
    }

    fn elapsed(&self) -> Duration {
        self.clock
    }

    fn pause(&mut self, length: Duration) {
        self.clock += length;
    }

    fn describe(error: &String) -> String {
        error.clone()
    }

    fn cause(_: &String) -> Cause {
        Cause::Server
    }
}

impl TrialRunner for Rig {
    fn begins(&mut self, _: &TrialPlan) {}

    fn ended(&mut self, trial: &CapacityTrial) {
        self.ended.push(trial.outcome);
    }
}

fn live(objective: &str) -> LiveCapacity {
    let mut plan = stored().plan;
    let rate_per_s = Rate::per_second(1.0).expect("a rate");
    plan.load = Load::Open { rate_per_s, arrivals: Arrivals::Constant, max_connections: 1000 };
    LiveCapacity {
        plan,
        objectives: Objectives {
            thresholds: vec![objective.parse().expect("a threshold")],
            errors_max: 0.001,
        },
        from_per_s: None,
        to_per_s: None,
        peak_per_s: None,
        trial: None,
        time: Duration::from_mins(10),
    }
}

fn codes(result: &CapacityResult) -> Vec<FindingCode> {
    result.findings.iter().map(|finding| finding.code).collect()
}

/// p99 of a queue that grows through 10 s reaches 50 ms at 0.5 % beyond the capacity.
#[test]
fn a_server_of_known_capacity() {
    for capacity in [40.0, 1000.0, 87_654.0] {
        let mut rig = Rig::new(capacity);
        let result = live("response.p90 < 50ms").search(&mut rig).expect("a search");
        let CapacityOutcome::Between {
            estimate_per_s,
            lower_per_s,
            upper_per_s,
            confirmation,
            is_decided,
            ..
        } = result.outcome
        else {
            panic!("{:?}", result.outcome)
        };
        assert!((estimate_per_s / capacity - 1.0).abs() < 0.05, "{:?}", result.outcome);
        assert!(lower_per_s <= capacity * 1.005 && upper_per_s >= capacity, "{:?}", result.outcome);
        assert!(is_decided && matches!(confirmation, Confirmation::Confirmed { .. }), "{confirmation:?}");
        assert_eq!((result.verdict, codes(&result)), (Verdict::Valid, Vec::new()));
        assert_eq!(result.trials.len(), rig.ended.len());
        assert!(result.elapsed_s <= 660.0, "{}", result.elapsed_s);
        let limiting = result.limiting_trial().and_then(|trial| trial.limiter.clone()).expect("a limiter");
        assert_eq!(limiting.kind, LimiterKind::ServerThread);
        // Every trial that was not carried was followed by a wait until the server was back.
        let failed = result.trials.iter().filter(|trial| trial.outcome == TrialOutcome::Failed);
        assert!(failed.clone().count() > 0 && failed.clone().all(|trial| trial.recovered_after_s.is_some()));
        let text = prony_model::capacity_to_json(&result);
        assert_eq!(prony_model::capacity_from_json(&text).expect("own words"), result);
    }
}

/// Trials with the same random arrivals would be one sample.
#[test]
fn every_trial_draws_its_own_arrivals() {
    let mut rig = Rig::new(1000.0);
    let search = live("response.p90 < 50ms");
    search.search(&mut rig).expect("a search");
    let first = search.plan.seed;
    let expected: Vec<u64> = (0..rig.seeds.len() as u64).map(|number| first.wrapping_add(number)).collect();
    assert_eq!(rig.seeds, expected);
}

#[test]
fn a_server_that_dies_ends_the_search_with_what_is_known() {
    let mut rig = Rig { dies_at: 900.0, ..Rig::new(2000.0) };
    let result = live("response.p99 < 50ms").search(&mut rig).expect("a search");
    assert!(result.trials.iter().all(|trial| trial.rate_per_s < 2100.0));
    let gone = result.findings.iter().find(|finding| finding.code == FindingCode::NotRecovered);
    assert!(
        gone.is_some_and(|finding| finding.message.contains("connection refused")),
        "{:?}",
        result.findings
    );
    let last = result.trials.last().expect("a trial");
    assert_eq!(
        (last.outcome, last.reason.as_str()),
        (TrialOutcome::Void, "the server was gone: connection refused")
    );
    // Not one trial says that the server was overloaded.
    assert!(result.trials.iter().all(|trial| trial.outcome != TrialOutcome::Failed), "{:?}", result.trials);
    let CapacityOutcome::AtLeast { limit, reason, .. } = &result.outcome else {
        panic!("{:?}", result.outcome)
    };
    assert_eq!(*limit, CapacityLimit::Server);
    assert!(
        reason.starts_with("the server was gone at ") && reason.ends_with("connection refused"),
        "{reason}"
    );
}

#[test]
fn a_server_that_dies_before_it_carried_anything_has_no_capacity() {
    let mut rig = Rig { dies_after_runs: 2, ..Rig::new(1000.0) };
    let result = live("response.p99 < 50ms").search(&mut rig).expect("a result");
    let CapacityOutcome::Unknown { reason } = &result.outcome else { panic!("{:?}", result.outcome) };
    assert!(reason.contains("connection refused"), "{reason}");
    assert_eq!(result.verdict, Verdict::Invalid);
}

/// The requests of the trial fail, and nobody is there afterwards.
#[test]
fn a_trial_in_which_the_server_dies_is_no_upper_bound() {
    let mut rig = Rig { dies_at: 900.0, breaks_at: 900.0, ..Rig::new(1000.0) };
    let result = live("response.p99 < 50ms").search(&mut rig).expect("a search");
    let last = result.trials.last().expect("a trial");
    assert!(last.outcome == TrialOutcome::Void && last.failed > 0, "{last:?}");
    assert!(
        last.reason.contains("had no good answer") && last.reason.contains("the server was gone"),
        "{last:?}"
    );
    assert!(
        matches!(result.outcome, CapacityOutcome::AtLeast { limit: CapacityLimit::Server, lower_per_s, .. } if lower_per_s < 900.0),
        "{:?}",
        result.outcome
    );
}

/// Stopped for a while: it accepts connections and comes back, and the rates at which that happened are tried again.
#[test]
fn a_server_that_is_back_is_searched_on() {
    let mut rig = Rig { breaks_at: 900.0, breaks_times: 1, ..Rig::new(1000.0) };
    let result = live("response.p90 < 50ms").search(&mut rig).expect("a search");
    assert!(result.trials.iter().any(|trial| trial.failed > 0 && trial.outcome == TrialOutcome::Failed));
    let CapacityOutcome::Between { lower_per_s, upper_per_s, is_decided, .. } = result.outcome else {
        panic!("{:?}", result.outcome)
    };
    assert!(is_decided && lower_per_s <= 1005.0 && upper_per_s >= 1000.0, "{:?}", result.outcome);
}

#[test]
fn a_server_that_does_not_come_back_is_reported() {
    let mut rig = Rig { jams_at: 1001.0, ..Rig::new(1000.0) };
    let result = live("response.p99 < 50ms").search(&mut rig).expect("a search");
    assert!(codes(&result).contains(&FindingCode::NotRecovered), "{:?}", result.findings);
    assert_eq!(result.trials.iter().filter(|trial| trial.outcome == TrialOutcome::Failed).count(), 1);
    assert!(result.verdict != Verdict::Valid);
}

#[test]
fn ctrl_c_leaves_what_is_known() {
    let mut rig = Rig { interrupted_at: 5, ..Rig::new(1000.0) };
    let result = live("response.p99 < 50ms").search(&mut rig).expect("a search");
    assert!(result.interrupted && codes(&result).contains(&FindingCode::Interrupted));
    assert_eq!(rig.runs, 5);
    // Before the first trial nothing is known.
    for run in [1, 2] {
        let mut rig = Rig { interrupted_at: run, ..Rig::new(1000.0) };
        assert!(matches!(live("p99 < 50ms").search(&mut rig), Err(LoadError::Asked(_))));
    }
}

fn refused(live: &LiveCapacity, rig: &mut Rig, expected: &str) {
    match live.search(rig) {
        Err(LoadError::Asked(problem)) => assert!(problem.what.contains(expected), "{}", problem.what),
        other => panic!("{other:?}"),
    }
    assert!(rig.loads.is_empty(), "no load was put on the server: {:?}", rig.loads);
}

#[test]
fn what_no_load_can_meet_is_refused_before_any() {
    refused(&live("response.p99 < 20ms"), &mut Rig::new(40.0), "one request alone takes 25.0 ms");
    refused(&live("response.p99.99 < 1s"), &mut Rig::new(40.0), "needs");
    refused(&live("response.p99 > 20ms"), &mut Rig::new(40.0), "does not bound");
    for objective in
        ["response.p99 < 0ms", "errors < 0%", "success > 100%", "success >= 101%", "server.cpu < 0%"]
    {
        refused(&live(objective), &mut Rig::new(40.0), "can't be met by any server");
    }
}

#[test]
fn a_server_without_a_good_answer_is_the_servers_fault() {
    struct Broken(Rig);
    impl LoadRunner for Broken {
        type Error = String;
        fn run(&mut self, plan: &RunPlan) -> Result<Loaded, String> {
            let mut loaded = self.0.run(plan)?;
            loaded.result.requests.done = 0;
            Ok(loaded)
        }
        fn elapsed(&self) -> Duration {
            self.0.elapsed()
        }
        fn pause(&mut self, length: Duration) {
            self.0.pause(length);
        }
        fn describe(error: &String) -> String {
            error.clone()
        }
        fn cause(_: &String) -> Cause {
            Cause::Server
        }
    }
    impl TrialRunner for Broken {
        fn begins(&mut self, _: &TrialPlan) {}
        fn ended(&mut self, _: &CapacityTrial) {}
    }
    let searched = live("p99 < 1s").search(&mut Broken(Rig::new(1000.0)));
    assert!(matches!(searched, Err(LoadError::Target(_))), "{searched:?}");
}

fn scaling(users: &[u32]) -> LiveScaling {
    LiveScaling {
        plan: stored().plan,
        users: users.to_vec(),
        peak_per_s: None,
        trial: None,
        time: Duration::from_mins(10),
    }
}

#[test]
fn users_follow_a_known_law() {
    // Alone 100 a second; α = 0.05 and β = 0.002 put the peak at 21.8 users.
    let mut rig = Rig { law: (0.05, 0.002), ..Rig::new(100.0) };
    let result = scaling(&[1, 2, 4, 8, 16, 32, 64]).measure(&mut rig).expect("a law");
    let fit = result.scaling.as_ref().and_then(|scaling| scaling.fit.clone()).expect("a fit");
    let near = |found: f64, truth: f64| (found / truth - 1.0).abs() < 0.02;
    assert!(
        near(fit.gamma.value, 100.0) && near(fit.alpha.value, 0.05) && near(fit.beta.value, 0.002),
        "{fit:?}"
    );
    assert!(near(fit.peak_users.expect("a peak").value, (0.95_f64 / 0.002).sqrt()), "{fit:?}");
    assert_eq!((result.trials.len(), fit.trials), (21, 21));
    assert_eq!(result.outcome, CapacityOutcome::Users);
    let Interval { low, high, .. } = Interval { low: fit.beta.low, high: fit.beta.high, indicative: false };
    assert!(low <= fit.beta.value && fit.beta.value <= high);
}

#[test]
fn users_of_a_server_that_dies_keep_their_trials() {
    let users = [1, 2, 4, 8, 16, 32];
    for (dies_after_runs, has_law) in [(6, false), (16, true)] {
        let mut rig = Rig { dies_after_runs, ..Rig::new(100.0) };
        let result = scaling(&users).measure(&mut rig).expect("what is known");
        // Two runs are the pilot's.
        assert_eq!(result.trials.len(), dies_after_runs - 1, "{:?}", result.trials);
        let (last, before) = result.trials.split_last().expect("trials");
        assert_eq!(
            (last.outcome, last.reason.as_str()),
            (TrialOutcome::Void, "the server was gone: connection refused")
        );
        assert!(before.iter().all(|trial| trial.outcome == TrialOutcome::Passed));
        assert!(codes(&result).contains(&FindingCode::NotRecovered), "{:?}", result.findings);
        match &result.outcome {
            CapacityOutcome::Users => assert!(has_law),
            CapacityOutcome::Unknown { reason } => {
                assert!(!has_law && reason.starts_with("the server was gone at "), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Requests fail in a trial, and nobody is there afterwards: its rate is that of a part of the trial.
#[test]
fn a_trial_of_users_in_which_the_server_dies_is_in_no_law() {
    let mut rig = Rig { dies_after_runs: 12, fails_in_run: 12, ..Rig::new(100.0) };
    let result = scaling(&[1, 2, 4, 8, 16, 32]).measure(&mut rig).expect("what is known");
    let last = result.trials.last().expect("trials");
    assert!(last.failed > 0 && last.outcome == TrialOutcome::Void, "{last:?}");
    assert!(last.reason.starts_with("the server was gone"), "{last:?}");
    let fitted = result.scaling.and_then(|scaling| scaling.fit).map_or(0, |fit| fit.trials);
    assert!(fitted < 10, "{fitted}");
}

/// Some requests fail, and the server is there all the same: that is its rate.
#[test]
fn users_of_a_server_that_fails_some_requests() {
    let mut rig = Rig { fails_in_run: 5, law: (0.05, 0.002), ..Rig::new(100.0) };
    let result = scaling(&[1, 2, 4, 8, 16, 32]).measure(&mut rig).expect("a law");
    let failed: Vec<_> = result.trials.iter().filter(|trial| trial.failed > 0).collect();
    assert!(failed.len() == 1 && failed[0].recovered_after_s.is_some(), "{failed:?}");
    assert_eq!(result.trials.len(), 18);
    assert!(!codes(&result).contains(&FindingCode::NotRecovered), "{:?}", result.findings);
}

#[test]
fn too_few_users_bound_no_law() {
    let mut rig = Rig::new(100.0);
    for users in [&[1, 2, 4][..], &[1, 2, 4, 8, 16, 16], &[0, 1, 2, 4, 8, 16]] {
        assert!(matches!(scaling(users).measure(&mut rig), Err(LoadError::Asked(_))), "{users:?}");
    }
    assert_eq!(rig.runs, 0);
    // Stopped in the middle: what was measured stays, and no law is claimed.
    let mut rig = Rig { interrupted_at: 6, ..Rig::new(100.0) };
    let result = scaling(&[1, 2, 4, 8, 16, 32]).measure(&mut rig).expect("a result");
    assert!(result.interrupted && matches!(result.outcome, CapacityOutcome::Unknown { .. }));
    assert_eq!(result.trials.len(), 3);
    assert!(result.findings.iter().any(|finding| finding.severity == Severity::Invalid));
}

/// Agents before a server of known capacity.
struct Fleet {
    rig: Rig,
    left: Vec<&'static str>,
    /// In this load the last of them is lost, and in each so many loads later another one.
    lost_in: Vec<usize>,
    /// Each can put so much on the server: more is refused before the load.
    allowed_each_per_s: f64,
    loads: usize,
}

impl Fleet {
    fn new(capacity: f64, lost_in: &[usize]) -> Self {
        let (left, lost_in) = (vec!["a", "b"], lost_in.to_vec());
        Self { rig: Rig::new(capacity), left, lost_in, allowed_each_per_s: f64::INFINITY, loads: 0 }
    }
}

impl LoadRunner for Fleet {
    type Error = (Cause, &'static str);

    fn run(&mut self, plan: &RunPlan) -> Result<Loaded, (Cause, &'static str)> {
        if self.left.is_empty() {
            return Err((Cause::Agents, "no agent is left"));
        }
        if let Load::Open { rate_per_s, .. } = plan.load
            && rate_per_s.as_per_second() > self.allowed_each_per_s * self.left.len() as f64
        {
            return Err((Cause::Share, "the agent a refused: its policy"));
        }
        let mut loaded = self.rig.run(plan).expect("the server answers");
        let own = loaded.result.clone();
        let agent = |name: &&str| FleetAgent {
            name: (*name).to_owned(),
            clock: None,
            start_late_ns: None,
            measured_ns: None,
            result: Some(Box::new(own.clone())),
            absence: None,
        };
        loaded.agents = self.left.iter().map(agent).collect();
        self.loads += 1;
        if self.lost_in.contains(&self.loads) {
            self.left.pop();
            let lost = loaded.agents.last_mut().expect("there was one");
            lost.result = None;
            let reason = "not heard for 10 s".to_owned();
            lost.absence = Some(Absence { kind: AbsenceKind::Lost, reason });
        }
        Ok(loaded)
    }

    fn agents(&self) -> Vec<String> {
        vec!["a".to_owned(), "b".to_owned()]
    }

    fn lost(&self) -> Vec<String> {
        let lost = ["a", "b"].into_iter().filter(|name| !self.left.contains(name));
        lost.map(str::to_owned).collect()
    }

    fn elapsed(&self) -> Duration {
        self.rig.elapsed()
    }

    fn pause(&mut self, length: Duration) {
        self.rig.pause(length);
    }

    fn describe((_, why): &(Cause, &'static str)) -> String {
        (*why).to_owned()
    }

    fn cause((cause, _): &(Cause, &'static str)) -> Cause {
        *cause
    }
}

impl TrialRunner for Fleet {
    fn begins(&mut self, _: &TrialPlan) {}

    fn ended(&mut self, _: &CapacityTrial) {}
}

/// That a long trial of a lower load is void, too, is no reason why no higher load was tried.
#[test]
fn the_limit_is_that_of_loads_above_the_bound() {
    let mut rig = Rig { client_per_s: (600.0, 500.0), ..Rig::new(1e6) };
    let search = LiveCapacity { from_per_s: Some(100.0), ..live("response.p90 < 50ms") };
    let result = search.search(&mut rig).expect("a search");
    let CapacityOutcome::AtLeast { limit, reason, lower_per_s, confirmation, .. } = &result.outcome else {
        panic!("{:?}", result.outcome)
    };
    assert_eq!(*limit, CapacityLimit::Client);
    assert!((550.0..600.0).contains(lower_per_s), "{lower_per_s}");
    let at = reason.strip_prefix("the client is the limit at ").and_then(|rest| rest.split_once(" /s"));
    let at: f64 = at.expect("a rate").0.replace(',', "").parse().expect("a number");
    assert!(at > *lower_per_s, "{reason}");
    assert!(matches!(confirmation, Confirmation::Missing), "{confirmation:?}");
}

/// What was carried although the client was disturbed is a lower bound, and nothing else is known.
#[test]
fn a_disturbed_client_leaves_a_lower_bound() {
    let mut rig = Rig { is_disturbed: true, ..Rig::new(1000.0) };
    let result = live("response.p90 < 50ms").search(&mut rig).expect("a search");
    let CapacityOutcome::AtLeast { limit, reason, lower_per_s, confirmation, .. } = &result.outcome else {
        panic!("{:?}", result.outcome)
    };
    assert_eq!(*limit, CapacityLimit::Machine);
    assert!((900.0..=1005.0).contains(lower_per_s), "{lower_per_s}");
    assert!(reason.starts_with("this machine was too busy at 1,0"), "{reason}");
    assert!(matches!(confirmation, Confirmation::Confirmed { .. }), "{confirmation:?}");
    let of = |outcome| result.trials.iter().filter(move |trial| trial.outcome == outcome);
    assert!(of(TrialOutcome::Passed).all(|trial| trial.reason.contains(" ms, although all of a core (")));
    // Each may have left a queue behind.
    assert!(of(TrialOutcome::Void).all(|trial| trial.recovered_after_s.is_some()));
    let passed = of(TrialOutcome::Passed).count();
    let note = format!("{passed} of {passed} trials that passed did so although client or machine");
    assert!(result.notes.iter().any(|found| found.starts_with(&note)), "{:?}", result.notes);
    assert!(codes(&result).contains(&FindingCode::VoidTrials), "{:?}", result.findings);
}

#[test]
fn a_search_goes_on_with_the_agents_that_are_left() {
    let result = live("response.p90 < 50ms").search(&mut Fleet::new(1000.0, &[4])).expect("a search");
    let CapacityOutcome::Between { lower_per_s, upper_per_s, .. } = result.outcome else {
        panic!("{:?}", result.outcome)
    };
    assert!(lower_per_s <= 1005.0 && upper_per_s >= 1000.0, "{:?}", result.outcome);
    assert_eq!(result.agents, ["a", "b"]);
    let lost =
        result.trials.iter().position(|trial| trial.outcome == TrialOutcome::Void).expect("a void trial");
    let (before, after) = result.trials.split_at(lost);
    assert!(before.iter().all(|trial| trial.agents == ["a", "b"]), "{before:?}");
    assert!(after.len() > 5 && after.iter().all(|trial| trial.agents == ["a"]), "{after:?}");
    assert_eq!(after[0].reason, "agent b: not heard for 10 s");
    assert!(result.notes[0].contains("the agent b was lost"), "{:?}", result.notes);
}

#[test]
fn without_agents_the_search_ends_with_what_was_carried() {
    let result = live("response.p90 < 50ms").search(&mut Fleet::new(1e6, &[5, 6])).expect("a search");
    let CapacityOutcome::AtLeast { limit, reason, lower_per_s, .. } = &result.outcome else {
        panic!("{:?}", result.outcome)
    };
    assert_eq!((*limit, reason.as_str()), (CapacityLimit::Agents, "no agent is left"));
    let mut passed = result.trials.iter().rev().filter(|trial| trial.outcome == TrialOutcome::Passed);
    assert!(passed.next().is_some_and(|trial| trial.rate_per_s <= *lower_per_s), "{result:?}");
    assert!(result.notes.iter().any(|note| note.contains("no agent is left")), "{:?}", result.notes);
}

#[test]
fn what_agents_refuse_is_a_limit_of_the_client() {
    let mut fleet = Fleet { allowed_each_per_s: 300.0, ..Fleet::new(1e6, &[]) };
    let search = LiveCapacity { from_per_s: Some(100.0), ..live("response.p90 < 50ms") };
    let result = search.search(&mut fleet).expect("a search");
    let CapacityOutcome::AtLeast { limit, reason, lower_per_s, confirmation, .. } = &result.outcome else {
        panic!("{:?}", result.outcome)
    };
    assert_eq!(*limit, CapacityLimit::Client);
    assert!(reason.contains("the agent a refused: its policy"), "{reason}");
    assert!((550.0..=600.0).contains(lower_per_s), "{lower_per_s}");
    assert!(matches!(confirmation, Confirmation::Confirmed { .. }), "{confirmation:?}");
}

#[test]
fn users_are_fewer_where_agents_are_lost_and_none_without_any() {
    let users = scaling(&[1, 2, 4, 8, 16, 32]);
    let result = users.measure(&mut Fleet::new(100.0, &[5])).expect("a law");
    assert_eq!((result.trials.len(), result.agents.len()), (19, 2));
    let void: Vec<_> = result.trials.iter().filter(|trial| trial.outcome == TrialOutcome::Void).collect();
    assert!(void.len() == 1 && void[0].reason.contains("agent b: not heard"), "{void:?}");
    let result = users.measure(&mut Fleet::new(100.0, &[5, 8])).expect("what is known");
    assert!(result.trials.len() < 10 && !result.interrupted, "{:?}", result.trials.len());
    assert!(result.notes.iter().any(|note| note.contains("no agent is left")), "{:?}", result.notes);
}
