//! Retries in words: what was asked for, and what came of it.

use prony_model::{RetryUse, RunPlan, RunResult};

use crate::number::{count, duration, percent, plural};

/// What is retried, and how, where anything is.
pub(crate) fn choice(plan: &RunPlan) -> Option<String> {
    let retries = plan.retries.as_ref()?;
    let backoff = retries.backoff;
    let doubled = if backoff.max > backoff.first {
        format!(" doubled to {}", duration(backoff.max))
    } else {
        String::new()
    };
    let mut parts = vec![
        format!("up to {} on {}", of_retries(retries.retries.into()), retries.on),
        format!("after up to {}{doubled}", duration(backoff.first)),
    ];
    if retries.attempt_timeout < plan.timeouts.request {
        parts.push(format!("{} for an attempt", duration(retries.attempt_timeout)));
    }
    parts.extend(retries.budget.map(|budget| format!("budget {}", prony_model::words::percent(budget))));
    Some(parts.join(", "))
}

/// How many there were and what they made of the load; then what became of the requests that were retried.
pub(crate) fn lines(result: &RunResult) -> Vec<String> {
    let Some(retries) = &result.retries else { return Vec::new() };
    let mut reasons: Vec<(&String, &u64)> = retries.by_reason.iter().collect();
    reasons.sort_by_key(|(_, number)| std::cmp::Reverse(**number));
    let reasons: Vec<String> =
        reasons.iter().map(|(reason, number)| format!("{} after {reason}", count(**number))).collect();
    if reasons.is_empty() {
        return [vec!["none".to_owned()], refusals(retries)].concat();
    }
    let requests = plural(result.requests.sent, "request");
    let first = format!(
        "{} of {requests}, load \u{d7} {:.2}     {}",
        of_retries(retries.retries),
        retries.amplification,
        reasons.join(", ")
    );
    let recovered = format!(
        "{} ({}) succeeded only after a retry",
        plural(retries.recovered, "request"),
        percent(retries.recovered, result.requests.intended)
    );
    let second = [vec![recovered], refusals(retries)].concat();
    vec![first, second.join(", ")]
}

/// Why requests failed that might have been sent again.
fn refusals(retries: &RetryUse) -> Vec<String> {
    let parts = [
        (retries.exhausted, "failed after all their retries"),
        (retries.refused_by_budget, "got none from the budget"),
        (retries.refused_by_timeout, "had no time left for one"),
        (retries.refused_for_room, "found too many waiting"),
        (retries.waiting_at_end, "still waited for one at the end"),
    ];
    let parts = parts.into_iter().filter(|(number, _)| *number > 0);
    parts.map(|(number, what)| format!("{} {what}", count(number))).collect()
}

fn of_retries(number: u64) -> String {
    if number == 1 { "1 retry".to_owned() } else { format!("{} retries", count(number)) }
}
