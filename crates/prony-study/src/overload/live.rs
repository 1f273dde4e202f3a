//! Overloads of a server: single requests without load, then a run for each kind of clients, with a wait in between until it
//! answers as before.

use std::time::Duration;

use prony_model::words::plural;
use prony_model::{
    CapacityLimit, End, Evidence, Finding, FindingCode, Load, LoadPhase, OVERLOAD_FORMAT, OVERLOAD_VERSION,
    OverloadAttempts, OverloadMethod, OverloadOutcome, OverloadResult, OverloadRun, Problem, Rate, RetryPlan,
    RunPlan, RunResult, Severity, Stage, Stages, Verdict,
};

use super::course::{Course, OverloadSample, Requests, course};
use super::outcome::{METASTABLE_PULSES, RECOVERED_SHARE, outcome};
use crate::fault::{Fault, fault_of_client, invalid_codes};
use crate::loads::{
    Alone, Drained, LoadError, LoadRunner, Loaded, PAUSE, alone, refuse_without_success, wait_until_drained,
};

/// Base load that is not counted, at most: connections are opened, caches filled.
const WARMUP: Duration = Duration::from_secs(2);
/// Requests of a run whose moments are kept: half a gigabyte of them.
const REQUESTS_MAX: f64 = 20e6;

/// A server that is to be overloaded.
#[derive(Debug, Clone)]
pub struct LiveOverload {
    /// What each run does, but for its load, its length and its retries. Its request timeout is that of one attempt.
    pub plan: RunPlan,
    /// A run with clients that send nothing again.
    pub plain: bool,
    /// A run with clients that do, with the timeout for a request and all its attempts.
    pub retrying: Option<(RetryPlan, Duration)>,
    /// Requests per second before and after the pulse.
    pub base: Rate,
    /// Requests per second in the pulse.
    pub pulse: Rate,
    /// The server's capacity, where it is known; per second.
    pub capacity_per_s: Option<f64>,
    /// Length of the load before the pulse.
    pub before: Duration,
    /// Length of the pulse.
    pub pulse_length: Duration,
    /// Length of the load after the pulse.
    pub after: Duration,
    /// A request is good if its good response comes within this time of when it was due.
    pub good_within: Duration,
    /// Length of a part of the course ([`part_length`](super::part_length)).
    pub part: Duration,
}

/// A run with each of its requests.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The run.
    pub loaded: Loaded,
    /// The requests of its measured part that ended.
    pub samples: Vec<OverloadSample>,
    /// How many more there were that found no room.
    pub lost: u64,
}

/// What overloads need beside single loads.
pub trait OverloadRunner: LoadRunner {
    /// Puts the load of a plan on its target, and keeps each request.
    fn run_recorded(&mut self, plan: &RunPlan) -> Result<Recorded, Self::Error>;
    /// A run begins: with retries, or without.
    fn begins(&mut self, plan: &RunPlan);
    /// A run is over.
    fn ended(&mut self, run: &OverloadRun);
}

impl LiveOverload {
    /// Refuses what shows nothing.
    ///
    /// # Errors
    /// The pulse is no higher than the base, or there are too many requests.
    pub fn check(&self) -> Result<(), Problem> {
        let (base, pulse) = (self.base.as_per_second(), self.pulse.as_per_second());
        if pulse <= base {
            return Err(Problem::new(
                format!("the pulse of {pulse} /s is no higher than the base of {base} /s"),
                "raise it (--times 2, --capacity 500), or lower --rate",
            ));
        }
        let seconds = |length: Duration| length.as_secs_f64();
        let requests =
            base * (seconds(self.before) + seconds(self.after)) + pulse * seconds(self.pulse_length);
        if requests > REQUESTS_MAX {
            return Err(Problem::new(
                format!("a run has {requests:.0} requests, more than {REQUESTS_MAX:.0}"),
                "shorten it: --pulse 2s, --after 20s",
            ));
        }
        Ok(())
    }

    /// Overloads the server with `runner`.
    ///
    /// # Errors
    /// The plan contradicts itself, the server answers nothing well before any load, or the first run could not be made.
    pub fn measure<R: OverloadRunner>(&self, runner: &mut R) -> Result<OverloadResult, LoadError<R::Error>> {
        self.check().map_err(LoadError::Asked)?;
        let Some(Alone { result, median_ms, .. }) = alone(&self.plan, runner)? else {
            return Err(LoadError::Asked(Problem::new(
                "it was stopped before the first run",
                "nothing is known yet: start it again",
            )));
        };
        refuse_without_success(&result)?;
        let mut loading = Loading {
            live: self,
            alone_ms: median_ms,
            runs: Vec::new(),
            notes: Vec::new(),
            findings: Vec::new(),
            interrupted: false,
        };
        let plain = self.plain.then(|| self.run_plan(None));
        let retrying = self.retrying.as_ref().map(|retries| self.run_plan(Some(retries)));
        let plans: Vec<RunPlan> = plain.into_iter().chain(retrying).collect();
        for (place, plan) in plans.iter().enumerate() {
            if !loading.one(plan, place + 1 == plans.len(), runner)? {
                break;
            }
        }
        Ok(loading.result(&result, runner.elapsed()))
    }

    fn method(&self) -> OverloadMethod {
        OverloadMethod {
            base_per_s: self.base.as_per_second(),
            pulse_per_s: self.pulse.as_per_second(),
            capacity_per_s: self.capacity_per_s,
            before_s: self.before.as_secs_f64(),
            pulse_s: self.pulse_length.as_secs_f64(),
            after_s: self.after.as_secs_f64(),
            good_within_ms: self.good_within.as_secs_f64() * 1e3,
            part_s: self.part.as_secs_f64(),
            recovered_share: RECOVERED_SHARE,
            metastable_pulses: METASTABLE_PULSES,
        }
    }

    fn stages(&self) -> Stages {
        let stage = |phase: LoadPhase, rate: Rate, duration: Duration| Stage {
            name: Some(phase.name().to_owned()),
            ..Stage::steady(rate.as_per_second(), duration)
        };
        Stages(vec![
            stage(LoadPhase::Before, self.base, self.before),
            stage(LoadPhase::During, self.pulse, self.pulse_length),
            stage(LoadPhase::After, self.base, self.after),
        ])
    }

    /// Base, pulse, base.
    fn run_plan(&self, retrying: Option<&(RetryPlan, Duration)>) -> RunPlan {
        let mut plan = self.plan.clone();
        plan.stages = Some(self.stages());
        plan.end = End::Duration(self.before + self.pulse_length + self.after);
        plan.warmup = WARMUP.min(self.before / 2);
        plan.samples = true;
        if let Load::Open { rate_per_s, .. } = &mut plan.load {
            *rate_per_s = self.pulse;
        }
        plan.retries = retrying.map(|(retries, _)| retries.clone());
        if let Some((_, timeout)) = retrying {
            plan.timeouts.request = *timeout;
        }
        // Until every request has ended, at most.
        plan.timeouts.drain = plan.timeouts.drain.max(plan.timeouts.request);
        plan
    }
}

/// Overloads that are on.
struct Loading<'a> {
    live: &'a LiveOverload,
    alone_ms: Option<f64>,
    runs: Vec<OverloadRun>,
    notes: Vec<String>,
    findings: Vec<Finding>,
    interrupted: bool,
}

impl Loading<'_> {
    /// Makes a run; whether another may follow.
    fn one<R: OverloadRunner>(
        &mut self,
        plan: &RunPlan,
        is_last: bool,
        runner: &mut R,
    ) -> Result<bool, LoadError<R::Error>> {
        runner.begins(plan);
        let recorded = match runner.run_recorded(plan) {
            Ok(recorded) => recorded,
            Err(error) if self.runs.is_empty() => return Err(LoadError::Run(error)),
            Err(error) => {
                self.notes.push(format!(
                    "the run {} could not be made: {}",
                    clients(plan.retries.as_ref()),
                    R::describe(&error)
                ));
                return Ok(false);
            }
        };
        self.interrupted |= recorded.loaded.result.timing.interrupted;
        let mut run = overload_run(&self.live.method(), plan, &recorded);
        self.findings.extend(doubt(&recorded.loaded, plan.retries.as_ref()));
        let mut goes_on = false;
        if !self.interrupted {
            match wait_until_drained(&self.live.plan, self.alone_ms, runner) {
                Drained::After(waited) => {
                    run.drained_after_s = Some(waited.as_secs_f64());
                    goes_on = true;
                }
                Drained::Unknown(why) => {
                    self.notes.push(format!("whether the server is back could not be checked: {why}"));
                }
                Drained::Never | Drained::Gone(_) => {
                    self.findings.push(not_drained(plan.retries.as_ref(), is_last));
                }
                Drained::Interrupted => self.interrupted = true,
            }
        }
        runner.ended(&run);
        self.runs.push(run);
        if goes_on && !is_last {
            runner.pause(PAUSE);
        }
        Ok(goes_on)
    }

    fn result(mut self, first: &RunResult, elapsed: Duration) -> OverloadResult {
        self.findings.extend(self.interrupted.then(|| interrupted(&self.runs)));
        self.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        OverloadResult {
            format: OVERLOAD_FORMAT.to_owned(),
            version: OVERLOAD_VERSION,
            verdict: Verdict::from_findings(&self.findings),
            started_at: first.timing.started_at.clone(),
            elapsed_s: elapsed.as_secs_f64(),
            interrupted: self.interrupted,
            plan: RunPlan { samples: false, ..self.live.run_plan(None) },
            addresses: first.addresses.clone(),
            driver: first.driver.name.clone(),
            method: self.live.method(),
            alone_ms: self.alone_ms,
            runs: self.runs,
            notes: self.notes,
            findings: self.findings,
            environment: first.environment.clone(),
        }
    }
}

/// What a run came to.
fn overload_run(method: &OverloadMethod, plan: &RunPlan, recorded: &Recorded) -> OverloadRun {
    let Recorded { loaded, samples, lost } = recorded;
    let result = &loaded.result;
    let warmup_ns = u64::try_from(plan.warmup.as_nanos()).unwrap_or(u64::MAX);
    let began = result.timing.start.map(|start| start.planned_ns.saturating_add(warmup_ns));
    let requests = Requests {
        samples,
        begin_ns: began.unwrap_or_default(),
        measured_s: result.timing.measured_s,
        due: result.requests.intended,
    };
    let Course { phases, parts } = course(method, &requests);
    let course = Course { phases, parts };
    let fault = fault_of_client(loaded);
    let is_about_client = fault.is_some();
    let outcome = match fault {
        Some(Fault { limit: CapacityLimit::Client | CapacityLimit::Agents, reason, .. }) => {
            OverloadOutcome::Unknown { reason }
        }
        _ if *lost > 0 || began.is_none() => {
            OverloadOutcome::Unknown { reason: format!("{} could not be kept", plural(*lost, "request")) }
        }
        _ => outcome(method, &course),
    };
    let memory = result.server.as_ref().map(|server| &server.own);
    let growth = memory.and_then(|own| {
        let (start, end) = (own.memory_start_bytes?, own.memory_end_bytes?);
        i64::try_from(i128::from(end) - i128::from(start)).ok()
    });
    let shares = result.client.threads.iter().map(|thread| thread.cpu_share_peak);
    OverloadRun {
        retries: plan.retries.clone(),
        started_at: result.timing.started_at.clone(),
        outcome,
        phases: course.phases,
        course: course.parts,
        attempts: result.retries.as_ref().map(|used| OverloadAttempts {
            attempts: used.attempts,
            retries: used.retries,
            recovered: used.recovered,
        }),
        server_memory_max_bytes: memory.and_then(|own| own.memory_peak_bytes),
        server_memory_growth_bytes: growth,
        drained_after_s: None,
        verdict: if is_about_client { Verdict::Invalid } else { Verdict::Valid },
        invalid: if is_about_client { invalid_codes(loaded) } else { Vec::new() },
        client_cpu_share: shares.fold(0.0, f64::max),
    }
}

/// `without retries`, `with retries`.
fn clients(retries: Option<&RetryPlan>) -> &'static str {
    if retries.is_some() { "with retries" } else { "without retries" }
}

/// A client that was the limit makes the outcome its own. A machine that was busy for moments does not: what is asked here takes
/// seconds.
fn doubt(loaded: &Loaded, retries: Option<&RetryPlan>) -> Option<Finding> {
    let Fault { limit, .. } = fault_of_client(loaded)?;
    let mut invalid = loaded.result.findings.iter().filter(|finding| finding.severity == Severity::Invalid);
    let is_clients = limit == CapacityLimit::Client;
    // What was found on an agent has the code of all of them here.
    let of_agents = !loaded.agents.is_empty();
    let mut found = invalid.find(|finding| of_agents || finding.code.is_passing() != is_clients)?.clone();
    if limit == CapacityLimit::Machine {
        found.severity = Severity::Warning;
    }
    found.message = format!("{}: {}", clients(retries), found.message);
    Some(found)
}

fn not_drained(retries: Option<&RetryPlan>, is_last: bool) -> Finding {
    let rest = if is_last { "" } else { ", so the run with retries was not made" };
    Finding {
        code: FindingCode::NotRecovered,
        severity: Severity::Warning,
        evidence: Vec::new(),
        message: format!(
            "30 s after all load of the run {} the server did not answer as before{rest}",
            clients(retries)
        ),
        advice: "look at the server's queue, and restart it before the next run".to_owned(),
    }
}

fn interrupted(runs: &[OverloadRun]) -> Finding {
    Finding {
        code: FindingCode::Interrupted,
        severity: Severity::Warning,
        evidence: vec![Evidence::new("runs", runs.len() as f64, "count")],
        message: "it was stopped by hand".to_owned(),
        advice: "the outcomes are what was known by then; start it again".to_owned(),
    }
}
