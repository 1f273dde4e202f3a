//! What a run reports while it runs: the contract between the caller that runs it and the one that shows it.

use std::time::Duration;

use crate::{DriverUsed, Outcome, RunResult};

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
    /// What one thread did in a short part of the measured time; about twenty times a second for each.
    Slice(SliceCounts),
    /// What has become of the requests of the measured part by now; about twenty times a second for each thread.
    Counts(Box<RunCounts>),
    /// Every request of the measured part that has ended, in the order of each thread; only where the plan asks
    /// for them.
    Samples(Vec<SampleRecord>),
    /// So many more of them found no room, because the consumer of the samples is too slow.
    SamplesLost(u64),
    /// The result as if the run were over now; only where the caller asks for that. Requests in flight are no part
    /// of it, nor is what is long or known at the end only: the series, distributions for other tools (unless the caller asks for them), intervals of quantiles, clean parts,
    /// the kernel's stamps, handshakes, events of streams, steps of scenarios, and findings that need a whole run. In the first second there
    /// are neither findings nor a limiter.
    SoFar(Box<RunResult>),
}

/// What has become of the requests that were due in the measured part. Each number can only grow, but for the least
/// times, which can only fall.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RunCounts {
    /// By [`Outcome::index`].
    pub outcomes: [u64; Outcome::COUNT],
    /// Least and greatest response time of the good ones, milliseconds.
    pub response_ms: Option<(f64, f64)>,
    /// Their least and greatest service time, milliseconds.
    pub service_ms: Option<(f64, f64)>,
}

/// What one thread did in a short part of the measured time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SliceCounts {
    /// From 0.
    pub thread: u32,
    /// Length of the part.
    pub took: Duration,
    /// Complete responses of any status.
    pub answered: u64,
    /// Good responses.
    pub done: u64,
    /// Failures.
    pub failed: u64,
}

/// One request that has ended; moments are nanoseconds on CLOCK_MONOTONIC, 0 for one that never came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleRecord {
    /// The thread that sent it, from 0.
    pub thread: u32,
    /// The local port of its connection; 0 for a Unix socket, or if there was no connection.
    pub port: u16,
    /// When it was due.
    pub intended_ns: u64,
    /// When it was due and a connection was free.
    pub ready_ns: u64,
    /// When it was handed to the kernel.
    pub sent_ns: u64,
    /// When the kernel sent it, by its own clock; 0 if it was not asked or did not say.
    pub tx_ns: u64,
    /// When the kernel received the last piece of the answer, by its own clock; 0 likewise.
    pub rx_ns: u64,
    /// When the first byte of the answer was seen.
    pub first_byte_ns: u64,
    /// When it had ended.
    pub done_ns: u64,
    /// How long its connection took to open, if it is the first request on it; else 0.
    pub connect_ns: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// The status code of the complete response; 0 without one.
    pub status: u16,
    /// Bytes of the complete response's body.
    pub body_bytes: u64,
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
    /// Requests in flight on all connections, mean of each thread's last slice.
    pub in_flight: f64,
    /// Connections that are open.
    pub open: u64,
}
