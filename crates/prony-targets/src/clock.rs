//! The one place where this crate reads a clock.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// One second in nanoseconds.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// Now on `CLOCK_MONOTONIC`, ns. Due times, timeouts and logs are all on this clock.
pub(crate) fn monotonic_ns() -> u64 {
    to_ns(clock_gettime(ClockId::Monotonic))
}

/// A time of a clock that never shows a time before its zero, ns. 2^64 ns are 584 years.
pub(crate) fn to_ns(time: Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).expect("invariant: the clock is past its zero");
    let rest = u64::try_from(time.tv_nsec).expect("invariant: the kernel keeps 0 <= tv_nsec < 1e9");
    seconds * SECOND_NS + rest
}

/// A span as the kernel wants it.
pub(crate) fn to_timespec(span_ns: u64) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(span_ns / SECOND_NS).expect("invariant: u64 ns in seconds fit i64"),
        tv_nsec: i64::try_from(span_ns % SECOND_NS).expect("invariant: below 1e9"),
    }
}

/// Lets the timed sleeps of this thread end when they should, instead of up to 50 µs later (the kernel's default
/// slack for joining wake-ups).
pub(crate) fn wake_exactly() {
    // Without it waits are late, not wrong.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

/// Both clocks at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Clocks {
    pub(crate) monotonic_ns: u64,
    /// `CLOCK_REALTIME`, on which the kernel stamps packets.
    pub(crate) realtime_ns: u64,
}

impl Clocks {
    /// Realtime minus monotonic.
    pub(crate) fn offset_ns(self) -> i64 {
        self.realtime_ns.cast_signed().wrapping_sub(self.monotonic_ns.cast_signed())
    }
}

/// Reads the realtime clock between two readings of the monotonic one; when those lie apart, because the thread
/// was interrupted, tries again. Two readings take about 50 ns.
pub(crate) fn clocks() -> Clocks {
    const TRIES: usize = 3;
    const CLOSE_NS: u64 = 500;
    let mut best = (u64::MAX, Clocks { monotonic_ns: 0, realtime_ns: 0 });
    for _ in 0..TRIES {
        let before_ns = monotonic_ns();
        let realtime_ns = to_ns(clock_gettime(ClockId::Realtime));
        let gap_ns = monotonic_ns() - before_ns;
        if gap_ns < best.0 {
            best = (gap_ns, Clocks { monotonic_ns: before_ns + gap_ns / 2, realtime_ns });
        }
        if gap_ns <= CLOSE_NS {
            break;
        }
    }
    best.1
}
