//! The one place where this crate reads a clock.

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Time on CLOCK_MONOTONIC, since boot.
pub(crate) fn now() -> Duration {
    let time = clock_gettime(ClockId::Monotonic);
    // A clock since boot is never negative.
    Duration::from_secs(time.tv_sec.cast_unsigned()) + Duration::from_nanos(time.tv_nsec.cast_unsigned())
}

/// `duration` for the kernel's relative timeouts.
pub(crate) fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}
