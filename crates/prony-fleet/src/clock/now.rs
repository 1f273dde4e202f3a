//! The one place where this crate reads a clock.

use rustix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC in nanoseconds since boot: no step of the time of day changes it.
pub fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    // A clock since boot is never negative.
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}
