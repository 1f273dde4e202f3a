//! A search on a server: a pilot, then trial after trial, and after each load that it did not carry a wait
//! until it answers as before.

use std::time::Duration;

use prony_model::words::{milliseconds, plural, whole};
use prony_model::{
    CAPACITY_FORMAT, CAPACITY_VERSION, CapacityLimit, CapacityMethod, CapacityResult, CapacityTrial, End,
    Figure, Load, PlainFigure, Problem, Rate, RunPlan, RunResult, TrialOutcome, TrialPurpose, TrialTimes,
    Varied, Verdict,
};

use super::findings::{Missing, TriedAt, findings};
use super::outcome::outcome;
use super::search::{
    COARSE, CONFIRM_SHARE, CONFIRM_TRIALS, EXCEED_RATIO, Found, Next, PRECISION, Search, SearchOptions,
    TRIALS_PER_LOAD, TrialPlan, Tried, WARMUP_SHARE, rounded,
};
use super::trial::{Evaluated, Objectives, evaluate, least_time_ms, trial};
use crate::loads::{
    Alone, Cause, Drained, LoadError, LoadRunner, PAUSE, alone, lost_agents, refuse_without_success,
    wait_until_drained,
};

/// A short load by a few connections: about how much the server can do.
const PILOT: Duration = Duration::from_secs(1);
const PILOT_WARMUP: Duration = Duration::from_millis(500);
const PILOT_CONNECTIONS: u32 = 8;
/// The first load, as a share of what the pilot got.
const START_SHARE: f64 = 0.5;
/// A search has about so many trials: one takes this part of the whole time.
const TRIALS_EXPECTED: u32 = 45;
/// Trials are no longer than this unless their quantiles need it, and no shorter than that.
const LONGEST_TRIAL: Duration = Duration::from_secs(10);
const SHORTEST_TRIAL: Duration = Duration::from_millis(500);
/// With fewer trials of the needed length nothing can be found.
const LEAST_TRIALS: f64 = 15.0;
/// After a trial that a busy machine spoiled: its mood may pass. As often as that happens in a row, up to so many times.
const PAUSE_AFTER_VOID: Duration = Duration::from_secs(2);
const PAUSES_MAX: u32 = 4;

/// A server whose capacity is searched.
#[derive(Debug, Clone)]
pub struct LiveCapacity {
    /// What each trial does, but for its load and its length.
    pub plan: RunPlan,
    /// What is required.
    pub objectives: Objectives,
    /// No lower load is tried.
    pub from_per_s: Option<f64>,
    /// No higher load is tried.
    pub to_per_s: Option<f64>,
    /// The load that is planned for.
    pub peak_per_s: Option<f64>,
    /// Least length of a trial; `None` derives it from `time`.
    pub trial: Option<Duration>,
    /// Limit on the whole search.
    pub time: Duration,
}

/// What a search needs beside its loads: an observer of its trials.
pub trait TrialRunner: LoadRunner {
    /// A trial begins.
    fn begins(&mut self, plan: &TrialPlan);
    /// A trial is over.
    fn ended(&mut self, trial: &CapacityTrial);
}

/// What the server does before any trial.
pub(super) struct Pilot {
    pub(super) result: RunResult,
    /// One request alone, milliseconds: the median.
    pub(super) alone_ms: Option<f64>,
    /// The least.
    least_ms: Option<f64>,
    /// What it got, per second.
    pub(super) rate_per_s: f64,
}

/// Sends single requests to the server of `plan`, then a short load by a few connections; `None` where that was interrupted.
pub(super) fn pilot<R: TrialRunner>(
    plan: &RunPlan,
    runner: &mut R,
) -> Result<Option<Pilot>, LoadError<R::Error>> {
    let Some(Alone { median_ms: alone_ms, least_ms, .. }) = alone(plan, runner)? else {
        return Ok(None);
    };
    let plan = RunPlan {
        load: Load::Closed { connections: PILOT_CONNECTIONS.max(plan.threads) },
        end: End::Duration(PILOT),
        warmup: PILOT_WARMUP,
        ..plan.clone()
    };
    let result = runner.run(&plan).map_err(LoadError::Run)?.result;
    if result.timing.interrupted {
        return Ok(None);
    }
    refuse_without_success(&result)?;
    let sessions = Figure::Plain(PlainFigure::SessionsRate).reading(&result).value;
    let requests = result.rate.whole_rounds_per_s.unwrap_or(result.rate.done_per_s);
    let rate_per_s = if plan.scenario.is_some() { sessions.unwrap_or(requests) } else { requests };
    Ok(Some(Pilot { result, alone_ms, least_ms, rate_per_s: rate_per_s.max(0.01) }))
}

impl LiveCapacity {
    /// Searches with `runner`.
    pub fn search<R: TrialRunner>(&self, runner: &mut R) -> Result<CapacityResult, LoadError<R::Error>> {
        self.objectives.check().map_err(LoadError::Asked)?;
        let Some(pilot) = pilot(&self.plan, runner)? else {
            return Err(LoadError::Asked(Problem::new(
                "the search was stopped before its first trial",
                "nothing is known yet: start it again",
            )));
        };
        self.refuse_impossible(&pilot).map_err(LoadError::Asked)?;
        let start = self.from_per_s.unwrap_or_else(|| rounded(START_SHARE * pilot.rate_per_s));
        let options = self.options(start);
        refuse_too_long(&options).map_err(LoadError::Asked)?;
        let searching = Searching {
            live: self,
            alone_ms: pilot.alone_ms,
            search: Search::new(options.clone()),
            trials: Vec::new(),
            tried: Vec::new(),
            notes: Vec::new(),
            missing: None,
            stopped: None,
            interrupted: false,
        };
        Ok(searching.go(runner, &pilot, &options))
    }

    /// Of a search that begins at the rate `start_per_s`.
    pub(super) fn options(&self, start_per_s: f64) -> SearchOptions {
        let derived = (self.time / TRIALS_EXPECTED).clamp(SHORTEST_TRIAL, LONGEST_TRIAL);
        SearchOptions {
            start_per_s,
            from_per_s: self.from_per_s,
            to_per_s: self.to_per_s,
            trial: self.trial.unwrap_or(derived),
            requests_needed: self.objectives.requests_needed(),
            time: self.time,
        }
    }

    /// An objective that one request alone misses, no load can meet.
    fn refuse_impossible(&self, pilot: &Pilot) -> Result<(), Problem> {
        let (Some(alone_ms), Some(bound_ms)) = (pilot.alone_ms, least_time_ms(&self.objectives)) else {
            return Ok(());
        };
        if pilot.least_ms.is_none_or(|least_ms| least_ms < bound_ms) {
            return Ok(());
        }
        Err(Problem::new(
            format!(
                "one request alone takes {}, and at most {} is required",
                milliseconds(alone_ms),
                milliseconds(bound_ms)
            ),
            "no load can meet that: require a longer time",
        ))
    }

    /// The plan of trial `number`; `None` where its rate is none.
    fn trial_plan(&self, number: usize, trial: &TrialPlan) -> Option<RunPlan> {
        let mut plan = RunPlan {
            // Random arrivals are drawn for each: the same moments again and again would be one sample.
            seed: self.plan.seed.wrapping_add(number as u64),
            end: End::Duration(trial.length),
            warmup: trial.length.mul_f64(WARMUP_SHARE),
            ..self.plan.clone()
        };
        if let Load::Open { rate_per_s, .. } = &mut plan.load {
            *rate_per_s = Rate::per_second(trial.rate_per_s)?;
        }
        Some(plan)
    }

    fn method(&self, options: &SearchOptions) -> CapacityMethod {
        CapacityMethod {
            varied: Varied::Rate,
            trial_s: options.trial.as_secs_f64(),
            warmup_share: WARMUP_SHARE,
            trials_per_load: TRIALS_PER_LOAD,
            exceed_ratio: EXCEED_RATIO,
            coarse: COARSE,
            precision: PRECISION,
            confirm_trials: CONFIRM_TRIALS,
            confirm_share: CONFIRM_SHARE,
            time_s: self.time.as_secs_f64(),
            from_per_s: self.from_per_s,
            to_per_s: self.to_per_s,
        }
    }
}

/// At few requests per second a high quantile takes long trials.
pub(super) fn refuse_too_long(options: &SearchOptions) -> Result<(), Problem> {
    let length_s = options.requests_needed / options.start_per_s.max(f64::MIN_POSITIVE);
    let most_s = options.time.as_secs_f64() / LEAST_TRIALS;
    if length_s <= most_s.max(options.trial.as_secs_f64()) {
        return Ok(());
    }
    let minutes = (length_s * LEAST_TRIALS / 60.0).ceil();
    Err(Problem::new(
        format!(
            "at about {} /s a trial needs {} s for its quantiles, and the search has {} s",
            prony_model::words::two_digits(options.start_per_s),
            whole(length_s),
            whole(options.time.as_secs_f64())
        ),
        format!("require a lower quantile, or give it more time: {minutes}m"),
    ))
}

/// A search that is on.
struct Searching<'a> {
    live: &'a LiveCapacity,
    alone_ms: Option<f64>,
    search: Search,
    trials: Vec<CapacityTrial>,
    tried: Vec<Tried>,
    notes: Vec<String>,
    /// Why the server could not be loaded any more.
    missing: Option<Missing>,
    /// Why no more load can be put on it.
    stopped: Option<String>,
    interrupted: bool,
}

impl Searching<'_> {
    fn go<R: TrialRunner>(
        mut self,
        runner: &mut R,
        pilot: &Pilot,
        options: &SearchOptions,
    ) -> CapacityResult {
        let found = loop {
            let plan = match self.search.next(runner.elapsed()) {
                Next::Try(plan) => plan,
                Next::End(found) => break found,
            };
            runner.begins(&plan);
            self.one(&plan, runner);
            runner.pause(PAUSE + PAUSE_AFTER_VOID * self.spoiled_in_a_row());
        };
        let found = match (&self.missing, &self.stopped) {
            (Some(Missing::Gone { .. }), _) => Found { limit: Some(CapacityLimit::Server), ..found },
            (_, Some(_)) => Found { limit: Some(CapacityLimit::Agents), ..found },
            (_, None) => found,
        };
        let carried_per_s = found.carried.map_or(0.0, |carried| carried.rate_per_s);
        let outcome = outcome(&found, &self.tried, |limit| self.reason(limit, carried_per_s));
        let findings =
            findings(&outcome, &self.trials, self.missing.as_ref(), self.interrupted, options.time);
        self.notes.extend(nevertheless(&self.tried));
        self.notes.extend(lost_agents(runner));
        let Pilot { result, alone_ms, .. } = pilot;
        CapacityResult {
            format: CAPACITY_FORMAT.to_owned(),
            version: CAPACITY_VERSION,
            verdict: Verdict::from_findings(&findings),
            started_at: result.timing.started_at.clone(),
            elapsed_s: runner.elapsed().as_secs_f64(),
            interrupted: self.interrupted,
            plan: self.live.plan.clone(),
            agents: runner.agents(),
            addresses: result.addresses.clone(),
            driver: result.driver.name.clone(),
            objectives: self.live.objectives.thresholds.iter().map(ToString::to_string).collect(),
            errors_max: self.live.objectives.errors_max,
            peak_per_s: self.live.peak_per_s,
            method: self.live.method(options),
            alone_ms: *alone_ms,
            outcome,
            trials: self.trials,
            scaling: None,
            notes: self.notes,
            findings,
            environment: result.environment.clone(),
        }
    }

    /// How many trials the machine has spoiled in a row, up to a limit.
    fn spoiled_in_a_row(&self) -> u32 {
        let is_spoiled = |tried: &&Tried| tried.void_by == Some(CapacityLimit::Machine);
        let spoiled = self.tried.iter().rev().take_while(is_spoiled).take(PAUSES_MAX as usize);
        u32::try_from(spoiled.count()).unwrap_or(PAUSES_MAX)
    }

    /// Makes one trial and takes in what came of it.
    fn one<R: TrialRunner>(&mut self, plan: &TrialPlan, runner: &mut R) {
        let Some(run_plan) = self.live.trial_plan(self.trials.len(), plan) else {
            self.notes.push(format!("{} /s is more than can be asked for", whole(plan.rate_per_s)));
            self.search.end();
            return;
        };
        let (loaded, mut evaluated) = match runner.run(&run_plan) {
            Ok(loaded) if loaded.result.timing.interrupted => return self.interrupt(),
            Ok(loaded) => {
                let evaluated = evaluate(&loaded, &self.live.objectives, plan.purpose);
                (Some(loaded), evaluated)
            }
            Err(error) => {
                let why = R::describe(&error);
                let limit = match R::cause(&error) {
                    Cause::Interrupt => return self.interrupt(),
                    Cause::Agents => return self.stop(why),
                    Cause::Share => CapacityLimit::Client,
                    Cause::Lost => CapacityLimit::Agents,
                    Cause::Server => CapacityLimit::Server,
                };
                (None, Evaluated::void(limit, why))
            }
        };
        let recovered_after_s =
            if evaluated.is_overload() { self.wait(plan, &mut evaluated, runner) } else { None };
        let made = match &loaded {
            Some(loaded) => {
                trial(loaded, &evaluated, &self.live.objectives, plan.purpose, plan.length.as_secs_f64())
            }
            None => not_made(plan, evaluated.outcome, evaluated.reason.clone()),
        };
        // Of sessions the rate is theirs, not that of their requests.
        let made = CapacityTrial { rate_per_s: plan.rate_per_s, recovered_after_s, ..made };
        let Evaluated { outcome, void_by, is_disturbed, .. } = evaluated;
        if plan.purpose == TrialPurpose::Confirm && outcome == TrialOutcome::Failed {
            self.notes.push(format!(
                "{} /s was not carried for {} s, although shorter trials at more were",
                whole(plan.rate_per_s),
                whole(plan.length.as_secs_f64())
            ));
        }
        let tried = Tried { plan: *plan, outcome, void_by, is_disturbed };
        self.tried.push(tried);
        self.search.record(tried);
        runner.ended(&made);
        self.trials.push(made);
    }

    /// Waits until single requests take as long as before any load; returns how long that took, seconds. Where they never do, the
    /// search ends. A server that is gone was not necessarily overloaded by this trial, which is void then.
    fn wait<R: TrialRunner>(
        &mut self,
        plan: &TrialPlan,
        evaluated: &mut Evaluated,
        runner: &mut R,
    ) -> Option<f64> {
        match wait_until_drained(&self.live.plan, self.alone_ms, runner) {
            Drained::After(after) => return Some(after.as_secs_f64()),
            Drained::Never => {
                self.missing = Some(Missing::NotRecovered { after: TriedAt::Rate(plan.rate_per_s) });
                self.search.end();
            }
            Drained::Gone(why) => {
                let reason = match evaluated.outcome {
                    TrialOutcome::Failed => format!("{}; the server was gone: {why}", evaluated.reason),
                    _ => format!("the server was gone: {why}"),
                };
                *evaluated = Evaluated::void(CapacityLimit::Server, reason);
                self.missing = Some(Missing::Gone { at: TriedAt::Rate(plan.rate_per_s), why });
                self.search.end();
            }
            Drained::Unknown(why) => self.stop(why),
            Drained::Interrupted => self.interrupt(),
        }
        None
    }

    fn interrupt(&mut self) {
        self.interrupted = true;
        self.search.end();
    }

    /// No agent is left to load the server.
    fn stop(&mut self, why: String) {
        self.notes.push(no_more(self.trials.len(), &why));
        self.stopped = Some(why);
        self.search.end();
    }

    /// Why no load higher than `carried_per_s` was tried, in words.
    fn reason(&self, limit: CapacityLimit, carried_per_s: f64) -> String {
        let voids = self.tried.iter().zip(&self.trials).rev();
        let mut voids = voids.filter(|(tried, _)| tried.void_by == Some(limit)).map(|(_, trial)| trial);
        // Long trials confirm a lower load, and they too may be void.
        let last = voids.clone().find(|trial| trial.rate_per_s > carried_per_s).or_else(|| voids.next());
        let at = last.map(|trial| format!(" at {} /s: {}", whole(trial.rate_per_s), trial.reason));
        let at = at.unwrap_or_default();
        match limit {
            CapacityLimit::Agents => {
                self.stopped.clone().unwrap_or_else(|| format!("too many agents were lost{at}"))
            }
            CapacityLimit::Server => {
                let at = match &self.missing {
                    Some(Missing::Gone { at, why }) => format!(" at {at}: {why}"),
                    _ => at,
                };
                format!("the server was gone{at}")
            }
            CapacityLimit::Client => format!("the client is the limit{at}"),
            CapacityLimit::Network => format!("the network is the limit{at}"),
            CapacityLimit::Machine => format!("this machine was too busy{at}"),
            CapacityLimit::Asked => "no higher load was asked for (--to)".to_owned(),
            CapacityLimit::Time if self.interrupted => "the search was stopped".to_owned(),
            CapacityLimit::Time => {
                format!("the time was over after {}", plural(self.trials.len() as u64, "trial"))
            }
        }
    }
}

/// Trials that passed although something was in the way.
fn nevertheless(tried: &[Tried]) -> Option<String> {
    let passed = |tried: &&Tried| tried.outcome == TrialOutcome::Passed;
    let disturbed = tried.iter().filter(passed).filter(|tried| tried.is_disturbed).count();
    (disturbed > 0).then(|| {
        format!(
            "{} of {} that passed did so although client or machine were disturbed: without that they pass, too",
            disturbed,
            plural(tried.iter().filter(passed).count() as u64, "trial")
        )
    })
}

/// Why there are no more than so many trials.
pub(super) fn no_more(trials: usize, why: &str) -> String {
    format!("it ended after {}: {why}", plural(trials as u64, "trial"))
}

/// A trial whose load could not be put on the server.
pub(super) fn not_made(plan: &TrialPlan, outcome: TrialOutcome, why: String) -> CapacityTrial {
    CapacityTrial {
        purpose: plan.purpose,
        rate_per_s: plan.rate_per_s,
        users: None,
        agents: Vec::new(),
        started_at: String::new(),
        planned_s: plan.length.as_secs_f64(),
        measured_s: 0.0,
        outcome,
        reason: why,
        objectives: Vec::new(),
        requests: 0,
        failed: 0,
        failed_by_kind: std::collections::BTreeMap::new(),
        unanswered: 0,
        delivered_per_s: 0.0,
        response: TrialTimes::default(),
        service: TrialTimes::default(),
        verdict: Verdict::Invalid,
        invalid: Vec::new(),
        limiter: None,
        client_cpu_share: 0.0,
        recovered_after_s: None,
    }
}

#[cfg(test)]
pub(crate) mod tests;
