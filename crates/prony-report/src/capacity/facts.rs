//! The sentences of the report.

use prony_model::{
    CapacityOutcome, CapacityResult, CapacityTrial, Confirmation, Scaling, ScalingFigure, ScalingFit,
    TrialOutcome, TrialPurpose, TrialTimes, Varied,
};

use crate::number::{cell, count, or_dash, plural, rate, rough_percent, seconds, significant};
use crate::{facts, tls};

/// The columns of the table of trials, beside outcome and reason.
pub(super) const COLUMNS: [&str; 7] =
    ["offered /s", "n", "p50 ms", "p99 ms", "max ms", "service p99", "delivered /s"];

/// What was done to the server.
pub(super) fn manner(result: &CapacityResult) -> Vec<String> {
    let plan = &result.plan;
    let mut parts = vec![facts::what(plan)];
    parts.extend(tls::choices(&plan.target));
    parts.push(plan.request.version.name().to_owned());
    let threads = plural(plan.threads.into(), "thread");
    let threads = match result.agents.len() {
        0 => threads,
        count => {
            format!("{} ({}), each with {threads}", plural(count as u64, "agent"), result.agents.join(", "))
        }
    };
    parts.push(match (result.method.varied, plan.load) {
        (Varied::Users, _) => format!("closed loops, {threads}"),
        (Varied::Rate, prony_model::Load::Open { arrivals, max_connections, .. }) => {
            let connections = plural(max_connections.into(), "connection");
            format!("open loops, {arrivals} arrivals, at most {connections}, {threads}")
        }
        (Varied::Rate, prony_model::Load::Closed { .. }) => threads,
    });
    parts.push(format!("trials of {}", seconds(result.method.trial_s)));
    parts.push(format!("{} in {}", plural(result.trials.len() as u64, "trial"), length(result.elapsed_s)));
    parts.push(format!("seed {}", plan.seed));
    parts
}

/// What is required of every trial.
pub(super) fn objective(result: &CapacityResult) -> String {
    let mut parts = result.objectives.clone();
    parts.push(format!("at most {} without a good answer", rough_percent(result.errors_max)));
    parts.join(", ")
}

/// What is counted: requests or sessions.
fn unit(result: &CapacityResult) -> &'static str {
    if result.plan.scenario.is_some() { "sessions/s" } else { "/s" }
}

/// The answer: a word and a sentence.
pub(crate) fn answer(result: &CapacityResult) -> (&'static str, String) {
    let unit = unit(result);
    match &result.outcome {
        CapacityOutcome::Between { estimate_per_s, lower_per_s, upper_per_s, .. } => (
            "CAPACITY",
            format!(
                "{} {unit} [{}, {}] with {}",
                rate(*estimate_per_s),
                rate(*lower_per_s),
                rate(*upper_per_s),
                objective(result)
            ),
        ),
        CapacityOutcome::AtLeast { lower_per_s, reason, .. } => {
            ("AT LEAST", format!("{} {unit} with {}: {reason}", rate(*lower_per_s), objective(result)))
        }
        CapacityOutcome::Below { upper_per_s } => {
            let is_least = result.trials.iter().all(|trial| trial.rate_per_s >= *upper_per_s);
            let which = if is_least {
                ", the least load that was tried, is not carried"
            } else {
                " is not carried for long, and lower loads were tried for short times only,"
            };
            ("BELOW", format!("{} {unit}{which} with {}", rate(*upper_per_s), objective(result)))
        }
        CapacityOutcome::Unknown { reason } => ("UNKNOWN", reason.clone()),
        CapacityOutcome::Users => ("SCALING", result.scaling.as_ref().map(scaling).unwrap_or_default()),
    }
}

/// What the bounds rest on.
pub(crate) fn basis(result: &CapacityResult) -> Option<String> {
    let confirmed = |confirmation: Confirmation| match confirmation {
        Confirmation::Confirmed { rate_per_s, measured_s } => {
            format!("{} /s held for {}", rate(rate_per_s), length(measured_s))
        }
        Confirmation::Missing => "not confirmed by a long trial".to_owned(),
    };
    match &result.outcome {
        CapacityOutcome::Between { carried_per_s, exceeded_per_s, confirmation, is_decided, .. } => {
            let decided = if *is_decided { "" } else { ", by few trials" };
            Some(format!(
                "{} /s was carried, {} /s was not{decided}; {}",
                rate(*carried_per_s),
                rate(*exceeded_per_s),
                confirmed(*confirmation)
            ))
        }
        CapacityOutcome::AtLeast { confirmation, .. } => Some(confirmed(*confirmation)),
        _ => None,
    }
}

/// What limits the server beyond its capacity.
pub(super) fn limiter(result: &CapacityResult) -> Option<String> {
    let trial = result.limiting_trial()?;
    let limiter = result.limiter()?;
    Some(format!("{} (at {} /s)", limiter.sentence, rate(trial.rate_per_s)))
}

/// The planned peak against the capacity.
pub(super) fn peak(result: &CapacityResult) -> Option<String> {
    let peak = result.peak_per_s?;
    let share = |capacity: f64| rough_percent(peak / capacity);
    let planned = format!("{} /s planned", rate(peak));
    Some(match &result.outcome {
        CapacityOutcome::Between { lower_per_s, upper_per_s, .. } if peak <= *lower_per_s => {
            format!("{planned}: {} to {} of the capacity", share(*upper_per_s), share(*lower_per_s))
        }
        CapacityOutcome::Between { upper_per_s, .. } if peak > *upper_per_s => {
            format!("{planned} is more than the server carries: {} of the upper bound", share(*upper_per_s))
        }
        CapacityOutcome::Between { .. } => format!("{planned} lies between the bounds: it may be too much"),
        CapacityOutcome::AtLeast { lower_per_s, .. } if peak <= *lower_per_s => {
            format!("{planned}: at most {} of the capacity", share(*lower_per_s))
        }
        CapacityOutcome::Below { upper_per_s } if peak >= *upper_per_s => {
            format!("{planned} is more than the server carries")
        }
        _ => format!("whether {planned} is carried is not known"),
    })
}

/// How the rate grows with users.
fn scaling(scaling: &Scaling) -> String {
    let Some(fit) = &scaling.fit else {
        return scaling.missing_because.clone().unwrap_or_default();
    };
    match (&fit.peak_users, &fit.peak_per_s) {
        (Some(users), Some(peak)) => {
            format!("the rate is greatest with {} users, {} /s", bounded(users), bounded(peak))
        }
        _ => format!(
            "the rate has no peak within {} users, twice what was tried",
            count(u64::from(scaling.users_max) * 2)
        ),
    }
}

/// The numbers of the law.
pub(super) fn law(result: &CapacityResult) -> Option<String> {
    let ScalingFit { gamma, alpha, beta, trials, .. } = result.scaling.as_ref()?.fit.as_ref()?;
    Some(format!(
        "X(N) = γN / (1 + α(N−1) + βN(N−1)): γ {} /s, α {}, β {}; {}",
        bounded(gamma),
        bounded(alpha),
        bounded(beta),
        plural(*trials, "trial")
    ))
}

fn bounded(figure: &ScalingFigure) -> String {
    format!("{} [{}, {}]", small(figure.value), small(figure.low), small(figure.high))
}

/// Coefficients may be tiny.
fn small(value: f64) -> String {
    if value > 0.0 && value < 0.001 { format!("{value:.1e}") } else { significant(value) }
}

/// The cells of a trial, as [`COLUMNS`].
pub(super) fn cells(trial: &CapacityTrial) -> [String; 7] {
    let TrialTimes { p50_ms, p99_ms, max_ms, .. } = trial.response;
    let time = |value: Option<f64>| or_dash(value, cell);
    [
        offered(trial),
        count(trial.requests),
        time(p50_ms),
        time(p99_ms),
        time(max_ms),
        time(trial.service.p99_ms),
        rate(trial.delivered_per_s),
    ]
}

/// The load: a rate, or a number of users.
pub(super) fn offered(trial: &CapacityTrial) -> String {
    trial.users.map_or_else(|| rate(trial.rate_per_s), |users| plural(users.into(), "user"))
}

/// A recovery in less is none to speak of.
const RECOVERY_S: f64 = 1.0;

/// Why, with what is to be known beside it.
pub(super) fn why(trial: &CapacityTrial) -> String {
    let mut parts = Vec::new();
    if trial.purpose == TrialPurpose::Confirm {
        parts.push(format!("{} to confirm", length(trial.measured_s)));
    }
    if !trial.reason.is_empty() {
        parts.push(trial.reason.clone());
    }
    parts.extend(
        trial
            .recovered_after_s
            .filter(|after| *after >= RECOVERY_S)
            .map(|after| format!("as before after {}", seconds(after))),
    );
    parts.join("; ")
}

/// One trial in a line, for people who wait.
pub fn trial_line(trial: &CapacityTrial) -> String {
    let p99 = trial.response.p99_ms.map(|p99| format!(" · p99 {}", seconds(p99 / 1e3))).unwrap_or_default();
    let rate = if trial.users.is_some() { String::new() } else { " /s".to_owned() };
    let delivered =
        trial.users.map(|_| format!(" · {} /s", self::rate(trial.delivered_per_s))).unwrap_or_default();
    let why = why(trial);
    let why = if why.is_empty() { String::new() } else { format!(" · {why}") };
    format!("{}{rate} {}{delivered}{p99}{why}", offered(trial), trial.outcome.name())
}

/// The word for an outcome, with its shape.
pub(super) fn mark(outcome: TrialOutcome) -> &'static str {
    match outcome {
        TrialOutcome::Passed => "✓ passed",
        TrialOutcome::Failed => "✕ failed",
        TrialOutcome::Void => "○ void",
    }
}

/// `8 min 20 s`.
pub(super) fn length(value_s: f64) -> String {
    let value = std::time::Duration::try_from_secs_f64(value_s).unwrap_or_default();
    crate::number::duration(if value_s >= 60.0 {
        std::time::Duration::from_secs(value.as_secs())
    } else {
        value
    })
}
