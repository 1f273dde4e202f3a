//! What a run tells while it runs: the contract between whoever runs it and whoever shows it.

use std::time::Duration;

use crate::DriverUsed;

/// Something happened in a run.
#[derive(Debug, Clone, PartialEq)]
pub enum RunEvent {
    /// Names are resolved and the threads are about to start.
    Starting {
        /// Addresses that connections will go to.
        addresses: Vec<String>,
        /// The driver that was picked.
        driver: DriverUsed,
    },
    /// A part of the run began.
    Phase(Phase),
    /// How far the run is; about twenty times a second.
    Progress(Progress),
}

/// The parts of a run, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Load that is not counted.
    Warmup,
    /// Load that is counted.
    Measure,
    /// No new requests; waiting for what is outstanding.
    Drain,
}

/// A live view; exact counts, recent rates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Since the start of the phase.
    pub elapsed: Duration,
    /// Good responses so far.
    pub done: u64,
    /// Failures so far.
    pub failed: u64,
    /// Good responses per second over the last slice.
    pub rate_per_s: f64,
    /// Median response time over the last slice, if any response was good.
    pub median: Option<Duration>,
}
