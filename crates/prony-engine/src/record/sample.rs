//! What is known of one request when it has ended.

use crate::clock::Nanos;
use crate::load::trace::Trace;

/// The moments of one request that has ended.
///
/// Response time = done − intended; service time = done − sent; our own lateness = sent − ready.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// When it was due.
    pub intended: Nanos,
    /// When it was due and a connection was free.
    pub ready: Nanos,
    /// When it was handed to the kernel (or its connection was begun, if that failed).
    pub sent: Nanos,
    /// Whether the kernel was asked about it, which was decided before it was sent.
    pub sampled: bool,
    /// When its last byte left the kernel; 0 if the kernel did not say.
    pub departed: Nanos,
    /// When the last byte of the answer arrived at the kernel; 0 if it did not say.
    pub arrived: Nanos,
    /// When the first byte of the answer was seen; 0 if none was.
    pub first_byte: Nanos,
    /// When it had ended.
    pub done: Nanos,
    /// How long its connection took to open, TLS included, if it was the first request on it; else 0.
    pub connect: Nanos,
    /// What TLS took of that.
    pub tls: Nanos,
    /// The local port of its connection; 0 if there was none.
    pub port: u16,
    /// Whether it was not sent, because there was no connection for it.
    pub is_unsent: bool,
    /// Its trace and what else is known of it.
    pub trace: Trace,
}

impl Sample {
    /// A request that was due at `intended`, could be sent from `began` on, and has failed without being sent.
    pub(crate) fn unsent(intended: Nanos, began: Nanos, now: Nanos) -> Self {
        let ready = intended.max(began);
        Self {
            intended,
            ready,
            sent: ready,
            sampled: false,
            departed: 0,
            arrived: 0,
            first_byte: 0,
            done: now,
            connect: 0,
            tls: 0,
            port: 0,
            is_unsent: true,
            trace: Trace::NONE,
        }
    }
}

#[cfg(test)]
impl Sample {
    /// A request that was sent when it was due, with what the kernel reported of it.
    pub(crate) fn stamped(sent: Nanos, departed: Nanos, arrived: Nanos, done: Nanos) -> Self {
        Self {
            intended: sent,
            ready: sent,
            sent,
            sampled: true,
            departed,
            arrived,
            first_byte: done,
            done,
            connect: 0,
            tls: 0,
            port: 0,
            is_unsent: false,
            trace: Trace::NONE,
        }
    }
}

/// What a complete response was.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    /// Its status code.
    pub status: u16,
    /// Bytes of its body.
    pub body_bytes: u64,
}
