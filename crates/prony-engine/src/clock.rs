//! The one place where this crate reads a clock.

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// A moment on CLOCK_MONOTONIC, in nanoseconds since boot. 64 bits last 584 years.
pub(crate) type Nanos = u64;

/// A moment that never comes.
pub(crate) const NEVER: Nanos = Nanos::MAX;

/// A moment on CLOCK_REALTIME, in nanoseconds since 1970-01-01 UTC: what the kernel stamps with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wall(pub u64);

impl Wall {
    /// A moment that is not known.
    pub(crate) const UNKNOWN: Self = Self(0);

    /// So many seconds and nanoseconds since 1970; `None` before that.
    #[inline]
    pub(crate) fn new(seconds: i64, nanoseconds: i64) -> Option<Self> {
        let seconds = u64::try_from(seconds).ok()?.checked_mul(1_000_000_000)?;
        Some(Self(seconds.checked_add(u64::try_from(nanoseconds).ok()?)?))
    }
}

/// The monotonic clock now; about 20 ns, no system call.
#[inline]
pub(crate) fn now() -> Nanos {
    nanos(clock_gettime(ClockId::Monotonic))
}

/// Time since the machine started, sleep included: what the kernel counts the starts of processes with.
pub(crate) fn since_boot() -> Nanos {
    nanos(clock_gettime(ClockId::Boottime))
}

/// CPU time of the calling thread.
pub(crate) fn thread_cpu() -> Nanos {
    nanos(clock_gettime(ClockId::ThreadCPUTime))
}

/// Time since 1970-01-01 UTC; only to write down when a run began.
pub(crate) fn wall() -> Duration {
    Duration::from_nanos(nanos(clock_gettime(ClockId::Realtime)))
}

/// CLOCK_REALTIME − CLOCK_MONOTONIC, modulo 2^64: the best of a few readings, known to half the time that it
/// took. Some 100 ns, where the thread is not interrupted each time.
pub(crate) fn wall_offset() -> u64 {
    const READINGS: usize = 5;
    const GOOD_ENOUGH: Nanos = 1_000;
    let mut best = (NEVER, 0);
    for _ in 0..READINGS {
        let before = now();
        let wall = nanos(clock_gettime(ClockId::Realtime));
        let took = now() - before;
        if took < best.0 {
            best = (took, wall.wrapping_sub(before + took / 2));
        }
        if took <= GOOD_ENOUGH {
            break;
        }
    }
    best.1
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
