//! What is known of a setting from its run.

use prony_model::words::{grouped, percent};
use prony_model::{CalibrationPoint, CalibrationSetting, RunResult};

use super::grid::CalibrationStep;

/// Share of the time that a thread may wait for a CPU, and share that the hypervisor may take: beyond it others
/// had a part in the number. The thresholds for invalid runs (docs/findings.md#run-queue-wait, #steal).
const DISTURBED_SHARE: f64 = 0.05;

/// What the busiest of the null server's threads did within the measured part, as shares of it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct NullServerUse {
    /// On a CPU.
    pub cpu_share: Option<f64>,
    /// Waiting for a CPU.
    pub wait_share: Option<f64>,
}

/// What `result`, a run of `step` with an answer at least, says of this machine as a client. `host` is that of a null
/// server elsewhere; `has_room`: whether client and server had a CPU for each of their threads.
pub fn calibration_point(
    step: &CalibrationStep,
    result: &RunResult,
    used: NullServerUse,
    host: Option<String>,
    has_room: bool,
) -> CalibrationPoint {
    let response_bytes = match (&host, &result.first_response) {
        (None, _) => Some(step.response_bytes),
        (Some(_), first) => first.as_ref().map(|first| first.body_bytes),
    };
    let mut point = point(result, used);
    point.setting.host = host;
    point.setting.response_bytes = response_bytes.unwrap_or(point.setting.response_bytes);
    point.doubt = doubt(result, used, has_room);
    point
}

/// What `result` contains, as far as it is known.
fn point(result: &RunResult, used: NullServerUse) -> CalibrationPoint {
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
fn doubt(result: &RunResult, used: NullServerUse, has_room: bool) -> Option<String> {
    let failed = result.requests.failed + result.requests.censored + result.requests.never_sent;
    if failed > 0 {
        return Some(format!("{} of {} requests failed", grouped(failed), grouped(result.requests.intended)));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A short run, with what the tests of the binary need and no more.
    const STORED: &str = include_str!("../../../prony/tests/it/stored.json");

    fn check(change: fn(&mut RunResult), used: NullServerUse, has_room: bool, expected: Option<&str>) {
        let mut result = prony_model::from_json(STORED).expect("a stored run");
        result.requests.failed = 0;
        result.requests.censored = 0;
        result.requests.never_sent = 0;
        result.machine.steal_share = None;
        change(&mut result);
        assert_eq!(doubt(&result, used, has_room).as_deref(), expected);
    }

    #[test]
    fn what_others_had_a_part_in_is_doubted() {
        let waited = |share| NullServerUse { cpu_share: None, wait_share: Some(share) };
        check(|_| {}, waited(0.05), true, None);
        check(|_| {}, waited(0.1), true, Some("the null server waited 10 % of the time for a CPU"));
        check(|_| {}, waited(0.1), false, None);
        let stolen = |result: &mut RunResult| result.machine.steal_share = Some(0.2);
        check(stolen, waited(0.0), false, Some("the hypervisor gave 20 % of the time to others"));
        let failing = |result: &mut RunResult| {
            result.requests.intended = 2000;
            result.requests.failed = 1;
        };
        check(failing, waited(0.0), true, Some("1 of 2,000 requests failed"));
    }
}
