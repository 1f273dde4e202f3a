//! The requests that wait, first come, first served.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::lines::Lines;
use crate::service::Ticket;

/// Requests that wait at most where no limit was set: 50 MB of them.
pub const QUEUE_MAX: usize = 1_000_000;
/// The first line of the log.
pub(super) const HEADER: &str = "arrived_ns,began_ns,ended_ns,outcome\n";

/// The queue, and the log of what left it.
#[derive(Debug)]
pub(super) struct Line {
    limit: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// Numbered from 0, in the order in which they came.
    waiting: VecDeque<Waiting>,
    entered: u64,
    closed: bool,
    log: Option<Lines>,
}

/// A request that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) number: u64,
    pub(super) from: Ticket,
    pub(super) arrived_ns: u64,
}

/// What became of a request at its arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entered {
    Waits,
    /// So many wait that it gets a 503.
    Refused,
}

/// What became of a request that waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Served,
    /// It had waited for too long.
    Shed,
}

impl Line {
    pub(super) fn new(limit: usize, log: Option<Lines>) -> Self {
        let state = State { waiting: VecDeque::new(), entered: 0, closed: false, log };
        Self { limit, state: Mutex::new(state), changed: Condvar::new() }
    }

    pub(super) fn enter(&self, from: Ticket, arrived_ns: u64) -> Entered {
        let mut state = self.lock();
        if state.waiting.len() >= self.limit {
            state.note(arrived_ns, arrived_ns, arrived_ns, "refused");
            return Entered::Refused;
        }
        let number = state.entered;
        state.entered += 1;
        state.waiting.push_back(Waiting { number, from, arrived_ns });
        drop(state);
        self.changed.notify_one();
        Entered::Waits
    }

    /// The next request, as soon as there is one; `None` once the line is closed.
    pub(super) fn next(&self) -> Option<Waiting> {
        let idle = |state: &mut State| state.waiting.is_empty() && !state.closed;
        let mut state = self.changed.wait_while(self.lock(), idle).unwrap_or_else(PoisonError::into_inner);
        if state.closed { None } else { state.waiting.pop_front() }
    }

    /// Logs the end of a request.
    pub(super) fn note(&self, request: &Waiting, began_ns: u64, ended_ns: u64, ended: Ended) {
        let outcome = match ended {
            Ended::Served => "served",
            Ended::Shed => "shed",
        };
        self.lock().note(request.arrived_ns, began_ns, ended_ns, outcome);
    }

    pub(super) fn write_log(&self) {
        if let Some(log) = &mut self.lock().log {
            log.write();
        }
    }

    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
        self.write_log();
    }

    /// Each change is a single step, so a panic elsewhere leaves nothing half changed.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn note(&mut self, arrived_ns: u64, began_ns: u64, ended_ns: u64, outcome: &str) {
        if let Some(log) = &mut self.log {
            log.add(format_args!("{arrived_ns},{began_ns},{ended_ns},{outcome}\n"));
        }
    }
}
