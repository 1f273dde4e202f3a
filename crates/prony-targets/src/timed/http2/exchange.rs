//! A request and its answer.

use super::PAYLOAD_BYTES_MAX;
use super::write;
use crate::clock::monotonic_ns;
use crate::timed::{End, Pieces};

/// From the moment that a request has come until the last frame of its answer.
#[derive(Debug)]
pub(super) struct Exchange<T> {
    pub(super) slot: usize,
    pub(super) stream: u32,
    /// `None` once it is over.
    pub(super) ticket: Option<T>,
    /// It has an entry among the due times.
    pub(super) is_timed: bool,
    pub(super) phase: Phase,
    /// Room in the client's window for this stream; below 0 after it has made its windows smaller.
    pub(super) window: i64,
}

/// Where it is.
#[derive(Debug)]
pub(super) enum Phase {
    /// Waits to be due.
    Waiting,
    Replying(Replying),
}

/// An answer whose head is sent.
#[derive(Debug)]
pub(super) struct Replying {
    body: Vec<u8>,
    sent_bytes: usize,
    /// How much may be sent so far.
    open_bytes: usize,
    piece_bytes: usize,
    every_ns: u64,
    first_ns: u64,
    last_ns: u64,
}

/// What sending came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    All,
    /// The next piece goes after so long.
    Piece {
        every_ns: u64,
    },
    /// The client's windows are used up.
    NoRoom,
}

impl Replying {
    pub(super) fn new(body: Vec<u8>, pieces: Pieces) -> Self {
        // One at least, so that an answer without a body comes to its end too.
        let piece_bytes = body.len().div_ceil(pieces.count.max(1) as usize).max(1);
        let now_ns = monotonic_ns();
        Self {
            body,
            sent_bytes: 0,
            open_bytes: piece_bytes,
            piece_bytes,
            every_ns: pieces.every_ns,
            first_ns: now_ns,
            last_ns: now_ns,
        }
    }

    /// Appends the body up to the end of the piece, as far as the windows of the stream and of its connection allow.
    pub(super) fn send(&mut self, stream: u32, windows: [&mut i64; 2], out: &mut Vec<u8>) -> Sent {
        let [own, shared] = windows;
        let open_bytes = self.open_bytes.min(self.body.len());
        self.last_ns = monotonic_ns();
        loop {
            let room = usize::try_from((*own).min(*shared)).unwrap_or(0);
            let bytes = (open_bytes - self.sent_bytes).min(room).min(PAYLOAD_BYTES_MAX);
            let end = self.sent_bytes + bytes;
            if bytes > 0 || self.body.is_empty() {
                write::data(stream, &self.body[self.sent_bytes..end], end == self.body.len(), out);
                let used = i64::try_from(bytes).expect("invariant: PAYLOAD_BYTES_MAX");
                *own -= used;
                *shared -= used;
                self.sent_bytes = end;
            }
            if self.sent_bytes == self.body.len() {
                return Sent::All;
            }
            if self.sent_bytes == open_bytes {
                self.open_bytes += self.piece_bytes;
                return Sent::Piece { every_ns: self.every_ns };
            }
            if bytes == 0 {
                return Sent::NoRoom;
            }
        }
    }

    pub(super) fn end(&self, delivered: bool) -> End {
        End { first_ns: self.first_ns, last_ns: self.last_ns, delivered }
    }
}
