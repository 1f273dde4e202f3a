//! Sleeps until something comes or is due, and knows who is due next.

use rustix::event::epoll::Event;

use super::due::DueTimes;
use super::spin::SpinBudget;
use crate::clock::monotonic_ns;
use crate::poller::Poller;
use std::os::fd::AsFd;

/// The due times of one thread.
#[derive(Debug)]
pub(super) struct Timer {
    due: DueTimes,
    spin: SpinBudget,
    /// How long before a due time to watch the clock.
    spin_ns: u64,
}

impl Timer {
    pub(super) fn new(spin_ns: u64) -> Self {
        Self { due: DueTimes::default(), spin: SpinBudget::default(), spin_ns }
    }

    /// `who` is due then.
    pub(super) fn push(&mut self, due_ns: u64, who: usize) {
        self.due.push(due_ns, who);
    }

    /// Takes out who is due first, if that is by now. The clock is read only where someone waits.
    pub(super) fn pop(&mut self) -> Option<(usize, u64)> {
        self.due.next_ns()?;
        let now_ns = monotonic_ns();
        Some((self.due.pop(now_ns)?, now_ns))
    }

    /// Sleeps until something comes or is due, `sleep_ns` at most. Close to a due time it watches the clock instead, if
    /// it may, and then comes back without events: what is due goes first.
    pub(super) fn wait<C: AsFd>(
        &mut self,
        poller: &Poller<C>,
        events: &mut Vec<Event>,
        now_ns: u64,
        mut sleep_ns: u64,
    ) {
        events.clear();
        if let Some(due_ns) = self.due.next_ns() {
            let left_ns = due_ns.saturating_sub(now_ns);
            let spin_ns = self.spin_ns.min(self.spin.left_ns(now_ns)).min(left_ns);
            if (1..=spin_ns).contains(&left_ns) {
                self.spin.spend(left_ns);
                while monotonic_ns() < due_ns {
                    std::hint::spin_loop();
                }
                return;
            }
            sleep_ns = sleep_ns.min(left_ns - spin_ns);
        }
        poller.wait(events, sleep_ns);
    }
}
