//! The sentences of the report.

use prony_model::{
    Load, OverloadAttempts, OverloadOutcome, OverloadPhase, OverloadResult, OverloadRun, TrialTimes,
};

use crate::number::{bytes, cell, count, or_dash, plural, rate, rough_percent, seconds, times};
use crate::{facts, tls};

/// The columns of the table of phases, beside the phase itself.
pub(super) const COLUMNS: [&str; 8] =
    ["offered /s", "n", "good /s", "good", "p50 ms", "p99 ms", "max ms", "under way"];

/// What was done to the server.
pub(super) fn manner(result: &OverloadResult) -> Vec<String> {
    let (plan, method) = (&result.plan, &result.method);
    let mut parts = vec![facts::what(plan)];
    parts.extend(tls::choices(&plan.target));
    parts.push(plan.request.version.name().to_owned());
    parts.push(format!("{} /s for {}", rate(method.base_per_s), seconds(method.before_s)));
    parts.push(format!("{} /s for {}", rate(method.pulse_per_s), seconds(method.pulse_s)));
    parts.push(format!("{} /s for {}", rate(method.base_per_s), seconds(method.after_s)));
    parts.push(format!("good: a good response within {}", seconds(method.good_within_ms / 1e3)));
    if let Load::Open { max_connections, .. } = plan.load {
        parts.push(format!("at most {}", plural(max_connections.into(), "connection")));
    }
    parts.push(plural(plan.threads.into(), "thread"));
    parts
}

/// `with retries`, `without retries`.
pub(super) fn clients(run: &OverloadRun) -> &'static str {
    if run.retries.is_some() { "with retries" } else { "without retries" }
}

/// The answer of a run: a word and a sentence.
pub(super) fn answer(result: &OverloadResult, run: &OverloadRun) -> (&'static str, String) {
    let method = &result.method;
    let (word, sentence) = match &run.outcome {
        OverloadOutcome::Carried => {
            ("CARRIED", format!("the pulse of {} /s is no overload", rate(method.pulse_per_s)))
        }
        OverloadOutcome::Recovered { after_s, within_s } => (
            "RECOVERS",
            format!("good again {} after the pulse, ± {}", seconds(*after_s), seconds(*within_s)),
        ),
        OverloadOutcome::Metastable { watched_s } => (
            "METASTABLE",
            format!(
                "not good again in the {} after the pulse, {} its length: it stays down without the cause",
                seconds(*watched_s),
                times(watched_s / method.pulse_s)
            ),
        ),
        OverloadOutcome::NotRecovered { watched_s } => (
            "DOWN",
            format!(
                "not good again in the {} after the pulse; {} would tell whether it stays so",
                seconds(*watched_s),
                seconds(method.metastable_pulses * method.pulse_s)
            ),
        ),
        OverloadOutcome::BaseNotCarried { good_share } => (
            "TOO MUCH",
            format!(
                "{} /s is not carried before the pulse: {} good",
                rate(method.base_per_s),
                rough_percent(*good_share)
            ),
        ),
        OverloadOutcome::Died => ("DIED", "nothing listens at the server's address any more".to_owned()),
        OverloadOutcome::Unknown { reason } => ("UNKNOWN", reason.clone()),
    };
    (word, format!("{}: {sentence}", clients(run)))
}

/// What else is to be known of a run, a name and a sentence each.
pub(super) fn details(run: &OverloadRun) -> Vec<(&'static str, String)> {
    let mut details = Vec::new();
    if let Some(queue) = queue(run) {
        details.push(("queue", queue));
    }
    if let Some(attempts) = run.attempts {
        details.push(("load", load(attempts)));
    }
    if let Some(most) = run.server_memory_max_bytes {
        let growth = run.server_memory_growth_bytes.map(|growth| {
            let word = if growth < 0 { "less" } else { "more" };
            format!(", {} {word} at the end than at the beginning", bytes(growth.unsigned_abs() as f64))
        });
        details.push((
            "memory",
            format!("the server had {} at most{}", bytes(most as f64), growth.unwrap_or_default()),
        ));
    }
    if let Some(drained) = run.drained_after_s {
        // The first look is made at once.
        let when = if drained < 0.001 { "right".to_owned() } else { seconds(drained) };
        details.push(("drained", format!("single requests took as long as before {when} after all load")));
    }
    details
}

/// How many requests were under way.
fn queue(run: &OverloadRun) -> Option<String> {
    let during = run.phases.get(1)?;
    let growth = (during.outstanding_end as f64 - during.outstanding_begin as f64) / during.length_s;
    let most = run.phases.iter().map(|phase| phase.outstanding_max).max()?;
    let end = run.phases.last()?.outstanding_end;
    Some(format!(
        "{} under way before the pulse, {} at its end ({}{} /s), {} at most, {} at the end of the run",
        count(during.outstanding_begin),
        count(during.outstanding_end),
        if growth < 0.0 { "−" } else { "+" },
        rate(growth.abs()),
        count(most),
        count(end)
    ))
}

/// What retries made of the load.
fn load(attempts: OverloadAttempts) -> String {
    let OverloadAttempts { attempts, retries, recovered } = attempts;
    let first = attempts.saturating_sub(retries).max(1);
    format!(
        "{} for {}: {} of the load were retries; {} got a good response by one",
        plural(attempts, "attempt"),
        plural(first, "request"),
        rough_percent(retries as f64 / attempts.max(1) as f64),
        plural(recovered, "request")
    )
}

/// The cells of a phase, as [`COLUMNS`].
pub(super) fn cells(phase: &OverloadPhase) -> [String; 8] {
    let TrialTimes { p50_ms, p99_ms, max_ms, .. } = phase.response;
    let time = |value: Option<f64>| or_dash(value, cell);
    [
        rate(phase.offered_per_s()),
        count(phase.offered),
        rate(phase.goodput_per_s()),
        or_dash(phase.good_share(), rough_percent),
        time(p50_ms),
        time(p99_ms),
        time(max_ms),
        count(phase.outstanding_max),
    ]
}

/// What became of the requests of a phase that were not good: `1,200 late, 340 request-timeout, 2 unanswered`.
pub(super) fn failures(phase: &OverloadPhase) -> String {
    let late = [("late", phase.late)].into_iter();
    let failed = phase.failed_by_kind.iter().map(|(kind, count)| (kind.name(), *count));
    let all = late.chain(failed).chain([("unanswered", phase.unanswered)]);
    let parts: Vec<String> = all
        .filter(|(_, number)| *number > 0)
        .map(|(name, number)| format!("{} {name}", count(number)))
        .collect();
    parts.join(", ")
}

/// A run in a line, for those who follow it.
pub fn run_line(run: &OverloadRun) -> String {
    let shares = run.phases.iter().map(|phase| {
        let share = or_dash(phase.good_share(), rough_percent);
        format!("{} {share}", phase.phase.name())
    });
    format!("{}: good {}", clients(run), shares.collect::<Vec<_>>().join(", "))
}
