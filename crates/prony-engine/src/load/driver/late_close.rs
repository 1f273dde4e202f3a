//! Connections that have had their last response, kept open until the server has had time to close them.
//!
//! The side that closes first keeps the port for a minute (TIME_WAIT). Closed by us, 28,000 ports allow 470 connections per
//! second between two addresses; closed by the server, whose port is the same for all, any number.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use crate::clock::{NEVER, Nanos};

/// How long the server has for it. Servers close right behind the response, so that both arrive together.
const HOLD_NS: Nanos = 1_000_000;
/// Connections that one thread keeps: as many as it ends in [`HOLD_NS`] at 32,000 per second.
pub(crate) const HELD_MAX: usize = 32;

/// The connections of one thread, the oldest first.
#[derive(Default)]
pub(super) struct LateClose {
    held: VecDeque<Held>,
}

struct Held {
    socket: OwnedFd,
    tag: u64,
    until: Nanos,
}

impl LateClose {
    /// Keeps `socket` from `now` on. Returns one that must be closed to make room, if so.
    pub(super) fn hold(&mut self, socket: OwnedFd, tag: u64, now: Nanos) -> Option<OwnedFd> {
        let oldest =
            if self.held.len() == HELD_MAX { self.held.pop_front().map(|held| held.socket) } else { None };
        self.held.push_back(Held { socket, tag, until: now + HOLD_NS });
        oldest
    }

    /// One whose time is over.
    pub(super) fn due(&mut self, now: Nanos) -> Option<OwnedFd> {
        self.held.pop_front_if(|held| held.until <= now).map(|held| held.socket)
    }

    /// The one with this tag, which the server has closed.
    pub(super) fn take(&mut self, tag: u64) -> Option<OwnedFd> {
        let at = self.held.iter().position(|held| held.tag == tag)?;
        self.held.remove(at).map(|held| held.socket)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// When the next one is due.
    pub(super) fn next_due(&self) -> Nanos {
        self.held.front().map_or(NEVER, |held| held.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket() -> OwnedFd {
        std::fs::File::open("/dev/null").expect("a file").into()
    }

    #[test]
    fn the_oldest_is_closed_when_its_time_is_over() {
        let mut late = LateClose::default();
        assert_eq!((late.next_due(), late.due(NEVER).is_some()), (NEVER, false));
        assert!(late.hold(socket(), 1, 100).is_none() && late.hold(socket(), 2, 200).is_none());
        assert_eq!(late.next_due(), 100 + HOLD_NS);
        assert!(late.due(99 + HOLD_NS).is_none());
        assert!(late.due(100 + HOLD_NS).is_some() && late.due(100 + HOLD_NS).is_none());
        assert!(late.take(1).is_none() && late.take(2).is_some() && late.is_empty());
    }

    #[test]
    fn their_number_is_bounded() {
        let mut late = LateClose::default();
        for tag in 0..HELD_MAX as u64 {
            assert!(late.hold(socket(), tag, 0).is_none());
        }
        assert!(late.hold(socket(), 99, 0).is_some());
        assert!(late.take(0).is_none() && late.take(1).is_some(), "the first had to go");
    }
}
