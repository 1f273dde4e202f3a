//! What a server counts while it runs.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A reading of a server's counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Connections accepted.
    pub connections: u64,
    /// Requests answered (or, where the server was configured to, reset): all that was asked of it was done.
    pub requests: u64,
    /// Requests that broke a rule or a limit and were answered 400, 408, 411, 413 or 431; or 503 for
    /// want of memory.
    pub rejected: u64,
    /// Connections turned away with 503 because every handler was busy; requests, where the server has a queue of them.
    pub refused: u64,
    /// Requests that were served after their client had left; in `broken`, too.
    pub in_vain: u64,
    /// Connections that the client left in the middle of a request or of its reply.
    pub broken: u64,
    /// Requests being handled now: completely read, not completely answered.
    pub in_flight: u64,
    /// The highest `in_flight` so far.
    pub max_in_flight: u64,
    /// Truth records that found the log's buffer or the records channel full, and lines of a log that could not
    /// be written.
    pub records_lost: u64,
}

/// The counters themselves, shared by the threads of one server. Each stands alone: none orders another.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) connections: AtomicU64,
    pub(crate) requests: AtomicU64,
    pub(crate) rejected: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) in_vain: AtomicU64,
    pub(crate) broken: AtomicU64,
    pub(crate) records_lost: AtomicU64,
    in_flight: AtomicU64,
    max_in_flight: AtomicU64,
}

impl Counters {
    pub(crate) fn read(&self) -> Counts {
        Counts {
            connections: self.connections.load(Relaxed),
            requests: self.requests.load(Relaxed),
            rejected: self.rejected.load(Relaxed),
            refused: self.refused.load(Relaxed),
            in_vain: self.in_vain.load(Relaxed),
            broken: self.broken.load(Relaxed),
            in_flight: self.in_flight.load(Relaxed),
            max_in_flight: self.max_in_flight.load(Relaxed),
            records_lost: self.records_lost.load(Relaxed),
        }
    }

    /// A request has been read completely.
    pub(crate) fn enter(&self) {
        let now_in_flight = self.in_flight.fetch_add(1, Relaxed) + 1;
        self.max_in_flight.fetch_max(now_in_flight, Relaxed);
    }

    /// A request that had entered is over, answered or not.
    pub(crate) fn leave(&self) {
        self.in_flight.fetch_sub(1, Relaxed);
    }
}

/// One more.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}
