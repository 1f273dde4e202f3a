//! One time for all agents. Each agent compares its monotonic clock with the controller's before a load; nobody's clock
//! is changed, and the time of day plays no part.

mod comparison;
mod now;

pub use comparison::{Comparison, Offset};
pub use now::now_ns;

/// Comparisons before a load.
pub const PINGS: u32 = 32;
/// The load begins at the earliest this long after the controller has set the moment: time for the message to be sent
/// again twice where it gets lost.
pub const START_AHEAD_MIN_NS: u64 = 2_000_000_000;
/// And this many of the longest round trips.
pub const START_AHEAD_ROUND_TRIPS: u64 = 10;
/// An agent whose offset is not known better than this doesn't take part: its load would begin at another time than the
/// rest of the load. Half of a round trip of 100 ms, which is one around half of the earth.
pub const BOUND_MAX_NS: u64 = 50_000_000;

/// When a load begins whose agents have round trips of at most `rtt_ns`.
pub fn start_after(now_ns: u64, rtt_ns: u64) -> u64 {
    now_ns.saturating_add(START_AHEAD_MIN_NS.max(rtt_ns.saturating_mul(START_AHEAD_ROUND_TRIPS)))
}
