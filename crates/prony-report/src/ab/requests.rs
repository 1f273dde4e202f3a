//! The single requests of a run, as ab keeps them: four moments of each, in microseconds.

use prony_model::{ErrorKind, Outcome, SampleRecord};

use super::times::Times;

/// Every request of a run that ended.
#[derive(Debug, Clone, Default)]
pub struct Requests {
    complete: Vec<Request>,
    document_bytes: Option<u64>,
    connect: u64,
    receive: u64,
    closed_early: u64,
    other_length: u64,
    exceptions: u64,
    lost: u64,
}

/// One request. 24 bytes: a run may have millions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    /// When it began, or its connection if that is new; nanoseconds on the run's clock.
    pub(super) began_ns: u64,
    /// How long its connection took; 0 on one that was open.
    pub(super) connect_us: u32,
    /// From its beginning to its end.
    pub(super) total_us: u32,
    /// From when it was sent to the first byte of the answer.
    pub(super) wait_us: u32,
}

impl Request {
    /// What ab calls processing.
    pub(super) fn processing_us(&self) -> u32 {
        self.total_us.saturating_sub(self.connect_us)
    }
}

/// Failures by ab's kinds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Failures {
    /// No connection.
    pub connect: u64,
    /// The connection broke.
    pub receive: u64,
    /// The body was not as long as the first one.
    pub length: u64,
    /// Anything else: no answer in time, or none that is HTTP.
    pub exceptions: u64,
}

impl Failures {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.connect + self.receive + self.length + self.exceptions
    }
}

impl Requests {
    /// Takes in one request; those of one thread must come in the order in which they ended.
    pub fn add(&mut self, sample: &SampleRecord) {
        match sample.outcome {
            Outcome::Failed(kind) if is_unconnected(kind) => {
                self.connect += 1;
                return;
            }
            Outcome::Failed(ErrorKind::ClosedEarly | ErrorKind::ClosedReused) => self.closed_early += 1,
            Outcome::Failed(ErrorKind::Reset) => self.receive += 1,
            Outcome::Failed(ErrorKind::CheckFailed | ErrorKind::Status)
            | Outcome::Done(_)
            | Outcome::UnexpectedStatus(_) => {
                let expected = *self.document_bytes.get_or_insert(sample.body_bytes);
                self.other_length += u64::from(expected != sample.body_bytes);
            }
            Outcome::Failed(_) => self.exceptions += 1,
        }
        self.complete.push(Request {
            began_ns: sample.intended_ns,
            connect_us: microseconds(sample.connect_ns),
            total_us: microseconds(sample.done_ns.saturating_sub(sample.intended_ns)),
            wait_us: microseconds(sample.first_byte_ns.saturating_sub(sample.sent_ns)),
        });
    }

    /// Notes that `count` requests came too quickly to be taken in.
    pub fn lose(&mut self, count: u64) {
        self.lost += count;
    }

    /// Requests of which nothing is known here.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Requests that ended on a connection.
    pub(super) fn complete(&self) -> u64 {
        self.complete.len() as u64
    }

    /// Length of the first body.
    pub(super) fn document_bytes(&self) -> Option<u64> {
        self.document_bytes
    }

    /// What failed. Where lengths may vary, ab takes a connection that closed without an answer as good; here
    /// it is a failure all the same.
    pub(super) fn failures(&self, variable_length: bool) -> Failures {
        let (receive, length) = if variable_length {
            (self.receive + self.closed_early, 0)
        } else {
            (self.receive, self.closed_early + self.other_length)
        };
        Failures { connect: self.connect, receive, length, exceptions: self.exceptions }
    }

    /// Connections that broke: where ab without `-r` stops.
    pub fn broken(&self) -> u64 {
        self.receive
    }

    /// The same, the quickest request first: to be done once, when all are in and before anything is drawn.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        self.complete.sort_by_key(|request| request.total_us);
        self
    }

    /// Their statistics; `None` without any.
    pub(super) fn times(&self) -> Option<Times<'_>> {
        Times::of(&self.complete)
    }
}

/// Whether a request failed for want of a connection.
fn is_unconnected(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Refused
            | ErrorKind::ConnectTimeout
            | ErrorKind::NoPort
            | ErrorKind::NoDescriptor
            | ErrorKind::Unreachable
            | ErrorKind::Certificate
    )
}

/// ab's clock ticks in microseconds. 32 bits hold 71 minutes, and no timeout is that long.
fn microseconds(nanos: u64) -> u32 {
    u32::try_from(nanos / 1000).unwrap_or(u32::MAX)
}
