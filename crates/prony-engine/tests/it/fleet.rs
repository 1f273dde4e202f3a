//! One load in several shares at once, as agents run them: the merged result is that of one instrument, and the server's own
//! count is the truth.

use std::thread;
use std::time::Duration;

use prony_engine::{Control, RunError, RunExtras, run_with};
use prony_model::{
    Absence, AbsenceKind, AgentOutcome, ClockOffset, DriverChoice, End, FindingCode, FleetResult, RunEvent,
    RunPlan, RunResult, SampleRecord, Severity, Stages, Verdict, split,
};
use prony_stats::Histogram;
use prony_summary::merge;

use crate::plans::{check, closed, for_ms, open, plan, poisson, requests};
use crate::server::{Server, ok};

/// Time for all shares to get ready, on a busy machine, too.
const LEAD: Duration = Duration::from_secs(1);

fn monotonic() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::new(time.tv_sec.cast_unsigned(), u32::try_from(time.tv_nsec).expect("below a second"))
}

/// Runs `parts` at once, from one moment on; returns that moment, the results and all samples.
fn at_once(parts: Vec<RunPlan>) -> (Duration, Vec<RunResult>, Vec<SampleRecord>) {
    let start_at = monotonic() + LEAD;
    let agents: Vec<_> = parts
        .into_iter()
        .map(|part| {
            thread::spawn(move || {
                let mut samples = Vec::new();
                let part = RunPlan { samples: true, ..part };
                let extras = RunExtras { start_at: Some(start_at), ..RunExtras::default() };
                let result = run_with(&part, &extras, &Control::default(), &mut |event| match event {
                    RunEvent::Samples(more) => samples.extend(more),
                    RunEvent::SamplesLost(lost) => panic!("{lost} samples were lost"),
                    _ => {}
                });
                (result.expect("the share can be started"), samples)
            })
        })
        .collect();
    let (mut results, mut samples) = (Vec::new(), Vec::new());
    for agent in agents {
        let (result, more) = agent.join().expect("no panic");
        check(&result);
        results.push(result);
        samples.extend(more);
    }
    (start_at, results, samples)
}

fn outcome(name: &str, result: RunResult) -> AgentOutcome {
    let clock = Some(ClockOffset { offset_ns: 0, bound_ns: 1_000 });
    AgentOutcome { name: name.to_owned(), clock, result: Ok(result) }
}

fn merged(whole: &RunPlan, start_at: Duration, results: Vec<RunResult>) -> FleetResult {
    let names = ["a", "b", "c"];
    let agents = names.into_iter().zip(results).map(|(name, result)| outcome(name, result)).collect();
    let start_ns = u64::try_from(start_at.as_nanos()).expect("a machine is not so old");
    let fleet = merge(whole, start_ns, agents);
    assert_eq!(fleet.merged.check(), [], "a merged result agrees with itself");
    fleet
}

/// What else the machine does makes `result` doubtful, and is not what the test is about.
fn undisturbed(result: &mut RunResult) {
    result.findings.clear();
    result.verdict = Verdict::Valid;
}

fn quantile(result: &RunResult, name: &str) -> Option<f64> {
    result.latency.response.quantiles_ms.get(name).copied().flatten()
}

/// What the server counted is the sum, the union of all samples has the quantiles.
fn check_truth(fleet: &FleetResult, server: &Server, samples: &[SampleRecord]) {
    let merged = &fleet.merged;
    assert_eq!(merged.requests.sent, server.requests());
    assert_eq!(merged.requests.done, server.requests());
    let sum: u64 = fleet.agents.iter().filter_map(|agent| Some(agent.result.as_ref()?.requests.done)).sum();
    assert_eq!(merged.requests.done, sum);
    assert_eq!(samples.len() as u64, sum);
    let response: Histogram = samples.iter().map(|sample| sample.done_ns - sample.intended_ns).collect();
    let service: Histogram = samples.iter().map(|sample| sample.done_ns - sample.sent_ns).collect();
    for (clock, summary, truth) in
        [("response", &merged.latency.response, response), ("service", &merged.latency.service, service)]
    {
        assert_eq!(summary.count, truth.count(), "{clock}");
        let near = |found: Option<f64>, expected: Option<u64>| {
            let (found, expected) = (found.expect("a number"), expected.expect("a number") as f64 / 1e6);
            assert!((found - expected).abs() < 1e-6, "{clock}: {found} is {expected}");
        };
        near(summary.min_ms, truth.min());
        near(summary.max_ms, truth.max());
        if !fleet
            .merged
            .findings
            .iter()
            .any(|finding| matches!(finding.code, FindingCode::AgentInvalid | FindingCode::AgentsDisagree))
        {
            for (name, q) in [("0.5", 0.5), ("0.9", 0.9)] {
                near(summary.quantiles_ms[name], truth.value_at_quantile(q));
            }
        }
    }
}

#[test]
fn two_agents_make_the_asked_rate_together() {
    let server = Server::answering(&ok("hello"));
    let whole = RunPlan { load: open(500.0, 20), end: for_ms(2_000), ..plan(server.url()) };
    let parts = split(&whole, &[1, 2]).expect("it can be split");
    let (start_at, results, samples) = at_once(parts);
    let fleet = merged(&whole, start_at, results);
    check_truth(&fleet, &server, &samples);
    let result = &fleet.merged;
    assert_eq!(result.requests.intended, 1_000, "every request of one machine's schedule");
    assert_eq!(result.rate.asked_per_s, Some(500.0));
    assert_eq!(result.plan, RunPlan { threads: 3, ..whole });
    let mut intended: Vec<u64> = samples.iter().map(|sample| sample.intended_ns).collect();
    intended.sort_unstable();
    let start_ns = u64::try_from(start_at.as_nanos()).expect("a machine is not so old");
    let schedule: Vec<u64> = (0..1_000).map(|index| start_ns + index * 2_000_000).collect();
    assert_eq!(intended, schedule, "due at the same moments");
    let asked: Vec<Option<f64>> = fleet
        .agents
        .iter()
        .map(|agent| agent.result.as_ref().and_then(|result| result.rate.asked_per_s))
        .collect();
    assert!((asked[1].expect("a rate") / asked[0].expect("a rate") - 2.0).abs() < 1e-12, "{asked:?}");
    let start = fleet.start_spread.expect("two agents");
    assert_eq!(start.bound_ns, 2_000);
    for agent in &fleet.agents {
        let late = agent.start_late_ns.expect("it has begun");
        let start = agent.result.as_ref().and_then(|result| result.timing.start).expect("it has begun");
        assert_eq!((start.planned_ns, i64::try_from(start.ready_ns)), (start_ns, Ok(late)));
        assert!(start.first_sent_ns.is_some() && late >= 0);
        assert!(agent.result.as_ref().is_some_and(|result| result.pieces.is_none()), "they are left out");
    }
    assert_eq!(fleet.merged.series.iter().map(|second| second.sent).sum::<u64>(), 1_000);
    let json = prony_model::fleet_to_json(&fleet);
    assert_eq!(prony_model::fleet_from_json(&json).expect("it is read back"), fleet);
}

#[test]
fn agents_share_every_stage() {
    let server = Server::answering(&ok("hello"));
    let stages = Stages::parse("100/s:500ms,0:200ms,peak=100..501/s:1s").expect("stages");
    let load = open(501.0, 20);
    let whole =
        RunPlan { load, end: End::Duration(stages.duration()), stages: Some(stages), ..plan(server.url()) };
    let parts = split(&whole, &[1, 2]).expect("it can be split");
    let (start_at, results, samples) = at_once(parts);
    let fleet = merged(&whole, start_at, results);
    assert_eq!(samples.len() as u64, server.requests());
    let found = &fleet.merged.stages;
    let intended: Vec<_> = found.iter().map(|stage| (stage.name.as_str(), stage.requests.intended)).collect();
    // 50, and then the integral of the ramp: 300.5.
    assert_eq!(intended, [("1", 50), ("2", 0), ("peak", 301)]);
    assert_eq!(found.iter().map(|stage| stage.requests.done).sum::<u64>(), fleet.merged.requests.done);
    assert_eq!(
        found.iter().map(|stage| stage.response.count).sum::<u64>(),
        fleet.merged.latency.response.count
    );
    let asked: Vec<f64> = found.iter().filter_map(|stage| stage.asked_per_s).collect();
    assert!(
        asked.iter().zip([100.0, 0.0, 300.5]).all(|(asked, truth)| (asked - truth).abs() < 1e-6),
        "{asked:?}"
    );
    let json = prony_model::fleet_to_json(&fleet);
    assert_eq!(prony_model::fleet_from_json(&json).expect("it is read back"), fleet);
}

#[test]
fn three_agents_share_a_count_of_a_closed_loop() {
    let server = Server::answering(&ok("hello"));
    let whole = RunPlan { load: closed(7), end: requests(2_001), ..plan(server.url()) };
    let parts = split(&whole, &[1, 1, 1]).expect("it can be split");
    let (start_at, results, samples) = at_once(parts);
    let fleet = merged(&whole, start_at, results);
    check_truth(&fleet, &server, &samples);
    assert_eq!((fleet.merged.requests.done, fleet.merged.connections.asked), (2_001, 7));
    assert_eq!(fleet.merged.client.threads.iter().map(|one| one.thread).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(fleet.agents.iter().all(|agent| {
        agent
            .result
            .as_ref()
            .is_some_and(|result| !result.timing.interrupted && result.connections.reached > 0)
    }));
}

#[test]
fn poisson_arrivals_are_those_of_one_machine_with_as_many_threads() {
    let moments = |threads: &[u32]| {
        let server = Server::answering(&ok("hello"));
        let whole = RunPlan { load: poisson(400.0, 20), end: for_ms(700), seed: 3, ..plan(server.url()) };
        let (start_at, _, samples) = at_once(split(&whole, threads).expect("it can be split"));
        let start_ns = u64::try_from(start_at.as_nanos()).expect("a machine is not so old");
        let mut moments: Vec<u64> = samples.iter().map(|sample| sample.intended_ns - start_ns).collect();
        moments.sort_unstable();
        moments
    };
    assert_eq!(moments(&[1, 2]), moments(&[3]));
}

/// An agent whose way to the server takes 5 ms longer.
#[test]
fn a_slow_agent_withholds_the_quantiles_of_all() {
    let server = Server::answering(&ok("hello"));
    let far = Server::start(|peer| {
        while peer.request().is_some() {
            thread::sleep(Duration::from_millis(5));
            peer.answer(&ok("hello"));
        }
    });
    let whole = RunPlan { load: open(400.0, 40), end: for_ms(2_000), ..plan(server.url()) };
    let mut parts = split(&whole, &[1, 1, 1]).expect("it can be split");
    parts[1].target = plan(far.url()).target;
    let (start_at, mut results, _) = at_once(parts);
    results.iter_mut().for_each(undisturbed);
    let fleet = merged(&whole, start_at, results);
    let found = fleet.merged.findings.iter().find(|finding| finding.code == FindingCode::AgentsDisagree);
    let found = found.unwrap_or_else(|| panic!("agent b is slow: {:?}", fleet.merged.findings));
    assert!(found.message.contains("agent b"), "{}", found.message);
    assert_eq!(quantile(&fleet.merged, "0.5"), None);
    assert_ne!(fleet.verdict, Verdict::Valid);
    let why = &fleet.merged.latency.service.withheld["0.99"].reason;
    assert!(why.contains("agent b"), "{why}");
    assert!(fleet.merged.latency.response.max_ms.is_some(), "facts stay");
}

#[test]
fn an_invalid_agent_and_a_lost_one_are_named() {
    let server = Server::answering(&ok("hello"));
    let whole = RunPlan { load: closed(4), end: for_ms(600), ..plan(server.url()) };
    let parts = split(&whole, &[1, 1]).expect("it can be split");
    let (start_at, mut results, _) = at_once(parts);
    results.iter_mut().for_each(undisturbed);
    let start_ns = u64::try_from(start_at.as_nanos()).expect("a machine is not so old");

    let absence = Absence { kind: AbsenceKind::Lost, reason: "nothing heard for 10 s".to_owned() };
    let lost = AgentOutcome { name: "b".to_owned(), clock: None, result: Err(absence) };
    let fleet = merge(&whole, start_ns, vec![outcome("a", results[0].clone()), lost.clone()]);
    let found = &fleet.merged.findings[0];
    assert_eq!((found.code, fleet.verdict), (FindingCode::AgentLost, Verdict::Invalid));
    assert!(found.message.contains("b lost: nothing heard for 10 s"), "{}", found.message);
    assert!(found.message.contains("50 % of the load"), "{}", found.message);
    assert_eq!(fleet.merged.requests, results[0].requests);

    let nobody = merge(&whole, start_ns, vec![lost]);
    assert_eq!((nobody.verdict, nobody.merged.requests.intended), (Verdict::Invalid, 0));
    assert_eq!(nobody.merged.check(), []);

    // As if its own machine had been too busy.
    let doubt = found.clone();
    results[1].findings = vec![prony_model::Finding {
        code: FindingCode::SendLag,
        severity: Severity::Invalid,
        message: "requests were sent late".to_owned(),
        ..doubt
    }];
    results[1].verdict = Verdict::Invalid;
    let fleet = merged(&whole, start_at, results.clone());
    let found = fleet.merged.findings.iter().find(|finding| finding.code == FindingCode::AgentInvalid);
    let message = &found.expect("b is invalid").message;
    assert!(message.contains("agent b is invalid") && message.contains("send-lag"), "{message}");
    assert_eq!((fleet.verdict, quantile(&fleet.merged, "0.5")), (Verdict::Invalid, None));

    // A result that was damaged on its way.
    results[1].histograms.response.data.truncate(20);
    let fleet =
        merge(&whole, start_ns, vec![outcome("a", results[0].clone()), outcome("b", results[1].clone())]);
    let absence = fleet.agents[1].absence.as_ref().expect("its result can't be used");
    assert_eq!(absence.kind, AbsenceKind::Failed);
    assert!(absence.reason.contains("histogram"), "{}", absence.reason);
}

#[test]
fn agents_that_start_apart_are_no_one_instrument() {
    let server = Server::answering(&ok("hello"));
    let whole = RunPlan { load: closed(2), end: for_ms(500), ..plan(server.url()) };
    let (start_at, results, _) = at_once(split(&whole, &[1, 1]).expect("it can be split"));
    let start_ns = u64::try_from(start_at.as_nanos()).expect("a machine is not so old");
    let mut agents: Vec<AgentOutcome> =
        ["a", "b"].into_iter().zip(results).map(|(name, result)| outcome(name, result)).collect();
    // Its clock is 300 ms ahead, so what it calls the start was 300 ms earlier.
    agents[1].clock = Some(ClockOffset { offset_ns: 300_000_000, bound_ns: 1_000 });
    let fleet = merge(&whole, start_ns, agents);
    let found = fleet.merged.findings.iter().find(|finding| finding.code == FindingCode::StartSpread);
    assert_eq!(found.map(|finding| finding.severity), Some(Severity::Invalid));
    let spread = fleet.start_spread.expect("two agents");
    assert!(spread.spread_ns.abs_diff(300_000_000) < 100_000_000, "{spread:?}");
    assert!(fleet.overlap_share.is_some_and(|share| share < 0.98), "{:?}", fleet.overlap_share);
    assert!(fleet.merged.findings.iter().any(|finding| finding.code == FindingCode::Overlap));
}

#[test]
fn a_start_that_has_passed_is_refused_before_any_load() {
    let server = Server::answering(&ok("hello"));
    let extras = RunExtras { start_at: Some(monotonic()), ..RunExtras::default() };
    let error = run_with(&plan(server.url()), &extras, &Control::default(), &mut |_| {});
    assert!(matches!(error, Err(RunError::StartPassed { .. })), "{error:?}");
    assert_eq!(server.requests(), 0);
}

#[test]
fn a_run_that_waits_for_its_start_can_be_ended() {
    let server = Server::answering(&ok("hello"));
    // Longer than any test may take.
    let start_at = Some(monotonic() + Duration::from_hours(1));
    let control = Control::default();
    let extras = RunExtras { start_at, ..RunExtras::default() };
    let plan =
        RunPlan { load: closed(2), end: for_ms(500), driver: DriverChoice::Epoll, ..plan(server.url()) };
    let stopper = control.clone();
    let result = run_with(&plan, &extras, &control, &mut |event| {
        if matches!(event, RunEvent::Starting { .. }) {
            stopper.stop();
        }
    });
    let result = result.expect("a result, of nothing");
    assert_eq!((result.requests.intended, server.requests()), (0, 0));
    assert!(result.timing.interrupted);
}
