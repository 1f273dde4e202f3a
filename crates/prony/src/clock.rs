//! The one place where this crate reads a clock.

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Since some moment before the machine started.
pub(crate) fn monotonic() -> Duration {
    since(clock_gettime(ClockId::Monotonic))
}

/// Since 1970-01-01 UTC; only to show how old something is.
pub(crate) fn wall() -> Duration {
    since(clock_gettime(ClockId::Realtime))
}

fn since(time: Timespec) -> Duration {
    // Neither clock goes below 0; their nanoseconds are below 10^9.
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}
