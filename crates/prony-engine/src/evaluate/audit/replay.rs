//! Signals that a replay is not quite what was recorded.

use prony_model::words::{grouped, percent};
use prony_model::{Finding, FindingCode, Severity};

use super::Facts;

/// The log has whole seconds: what happened within one is made up.
pub(super) fn made_up_order(facts: &Facts<'_>) -> Option<Finding> {
    let replay = facts.plan().replay.as_ref().filter(|replay| replay.made_up_moments > 0)?;
    let all = facts.plan().recorded.as_ref().map_or(0, |recorded| recorded.count).max(1);
    let share = replay.made_up_moments as f64 / all as f64;
    Some(Finding::new(
        FindingCode::ReplayOrder,
        Severity::Note,
        &[("made_up", replay.made_up_moments as f64, "count"), ("made_up_share", share, "share")],
        format!(
            "{} of the replayed requests ({}) have a stamp of whole seconds: they are spread over their second at random, \
             so gaps, bursts and order within a second are made up",
            grouped(replay.made_up_moments),
            percent(share)
        ),
        "the load per second is that of the log; for finer moments log milliseconds: $msec and $request_time with nginx",
    ))
}
