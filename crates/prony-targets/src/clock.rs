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
