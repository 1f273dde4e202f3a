//! Signals that the clients' retries were a load of their own.

use prony_model::words::{grouped, percent, plural};
use prony_model::{Finding, FindingCode, RetryUse, Severity};

use super::Facts;

/// Retries as a share of the requests from which on they are a load of their own: the usual budget of clients that have
/// one (20 % in Finagle and Envoy).
const RETRY_SHARE: f64 = 0.2;
/// Fewer retries than these say little.
const RETRIES_MIN: u64 = 10;

/// Retries made up a large part of the load.
pub(super) fn retry_storm(facts: &Facts<'_>) -> Option<Finding> {
    let retries = facts.result.retries.as_ref()?;
    let requests = &facts.result.requests;
    let share = retries.amplification - 1.0;
    if share <= RETRY_SHARE || retries.retries < RETRIES_MIN {
        return None;
    }
    let has_budget = facts.plan().retries.as_ref().is_some_and(|plan| plan.budget.is_some());
    let advice = if has_budget {
        "a server that fails because it is overloaded is kept there by its clients' retries: a smaller --retry-budget, \
         fewer --retries, a longer --retry-backoff"
    } else {
        "a server that fails because it is overloaded is kept there by its clients' retries: bound them with \
         --retry-budget 20%, and see what it does without --retries"
    };
    Some(Finding::new(
        FindingCode::RetryStorm,
        Severity::Warning,
        &[
            ("retries", retries.retries as f64, "count"),
            ("requests", requests.sent as f64, "count"),
            ("amplification", retries.amplification, "ratio"),
        ],
        format!(
            "the server got {:.2} times the load that was asked for: {} retries on top of {}, mostly after {}{}; {} of \
             them succeeded",
            retries.amplification,
            grouped(retries.retries),
            plural(requests.sent, "request"),
            most(retries),
            busiest_step(facts).unwrap_or_default(),
            percent(facts.share(requests.done)),
        ),
        advice,
    ))
}

/// The step that was retried most, where there are several: ` and of the step order (1,204)`.
fn busiest_step(facts: &Facts<'_>) -> Option<String> {
    let steps = &facts.result.scenario.as_ref()?.steps;
    let most = steps.iter().filter(|_| steps.len() > 1).max_by_key(|step| step.retries)?;
    Some(format!(" and of the step {} ({})", most.name, grouped(most.retries)))
}

/// The most frequent reason.
fn most(retries: &RetryUse) -> &str {
    let most = retries.by_reason.iter().max_by_key(|(_, count)| **count);
    most.map_or("", |(reason, _)| reason)
}
