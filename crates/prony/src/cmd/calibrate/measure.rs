//! One setting, measured.

use std::time::Duration;

use prony_engine::Control;
use prony_model::words::percent;
use prony_model::{
    Arrivals, Body, CalibrationPoint, CalibrationSetting, Checks, DriverChoice, End, KernelClock, Load,
    Phase, RequestPlan, RunEvent, RunPlan, RunResult, Target, Timeouts,
};
use prony_report::count;

use super::grid::Step;
use super::server::{Sample, Server, ServerUse};
use crate::cli_error::CliError;
use crate::resolve::BODY_BYTES_MAX;

/// Enough to open the connections and to fill the caches.
const WARMUP: Duration = Duration::from_millis(300);
/// Enough to open the connections again.
const BETWEEN: Duration = Duration::from_millis(50);
/// Share of the time that a thread may wait for a CPU, and share that the hypervisor may take: beyond it others
/// had a part in the number. The thresholds for invalid runs (docs/findings.md#run-queue-wait, #steal).
const DISTURBED_SHARE: f64 = 0.05;

/// How every setting is measured.
#[derive(Debug, Clone)]
pub(super) struct Manner {
    pub(super) duration: Duration,
    pub(super) driver: DriverChoice,
    /// A null server elsewhere.
    pub(super) target: Option<Target>,
    pub(super) cpus: u32,
    pub(super) seed: u64,
}

impl Manner {
    /// Finds what contradicts itself in `steps`, before anything is measured.
    pub(super) fn check(&self, steps: &[Step]) -> Result<(), CliError> {
        // Any will do: a server for this machine is not started yet.
        let nowhere = Target::parse("http://127.0.0.1/").expect("invariant: this is a URL");
        steps.iter().try_for_each(|step| self.plan(step, &nowhere).map(drop))
    }

    /// The load of `step` on `target`.
    fn plan(&self, step: &Step, target: &Target) -> Result<RunPlan, CliError> {
        if step.request_bytes > BODY_BYTES_MAX {
            return Err(CliError::usage("--request-bytes: choose at most 64 MiB"));
        }
        let connections = step.connections;
        let bytes = usize::try_from(step.request_bytes).unwrap_or(usize::MAX);
        let plan = RunPlan {
            target: target.clone(),
            request: RequestPlan {
                method: if bytes == 0 { "GET" } else { "POST" }.to_owned(),
                headers: Vec::new(),
                body: Body { bytes: vec![b'x'; bytes] },
                version: step.version,
                keep_alive: step.keep_alive,
                verbatim: false,
                pipeline: step.pipeline,
            },
            load: match step.asked_per_s {
                None => Load::Closed { connections },
                Some(rate_per_s) => {
                    Load::Open { rate_per_s, arrivals: Arrivals::Constant, max_connections: connections }
                }
            },
            end: End::Duration(self.duration),
            warmup: WARMUP,
            threads: step.threads,
            timeouts: Timeouts::default(),
            checks: Checks::default(),
            sources: Vec::new(),
            driver: self.driver,
            kernel_clock: KernelClock::Auto,
            samples: false,
            seed: self.seed,
        };
        plan.check()?;
        Ok(plan)
    }

    /// Loads one null server with `step`, so many `times` in a row; `None` if that was interrupted.
    pub(super) fn repeat(
        &self,
        step: &Step,
        times: u32,
        control: &Control,
    ) -> Result<Option<Vec<RunResult>>, CliError> {
        let server = match &self.target {
            None => Server::start(step, self.cpus)?,
            Some(target) => Server::remote(target),
        };
        let mut plan = self.plan(step, &server.target)?;
        let mut runs = Vec::new();
        for _ in 0..times {
            let result = prony_engine::run(&plan, control, &mut |_| ())?;
            if result.timing.interrupted {
                return Ok(None);
            }
            runs.push(result);
            // As in a comparison: what the first load warmed up stays warm.
            plan.warmup = BETWEEN;
        }
        Ok(Some(runs))
    }

    /// Loads a null server with `step`; `None` if that was interrupted.
    pub(super) fn measure(
        &self,
        step: &Step,
        control: &Control,
    ) -> Result<Option<CalibrationPoint>, CliError> {
        let server = match &self.target {
            None => Server::start(step, self.cpus)?,
            Some(target) => Server::remote(target),
        };
        let plan = self.plan(step, &server.target)?;
        let (mut before, mut after) = (Sample::default(), Sample::default());
        let result = prony_engine::run(&plan, control, &mut |event| match event {
            RunEvent::Phase(Phase::Measure) => before = server.sample(),
            RunEvent::Phase(Phase::Drain) => after = server.sample(),
            _ => {}
        })?;
        if result.timing.interrupted {
            return Ok(None);
        }
        if result.requests.done == 0 {
            return Err(CliError::target_failed(format!("{} gave no good answer", server.target))
                .hint("is it a null server? `prony serve null` starts one"));
        }
        let used = after.since(&before);
        let host = self.target.as_ref().map(|target| target.host.clone());
        let response_bytes = match (&host, &result.first_response) {
            (None, _) => Some(step.response_bytes),
            (Some(_), first) => first.as_ref().map(|first| first.body_bytes),
        };
        let mut point = point(&result, used);
        point.setting.host = host;
        point.setting.response_bytes = response_bytes.unwrap_or(point.setting.response_bytes);
        point.doubt = doubt(&result, used, server.has_room);
        Ok(Some(point))
    }
}

/// What `result` contains, as far as it is known.
fn point(result: &RunResult, used: ServerUse) -> CalibrationPoint {
    let setting = CalibrationSetting::of_run(result).expect("invariant: there are answers, over TCP");
    let share = |cpu_s: f64| cpu_s / result.timing.measured_s.max(f64::MIN_POSITIVE);
    CalibrationPoint {
        setting,
        measured_at: result.timing.started_at.clone(),
        measured_s: result.timing.measured_s,
        prony_version: result.environment.prony_version.clone(),
        rate_per_s: result.rate.answered_per_s,
        client_cpu_share: result.client.threads.iter().map(|thread| share(thread.cpu_s)).fold(0.0, f64::max),
        server_cpu_share: used.cpu_share,
        p50_ms: quantile(result, "0.5"),
        p99_ms: quantile(result, "0.99"),
        doubt: None,
    }
}

fn quantile(result: &RunResult, name: &str) -> Option<f64> {
    result.latency.response.quantiles_ms.get(name).copied().flatten()
}

/// What others had a part in, if they had. Without a CPU for each thread the threads wait for each other, and
/// their waiting means nothing.
fn doubt(result: &RunResult, used: ServerUse, has_room: bool) -> Option<String> {
    let failed = result.requests.failed + result.requests.censored + result.requests.never_sent;
    if failed > 0 {
        return Some(format!("{} of {} requests failed", count(failed), count(result.requests.intended)));
    }
    let waits = result.client.threads.iter().filter_map(|thread| thread.run_queue_wait_s);
    let client_wait = waits.fold(0.0, f64::max) / result.timing.measured_s.max(f64::MIN_POSITIVE);
    let shares = [
        (result.machine.steal_share.unwrap_or_default(), "the hypervisor gave", "to others"),
        (if has_room { client_wait } else { 0.0 }, "the client waited", "for a CPU"),
        (used.wait_share.filter(|_| has_room).unwrap_or_default(), "the null server waited", "for a CPU"),
    ];
    shares
        .into_iter()
        .find(|(share, _, _)| *share > DISTURBED_SHARE)
        .map(|(share, who, what)| format!("{who} {} of the time {what}", percent(share)))
}
