//! The signal by which every thread of a server finishes.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};

use crate::StartError;
use crate::clock::{monotonic_ns, to_timespec};

/// The cutoff of a server that was not stopped.
pub(crate) const RUNNING: u64 = u64::MAX;

/// An eventfd that becomes readable once and stays so: a thread may wait for it in epoll or in poll.
#[derive(Debug)]
pub(crate) struct Stop {
    event: OwnedFd,
    /// When requests in flight are given up, ns; [`RUNNING`] while the server runs.
    cutoff_ns: AtomicU64,
}

impl Stop {
    pub(crate) fn new() -> Result<Self, StartError> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|errno| StartError::Resource { what: "an eventfd", source: errno.into() })?;
        Ok(Self { event, cutoff_ns: AtomicU64::new(RUNNING) })
    }

    /// Tells all, and when to give up what is in flight; again is harmless.
    pub(crate) fn raise(&self, limit: Duration) {
        let limit_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        let cutoff_ns = monotonic_ns().saturating_add(limit_ns).min(RUNNING - 1);
        // Only the first call sets the bound. SeqCst: a thread that sees the eventfd must see the bound.
        let _ = self.cutoff_ns.compare_exchange(RUNNING, cutoff_ns, Ordering::SeqCst, Ordering::SeqCst);
        // It fails only when the counter is full, and then it is readable already.
        let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
    }

    pub(crate) fn is_raised(&self) -> bool {
        self.cutoff_ns() != RUNNING
    }

    /// When requests in flight are to be given up, on the monotonic clock; [`RUNNING`] while the server runs.
    pub(crate) fn cutoff_ns(&self) -> u64 {
        self.cutoff_ns.load(Ordering::SeqCst)
    }

    /// Sleeps until `due_ns` or the stop; true when stopped.
    pub(crate) fn comes_before(&self, due_ns: u64) -> bool {
        while !self.is_raised() {
            let now_ns = monotonic_ns();
            if now_ns >= due_ns {
                return false;
            }
            let _ = poll(&mut [PollFd::new(&self.event, PollFlags::IN)], Some(&to_timespec(due_ns - now_ns)));
        }
        true
    }

    /// Sleeps until `due_ns`, through a stop as well, but not beyond the cutoff; false when cut off.
    pub(crate) fn sleep_until(&self, due_ns: u64) -> bool {
        loop {
            let cutoff_ns = self.cutoff_ns();
            let now_ns = monotonic_ns();
            if now_ns >= due_ns {
                return true;
            }
            if now_ns >= cutoff_ns {
                return false;
            }
            let span = to_timespec(due_ns.min(cutoff_ns) - now_ns);
            // Once raised the eventfd would end each wait at once, so it is left out. Whether it was is decided by
            // the bound that the span was made of: read again, a stop that came in between would be slept through.
            if cutoff_ns == RUNNING {
                let _ = poll(&mut [PollFd::new(&self.event, PollFlags::IN)], Some(&span));
            } else {
                let _ = poll(&mut [], Some(&span));
            }
        }
    }
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_ends_when_due_and_not_before_the_stop_alone() {
        let stop = Stop::new().unwrap();
        let due_ns = monotonic_ns() + 2_000_000;
        stop.raise(Duration::MAX);
        assert!(stop.sleep_until(due_ns), "the bound is far away");
        assert!(monotonic_ns() >= due_ns);
    }

    #[test]
    fn a_sleep_beyond_the_bound_is_cut_off() {
        let stop = Stop::new().unwrap();
        stop.raise(Duration::ZERO);
        assert!(!stop.sleep_until(u64::MAX));
    }

    #[test]
    fn a_wait_for_the_stop_ends_with_it_or_when_due() {
        let stop = Stop::new().unwrap();
        assert!(!stop.comes_before(monotonic_ns() + 1_000_000));
        stop.raise(Duration::ZERO);
        assert!(stop.comes_before(u64::MAX));
    }

    #[test]
    fn the_first_stop_sets_the_bound() {
        let stop = Stop::new().unwrap();
        assert!(!stop.is_raised());
        stop.raise(Duration::from_secs(1));
        let cutoff_ns = stop.cutoff_ns();
        stop.raise(Duration::ZERO);
        assert_eq!(stop.cutoff_ns(), cutoff_ns);
        assert!(stop.is_raised());
    }
}
