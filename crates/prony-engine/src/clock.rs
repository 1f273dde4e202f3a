//! The one place where this crate reads a clock.

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// A moment on CLOCK_MONOTONIC, in nanoseconds since boot. 64 bits last 584 years.
pub(crate) type Nanos = u64;

/// A moment that never comes.
pub(crate) const NEVER: Nanos = Nanos::MAX;

/// The monotonic clock now; about 20 ns, no system call.
#[inline]
pub(crate) fn now() -> Nanos {
    nanos(clock_gettime(ClockId::Monotonic))
}

/// CPU time of the calling thread.
pub(crate) fn thread_cpu() -> Nanos {
    nanos(clock_gettime(ClockId::ThreadCPUTime))
}

/// Time since 1970-01-01 UTC; only to write down when a run began.
pub(crate) fn wall() -> Duration {
    Duration::from_nanos(nanos(clock_gettime(ClockId::Realtime)))
}

/// `duration` on the scale of [`Nanos`], saturating.
pub(crate) fn span(duration: Duration) -> Nanos {
    Nanos::try_from(duration.as_nanos()).unwrap_or(NEVER)
}

/// The time from now to `moment`, for the kernel's relative timeouts.
pub(crate) fn until(moment: Nanos) -> Timespec {
    let left = moment.saturating_sub(now());
    let seconds =
        i64::try_from(left / 1_000_000_000).expect("invariant: u64::MAX nanoseconds are 2^34 seconds");
    let nanoseconds = i64::try_from(left % 1_000_000_000).expect("invariant: less than 10^9");
    Timespec { tv_sec: seconds, tv_nsec: nanoseconds }
}

#[inline]
fn nanos(time: Timespec) -> Nanos {
    // Clocks since boot or 1970 are never negative.
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}
