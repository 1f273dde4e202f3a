//! Requests that wait for a retry: for the end of their backoff, and then for a connection. Bounded, and without
//! allocating.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::Attempt;
use super::policy::Reason;
use crate::clock::Nanos;
use crate::load::driver::Slot;
use crate::load::trace::Trace;

/// A request that waits for a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Waiting {
    /// When its backoff is over.
    pub due: Nanos,
    /// Of those that are due together, the first comes first.
    order: u64,
    /// When the request was due.
    pub intended: Nanos,
    /// Which of its retries it waits for, from 1.
    pub number: u32,
    /// When it must have ended.
    deadline: Nanos,
    /// Its trace.
    trace: Trace,
    /// Why.
    pub reason: Reason,
    /// The connection that waits with it (closed loop of HTTP/1 only).
    pub slot: Slot,
}

impl Waiting {
    /// A request that was due at `intended` waits until `due` for its attempt `next`.
    pub(super) fn new(due: Nanos, intended: Nanos, next: Attempt, reason: Reason, slot: Slot) -> Self {
        let Attempt { number, deadline, trace } = next;
        Self { due, order: 0, intended, number, deadline, trace, reason, slot }
    }

    /// What it waits for.
    pub(super) fn attempt(&self) -> Attempt {
        Attempt { number: self.number, deadline: self.deadline, trace: self.trace }
    }
}

/// Those of one worker.
pub(super) struct WaitingRetries {
    /// In their backoff.
    backoff: BinaryHeap<Reverse<Waiting>>,
    /// Behind it: they wait for a connection (not in a closed loop of HTTP/1).
    ready: VecDeque<Waiting>,
    room: usize,
    added: u64,
}

impl WaitingRetries {
    /// None, with room for so many.
    pub(super) fn new(room: usize) -> Self {
        Self {
            backoff: BinaryHeap::with_capacity(room),
            ready: VecDeque::with_capacity(room),
            room,
            added: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.backoff.is_empty() && self.ready.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.len() >= self.room
    }

    /// Adds one; call only where it is not full.
    pub(super) fn push(&mut self, waiting: Waiting) {
        self.added += 1;
        self.backoff.push(Reverse(Waiting { order: self.added, ..waiting }));
    }

    /// When the next backoff is over.
    pub(super) fn next_due(&self) -> Option<Nanos> {
        self.backoff.peek().map(|Reverse(waiting)| waiting.due)
    }

    /// Takes one whose backoff is over at `now`.
    pub(super) fn pop_due(&mut self, now: Nanos) -> Option<Waiting> {
        self.next_due().filter(|due| *due <= now)?;
        self.backoff.pop().map(|Reverse(waiting)| waiting)
    }

    /// The first of those whose backoff is over at `now`; it stays.
    pub(super) fn first_ready(&mut self, now: Nanos) -> Option<Waiting> {
        while let Some(waiting) = self.pop_due(now) {
            self.ready.push_back(waiting);
        }
        self.ready.front().copied()
    }

    /// Takes what [`Self::first_ready`] returned.
    pub(super) fn take_ready(&mut self) {
        self.ready.pop_front();
    }

    /// How many wait, for the end of their backoff or for a connection.
    pub(super) fn len(&self) -> usize {
        self.backoff.len() + self.ready.len()
    }

    /// How many wait for a connection.
    pub(super) fn ready(&self) -> u64 {
        self.ready.len() as u64
    }

    /// All of them, in any order.
    pub(super) fn all(&self) -> impl Iterator<Item = &Waiting> {
        self.backoff.iter().map(|Reverse(waiting)| waiting).chain(&self.ready)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_is_due_comes_first_and_the_room_is_bounded() {
        let mut waiting = WaitingRetries::new(4);
        for (due, intended) in [(30, 1), (10, 2), (20, 3), (10, 4)] {
            assert!(!waiting.is_full());
            waiting.push(Waiting::new(due, intended, Attempt::default(), Reason::Connect, 0));
        }
        assert!(waiting.is_full());
        assert_eq!((waiting.next_due(), waiting.first_ready(9)), (Some(10), None));
        let mut order = Vec::new();
        while let Some(ready) = waiting.first_ready(25) {
            order.push(ready.intended);
            assert!(waiting.is_full() == (order.len() == 1), "those that are ready take room, too");
            waiting.take_ready();
        }
        assert_eq!(order, [2, 4, 3]);
        assert_eq!((waiting.ready(), waiting.all().count(), waiting.is_empty()), (0, 1, false));
        assert_eq!(waiting.pop_due(30).map(|last| last.intended), Some(1));
        assert!(waiting.is_empty() && waiting.pop_due(u64::MAX).is_none());
    }
}
