//! The one place where this crate reads a clock.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Time on CLOCK_MONOTONIC, since boot.
pub(crate) fn now() -> Duration {
    let time = clock_gettime(ClockId::Monotonic);
    // A clock since boot is never negative.
    Duration::from_secs(time.tv_sec.cast_unsigned()) + Duration::from_nanos(time.tv_nsec.cast_unsigned())
}

/// How long `moment` is ago.
pub(crate) fn since(moment: Duration) -> Duration {
    now().saturating_sub(moment)
}
