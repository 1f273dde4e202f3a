//! The kernel's clock: which of its time stamps a run asks for, and how they become moments of ours.
//!
//! The kernel stamps with CLOCK_REALTIME, which can be set while a run is on. So its distance to CLOCK_MONOTONIC is
//! read with every slice, and when it has moved, the stamps so far are discarded.

use std::os::fd::{AsFd as _, OwnedFd};

use prony_model::{KernelClock, KernelClockUse, RunPlan};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::clock::{self, Nanos, Wall};
use crate::record::sample::Sample;
use crate::sys;

/// Where a thread sends fewer requests per second, each is asked when it left and when its answer arrived: that costs
/// 1 to 2 µs, 4 % of a core at most.
const EVERY_BELOW_PER_S: f64 = 20_000.0;
/// Elsewhere one of so many is asked when it left,
const DEPARTURES_ONE_IN: u32 = 64;
/// and the answers of one in so many connections are: asking all of them takes 0.4 µs each with io_uring, which is 6 %
/// of what a request costs there (docs/decisions/012-kernel-clock.md).
const ARRIVALS_ONE_IN: u32 = 32;
/// What two clocks may differ by. Reading both takes less; setting the wall clock by hand or by NTP moves it more.
const SLACK: Nanos = 10_000;

/// Which stamps a run asks for.
pub(crate) struct Stamping {
    pub sampling: StampSampling,
    reason: String,
    /// A socket that is never used: as long as any socket has asked for stamps of arrival, the kernel makes them.
    /// Without it they would be switched on and off system-wide as connections come and go.
    _held: Option<OwnedFd>,
}

/// Which stamps a driver asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StampSampling {
    /// Of the answers on one in so many connections; 0 for none.
    pub arrivals_one_in: u32,
    /// Of one in so many requests; 0 for none.
    pub departures_one_in: u32,
}

impl StampSampling {
    /// No stamps.
    pub(crate) const NONE: Self = Self { arrivals_one_in: 0, departures_one_in: 0 };
}

impl Stamping {
    /// What `plan` wants of the kernel's clock, as far as the kernel has it. `uring`: the driver is io_uring.
    pub(crate) fn pick(plan: &RunPlan, uring: bool) -> Self {
        let none =
            |reason: &str| Self { sampling: StampSampling::NONE, reason: reason.to_owned(), _held: None };
        if plan.kernel_clock == KernelClock::Off {
            return none("asked for");
        }
        if plan.target.unix.is_some() {
            return none("a Unix socket has no stamps");
        }
        if uring && !plan.request.keep_alive {
            return none(
                "io_uring has no stamps for connections that carry one request each: --driver epoll has",
            );
        }
        match probe() {
            Ok(held) => {
                Self { sampling: sampling(plan), reason: "this kernel has it".to_owned(), _held: Some(held) }
            }
            Err(why) => none(&format!("this kernel does not have it: {why}")),
        }
    }

    /// For the result; what was counted is added there.
    pub(crate) fn used(&self) -> KernelClockUse {
        KernelClockUse {
            arrivals: self.sampling.arrivals_one_in > 0,
            arrivals_one_in: self.sampling.arrivals_one_in,
            departures_one_in: self.sampling.departures_one_in,
            reason: self.reason.clone(),
            ..KernelClockUse::default()
        }
    }
}

/// A socket that got all stamps. A datagram socket takes the options of stream sockets too, and needs no connection.
fn probe() -> std::io::Result<OwnedFd> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    sys::ask_for_stamps(socket.as_fd(), true)?;
    Ok(socket)
}

/// How fast a closed loop will be is not known before, and it may be as fast as it can.
fn sampling(plan: &RunPlan) -> StampSampling {
    let slow = |rate: prony_model::Rate| rate.as_per_second() / f64::from(plan.threads) < EVERY_BELOW_PER_S;
    if plan.own_load().rate().is_some_and(slow) {
        StampSampling { arrivals_one_in: 1, departures_one_in: 1 }
    } else {
        StampSampling { arrivals_one_in: ARRIVALS_ONE_IN, departures_one_in: DEPARTURES_ONE_IN }
    }
}

/// How stamps become moments, on one worker.
#[derive(Debug)]
pub(crate) struct Conversion {
    /// CLOCK_REALTIME − CLOCK_MONOTONIC, modulo 2^64.
    offset: u64,
    /// Stamps of requests that were sent before this are not to be trusted.
    trusted_from: Nanos,
}

impl Conversion {
    /// Reads the clocks for the first time.
    pub(crate) fn new() -> Self {
        Self { offset: clock::wall_offset(), trusted_from: 0 }
    }

    /// Reads the clocks again; true if one was moved since the last time.
    pub(crate) fn moved(&mut self, now: Nanos) -> bool {
        self.found(clock::wall_offset(), now)
    }

    fn found(&mut self, offset: u64, now: Nanos) -> bool {
        let before = std::mem::replace(&mut self.offset, offset);
        let moved = offset.wrapping_sub(before).cast_signed().unsigned_abs() > SLACK;
        if moved {
            self.trusted_from = now;
        }
        moved
    }

    /// `stamp` as a moment of ours; 0 if it is unknown.
    #[inline]
    pub(crate) fn moment(&self, stamp: Wall) -> Nanos {
        if stamp == Wall::UNKNOWN { 0 } else { stamp.0.wrapping_sub(self.offset) }
    }

    /// Whether the stamps of `sample` can be its own: of a time in which no clock was moved, and between its other
    /// moments.
    #[inline]
    pub(crate) fn fits(&self, sample: &Sample) -> bool {
        let departed = sample.departed == 0
            || (sample.departed.saturating_add(SLACK) >= sample.sent
                && sample.departed <= sample.done.saturating_add(SLACK));
        let arrived = sample.arrived == 0
            || (sample.arrived.saturating_add(SLACK) >= sample.sent
                && sample.arrived <= sample.done.saturating_add(SLACK));
        departed && arrived && sample.sent >= self.trusted_from
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_lie_between_the_other_moments_but_for_what_clocks_differ_by() {
        let clock = Conversion { offset: 0, trusted_from: 0 };
        let check = |departed, arrived, expected: bool| {
            let found = clock.fits(&Sample::stamped(1_000_000, departed, arrived, 2_000_000));
            assert_eq!(found, expected, "{departed} {arrived}");
        };
        check(0, 0, true);
        check(1_000_001, 1_999_999, true);
        check(1_000_000 - SLACK, 2_000_000 + SLACK, true);
        check(1_000_000 - SLACK - 1, 0, false);
        check(2_000_000 + SLACK + 1, 0, false);
        check(0, 2_000_000 + SLACK + 1, false);
        check(0, 1_000_000 - SLACK - 1, false);
        check(1_500_000, 1_400_000, true);
    }

    #[test]
    fn a_clock_that_was_moved_is_noticed_and_trusted_from_then_on() {
        let mut clock = Conversion { offset: 5_000_000, trusted_from: 0 };
        assert!(!clock.found(5_000_000 + SLACK, 10), "as far as reading it differs");
        assert!(clock.found(5_000_000 - 1, 1_000_000), "set back");
        assert!(clock.found(9_000_000_000, 2_000_000), "set forward");
        assert!(!clock.found(9_000_000_000, 3_000_000));
        assert_eq!(clock.moment(Wall(9_000_000_007)), 7);
        assert_eq!(clock.moment(Wall::UNKNOWN), 0);
        assert!(
            !clock.fits(&Sample::stamped(1_999_999, 0, 2_000_100, 2_000_200)),
            "sent before it was moved"
        );
        assert!(clock.fits(&Sample::stamped(2_000_000, 0, 2_000_100, 2_000_200)));
    }

    #[test]
    fn the_distance_of_the_clocks_is_the_same_when_read_again() {
        // Only somebody who sets the clock of this machine right now could make this fail twice.
        let stays = || !Conversion::new().moved(0);
        assert!(stays() || stays());
        let (clock, wall) = (Conversion::new(), Wall(u64::try_from(clock::wall().as_nanos()).unwrap()));
        assert!(clock.moment(wall).abs_diff(clock::now()) < 10_000_000_000, "moments are of CLOCK_MONOTONIC");
    }
}
