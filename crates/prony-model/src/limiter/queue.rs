//! The queue of connections that the server has not accepted yet.

use super::evaluate::{FAILED_SHARE_MAX, limiter};
use super::facts::Facts;
use super::{Limiter, LimiterKind};
use crate::words::{grouped, milliseconds, percent};

/// The kernel sends a SYN again after a second (RFC 6298): a connection that was turned away takes that long.
const SYN_AGAIN_MS: f64 = 900.0;
/// Share of a response's time that connecting takes where the queue is the limit.
const CONNECT_SHARE: f64 = 0.5;
/// Connections opened per request, where opening them is part of the load.
const OPENED_PER_REQUEST: f64 = 0.3;

/// The queue was full, and most of the time went into connecting.
pub(super) fn full(facts: &Facts) -> Option<Limiter> {
    if !facts.here || facts.overflows == 0 || facts.opened_per_request < OPENED_PER_REQUEST {
        return None;
    }
    let share = facts.connect_mean_ms / facts.response_mean_ms.max(f64::MIN_POSITIVE);
    let waited = share >= CONNECT_SHARE && facts.connect_max_ms >= SYN_AGAIN_MS;
    // Connections that never got through have no time to connect: they are missing among those in flight.
    let missing = (1.0 - facts.occupancy()).clamp(0.0, 1.0);
    let kept_out = missing >= CONNECT_SHARE && facts.overflows as f64 >= missing * facts.in_flight / 2.0;
    if !waited && !kept_out {
        return None;
    }
    let why = if kept_out {
        format!("{} of the connections were kept out on average", percent(missing))
    } else {
        format!(
            "connecting takes {} of the {} of a response",
            percent(share.min(1.0)),
            milliseconds(facts.response_mean_ms)
        )
    };
    Some(limiter(
        LimiterKind::ListenQueue,
        format!(
            "the server's listen queue: it was full {} times, and {why}; for twice the rate it takes a longer backlog, \
             faster accepting, or connections that are kept open",
            grouped(facts.overflows)
        ),
        &[
            ("overflows", facts.overflows as f64, "count"),
            ("kept_out", missing, "share"),
            ("connect_mean", facts.connect_mean_ms, "ms"),
            ("connect_max", facts.connect_max_ms, "ms"),
            ("response_mean", facts.response_mean_ms, "ms"),
        ],
    ))
}

/// The queue was full, and most requests failed for it.
pub(super) fn failing(facts: &Facts) -> Option<Limiter> {
    if facts.answers == 0 || facts.failed_share <= FAILED_SHARE_MAX {
        return None;
    }
    full(facts)
}
