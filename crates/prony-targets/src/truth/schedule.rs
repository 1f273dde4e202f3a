//! When a request begins and when it is due, from when it came and what was drawn for it.

use super::delay::{Delay, whole_ns};

/// The server's queue, as far as it has one.
#[derive(Debug)]
pub(super) struct Schedule {
    delay: Delay,
    /// When the server started: freezes and releases are counted from here.
    began_ns: u64,
    /// When the single worker will be done with all it has, if it is one.
    free_ns: u64,
}

/// Times of one request, on the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) start_ns: u64,
    pub(super) due_ns: u64,
}

impl Schedule {
    pub(super) fn new(delay: Delay, began_ns: u64) -> Self {
        Self { delay, began_ns, free_ns: 0 }
    }

    pub(super) fn place(&mut self, arrival_ns: u64, service_ns: u64) -> Times {
        match self.delay {
            Delay::SingleWorker { .. } => {
                let start_ns = arrival_ns.max(self.free_ns);
                self.free_ns = start_ns + service_ns;
                Times { start_ns, due_ns: self.free_ns }
            }
            Delay::Freeze { every, stall, .. } => {
                let thawed = |time_ns| self.thawed(time_ns, whole_ns(every), whole_ns(stall));
                let start_ns = thawed(arrival_ns);
                Times { start_ns, due_ns: thawed(start_ns + service_ns) }
            }
            Delay::Batch { every, .. } => Times {
                start_ns: arrival_ns,
                due_ns: self.released(arrival_ns + service_ns, whole_ns(every)),
            },
            _ => Times { start_ns: arrival_ns, due_ns: arrival_ns + service_ns },
        }
    }

    /// The first release at or after `time_ns`.
    fn released(&self, time_ns: u64, every_ns: u64) -> u64 {
        self.began_ns + time_ns.saturating_sub(self.began_ns).div_ceil(every_ns) * every_ns
    }

    /// The first moment from `time_ns` on at which the server isn't frozen.
    fn thawed(&self, time_ns: u64, every_ns: u64, stall_ns: u64) -> u64 {
        // What arrived before the start waited in the listen queue; that is no freeze.
        let Some(since_ns) = time_ns.checked_sub(self.began_ns) else { return time_ns };
        let phase_ns = since_ns % every_ns;
        if phase_ns >= every_ns - stall_ns { time_ns + (every_ns - phase_ns) } else { time_ns }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const BEGAN_NS: u64 = 1_000;

    fn check(delay: Delay, service_ns: u64, arrivals: &[u64], expected: &[(u64, u64)]) {
        let mut schedule = Schedule::new(delay, BEGAN_NS);
        let seen: Vec<_> = arrivals
            .iter()
            .map(|arrival_ns| {
                let Times { start_ns, due_ns } = schedule.place(BEGAN_NS + arrival_ns, service_ns);
                (start_ns - BEGAN_NS, due_ns - BEGAN_NS)
            })
            .collect();
        assert_eq!(seen, expected, "{delay:?} {arrivals:?}");
    }

    #[test]
    fn a_constant_delay_counts_from_the_arrival() {
        check(Delay::Const(Duration::from_nanos(10)), 10, &[0, 5, 3], &[(0, 10), (5, 15), (3, 13)]);
    }

    #[test]
    fn a_single_worker_takes_one_after_the_other() {
        let delay = Delay::SingleWorker { service: Duration::from_nanos(10) };
        check(delay, 10, &[0, 5, 6, 50], &[(0, 10), (10, 20), (20, 30), (50, 60)]);
    }

    #[test]
    fn a_batch_goes_out_together() {
        let delay = Delay::Batch { base: Duration::from_nanos(10), every: Duration::from_nanos(100) };
        check(delay, 10, &[0, 60, 90, 91, 195], &[(0, 100), (60, 100), (90, 100), (91, 200), (195, 300)]);
    }

    #[test]
    fn nothing_begins_or_ends_in_a_freeze() {
        let delay = Delay::Freeze {
            base: Duration::from_nanos(10),
            every: Duration::from_nanos(100),
            stall: Duration::from_nanos(30),
        };
        // Before; ending in the freeze; at its first and last moment; after it; in the next.
        check(
            delay,
            10,
            &[0, 65, 70, 99, 100, 170],
            &[(0, 10), (65, 100), (100, 110), (100, 110), (100, 110), (200, 210)],
        );
    }
}
