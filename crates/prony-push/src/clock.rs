//! The one place where this crate reads a clock, for deadlines.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Since some moment before the machine started.
pub(crate) fn monotonic() -> Duration {
    let time = clock_gettime(ClockId::Monotonic);
    // It never goes below 0; its nanoseconds are below 10^9.
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}
