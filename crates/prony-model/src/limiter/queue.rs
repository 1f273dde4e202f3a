//! The queue of connections that the server has not accepted yet.

use super::evaluate::limiter;
use super::facts::Facts;
use super::{Limiter, LimiterKind};
use crate::words::{grouped, milliseconds, percent};

/// The kernel sends a SYN again after a second (RFC 6298): a connection that was turned away takes that long.
const SYN_AGAIN_MS: f64 = 900.0;
/// Share of a response's time that connecting takes where the queue is the limit.
const CONNECT_SHARE: f64 = 0.5;
/// Connections opened per request, where opening them is part of the load.
const OPENED_PER_REQUEST: f64 = 0.3;

/// Whether connections were turned away and waited for it.
fn overflowed(facts: &Facts) -> bool {
    facts.here && facts.overflows > 0 && facts.connect_max_ms >= SYN_AGAIN_MS
}

/// The queue was full, and connecting took most of the time.
pub(super) fn full(facts: &Facts) -> Option<Limiter> {
    let share = facts.connect_mean_ms / facts.response_mean_ms.max(f64::MIN_POSITIVE);
    if !overflowed(facts) || share < CONNECT_SHARE || facts.opened_per_request < OPENED_PER_REQUEST {
        return None;
    }
    Some(limiter(
        LimiterKind::ListenQueue,
        format!(
            "the server's listen queue: it was full {} times, and connecting takes {} of the {} of a response; for \
             twice the rate it takes a longer backlog, faster accepting, or connections that are kept open",
            grouped(facts.overflows),
            percent(share.min(1.0)),
            milliseconds(facts.response_mean_ms)
        ),
        &[
            ("overflows", facts.overflows as f64, "count"),
            ("connect_mean", facts.connect_mean_ms, "ms"),
            ("response_mean", facts.response_mean_ms, "ms"),
            ("connect_share", share, "share"),
        ],
    ))
}

/// The queue was full, and most requests failed for it.
pub(super) fn failing(facts: &Facts) -> Option<Limiter> {
    if facts.answers == 0 || facts.done_share >= 0.5 {
        return None;
    }
    full(facts)
}
