//! What a calibration means for a run.

use super::compare::shows_latency;
use super::{Calibration, CalibrationPoint, CalibrationSetting};
use crate::{
    CalibrationUse, Evidence, Finding, FindingCode, RunResult, Severity, Timing, Verdict, since_1970,
    words::{percent, two_digits, whole},
};

/// Share of the client's capacity: warn, invalid.
const CAPACITY_SHARE: (f64, f64) = (0.50, 0.80);
/// So far beyond what it can do a client does not get: the calibration is not true any more. Less than that may be
/// the difference between one minute and the next.
const OUTDATED_SHARE: f64 = 1.25;
/// A median below so many times the floor is the client's and the kernel's for a third and more.
const FLOOR_FACTOR: f64 = 3.0;

/// Compares `result` with `calibration`: what it was compared with, and what follows. `None` where no calibrated
/// setting is near that of the run.
pub fn evaluate(result: &RunResult, calibration: &Calibration) -> Option<(CalibrationUse, Vec<Finding>)> {
    let setting = CalibrationSetting::of_run(result)?;
    let nearest = calibration.nearest(&setting)?;
    let floor = calibration.floor(&setting);
    let capacity_per_s = nearest.capacity_per_s();
    let used = CalibrationUse {
        measured_at: nearest.measured_at.clone(),
        age_s: age_s(&result.timing, &nearest.measured_at),
        prony_version: nearest.prony_version.clone(),
        connections: nearest.setting.connections,
        threads: nearest.setting.threads,
        null_rate_per_s: nearest.rate_per_s,
        capacity_per_s,
        floor_p50_ms: floor.and_then(|floor| floor.p50_ms),
        floor_p99_ms: floor.and_then(|floor| floor.p99_ms),
        share: result.rate.answered_per_s / capacity_per_s,
    };
    let findings = [near_client_limit(result, nearest, &used), near_client_floor(result, &used)];
    Some((used, findings.into_iter().flatten().collect()))
}

impl RunResult {
    /// Evaluates the result once more, by what the client can do.
    pub fn compare_with(&mut self, calibration: &Calibration) {
        let Some((used, findings)) = evaluate(self, calibration) else { return };
        self.calibration = Some(used);
        self.findings.extend(findings);
        self.findings.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), finding.code));
        self.verdict = Verdict::from_findings(&self.findings);
        self.find_limiter();
    }
}

/// From the calibration to the end of the run. A clock that was set back in between makes it 0.
fn age_s(timing: &Timing, measured_at: &str) -> f64 {
    let (Some(measured), Some(calibrated)) = (timing.measured(), since_1970(measured_at)) else { return 0.0 };
    measured.end.saturating_sub(calibrated).as_secs_f64()
}

/// The rate is near the most that this client can do.
fn near_client_limit(
    result: &RunResult,
    nearest: &CalibrationPoint,
    used: &CalibrationUse,
) -> Option<Finding> {
    let severity = match used.share {
        share if share > OUTDATED_SHARE => Severity::Warning,
        share if share > CAPACITY_SHARE.1 => Severity::Invalid,
        share if share > CAPACITY_SHARE.0 => Severity::Warning,
        _ => return None,
    };
    let seen = whole(used.null_rate_per_s);
    let estimate = if nearest.is_estimate() {
        format!(", and by its use of the CPU could get about {} /s", whole(two_digits(used.capacity_per_s)))
    } else {
        String::new()
    };
    let is_outdated = used.share > OUTDATED_SHARE;
    let place = if is_outdated {
        format!("this run got {:.1} times as much, so that is not true any more", used.share)
    } else {
        format!("this run is at {} of what this client can do", percent(used.share))
    };
    Some(Finding {
        code: FindingCode::NearClientLimit,
        severity,
        evidence: vec![
            Evidence::new("rate", result.rate.answered_per_s, "per_s"),
            Evidence::new("null_rate", used.null_rate_per_s, "per_s"),
            Evidence::new("capacity", used.capacity_per_s, "per_s"),
            Evidence::new("share", used.share, "share"),
        ],
        message: format!("this client gets {seen} /s from the null server{estimate}: {place}"),
        advice: if is_outdated {
            "calibrate again while nothing else runs: `prony calibrate`".to_owned()
        } else {
            more_client(result)
        },
    })
}

/// What to do about a client that is too slow.
fn more_client(result: &RunResult) -> String {
    let plan = &result.plan;
    let mut ways = Vec::new();
    if plan.threads < result.environment.cpus && plan.threads < plan.own_load().connections() {
        ways.push(format!("--threads {}, ", plan.threads + 1));
    }
    if plan.load.rate().is_some() {
        ways.push("a lower --rate, ".to_owned());
    }
    if !ways.is_empty() {
        ways.push("or ".to_owned());
    }
    format!("try {}prony on another machine", ways.concat())
}

/// The median is near the least that this client can see.
fn near_client_floor(result: &RunResult, used: &CalibrationUse) -> Option<Finding> {
    let floor_ms = used.floor_p50_ms.filter(|floor_ms| *floor_ms > 0.0)?;
    let median_ms = result.latency.response.quantiles_ms.get("0.5").copied().flatten()?;
    let factor = median_ms / floor_ms;
    if factor >= FLOOR_FACTOR {
        return None;
    }
    // With several connections in a closed loop the median follows from their number, and is no number to
    // evaluate the server by in the first place: that is what the finding closed-loop says.
    let severity = if shows_latency(&result.plan.load) { Severity::Warning } else { Severity::Note };
    Some(Finding {
        code: FindingCode::NearClientFloor,
        severity,
        evidence: vec![
            Evidence::new("response_p50", median_ms, "ms"),
            Evidence::new("floor_p50", floor_ms, "ms"),
            Evidence::new("factor", factor, "ratio"),
        ],
        message: format!(
            "the median response time, {:.0} µs, is {factor:.1} times the least that this client can see ({:.0} µs \
             against the null server): much of it is the client and the kernel",
            median_ms * 1e3,
            floor_ms * 1e3
        ),
        advice: "compare differences of such times, never ratios; or put the client on a faster machine"
            .to_owned(),
    })
}
