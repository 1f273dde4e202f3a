//! One connection of the loop, and what the kernel does for it.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;

use super::stamps::{Arrival, Stamps};
use super::{Act, End};
use crate::clock::monotonic_ns;
use crate::head::Reject;
use crate::listen::Accepted;
use crate::reader::{Event, Reader, Request};
use crate::reply::CONTINUE;
use crate::tls::Socket;

/// How much is read at once. A request larger than that takes more than one read.
pub(super) const INPUT_BYTES: usize = 16 * 1024;

/// An open connection.
#[derive(Debug)]
pub(super) struct Connection<T> {
    pub(super) socket: Socket,
    pub(super) number: u64,
    /// The client's port; 0 if unknown.
    pub(super) peer_port: u16,
    pub(super) reader: Reader,
    pub(super) phase: Phase<T>,
    /// When it opened, finished its last reply, or began the request that is under way.
    pub(super) since_ns: u64,
    /// A request has begun and not ended.
    pub(super) midway: bool,
    /// Its last reply is finished and it may stay idle.
    pub(super) served: bool,
    pub(super) incoming: Incoming,
    last_arrival: Arrival,
    /// The reply under way; kept empty for the next one.
    pub(super) out: Vec<u8>,
}

/// Whether a read would find something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Incoming {
    Perhaps,
    /// The last read took all there was, and no event has come since.
    Nothing,
    /// The client has closed its side, or there is an error: behind what it sent, a read finds that.
    Last,
}

/// Where a connection is in its round.
#[derive(Debug)]
pub(super) enum Phase<T> {
    /// Waits for a request.
    Reading,
    /// Its request waits to be due.
    Waiting { ticket: T, close: bool },
    /// Its reply is on the way.
    Replying(Replying<T>),
    /// All is sent; what the client still sends is thrown away, because closing the socket on unread bytes
    /// would reset the connection, and the client might lose the reply.
    Lingering,
}

/// A reply on the way.
#[derive(Debug)]
pub(super) struct Replying<T> {
    pub(super) ticket: T,
    pub(super) close: bool,
    sent_bytes: usize,
    /// How much may be sent so far.
    open_bytes: usize,
    piece_bytes: usize,
    pub(super) every_ns: u64,
    first_ns: u64,
    last_ns: u64,
    /// The kernel has no room: polling reports when it has.
    pub(super) blocked: bool,
}

/// What reading came to.
#[derive(Debug)]
pub(super) enum Read {
    Request(Request, Arrival),
    /// Nothing more has come.
    Empty,
    Reject(Reject),
    /// The client is gone; in the middle of a request, or not.
    Gone {
        midway: bool,
    },
}

/// What sending came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    All,
    Piece,
    Blocked,
    Failed,
}

impl<T> Connection<T> {
    pub(super) fn new(accepted: Accepted, number: u64, since_ns: u64) -> Self {
        Self {
            socket: accepted.socket,
            number,
            peer_port: accepted.peer.map_or(0, |peer| peer.port()),
            reader: Reader::default(),
            phase: Phase::Reading,
            since_ns,
            midway: false,
            served: false,
            incoming: Incoming::Perhaps,
            last_arrival: Arrival::default(),
            out: Vec::new(),
        }
    }

    /// Reads up to the next whole request. Events are edge-triggered, so it reads until nothing is left. A read that
    /// does not fill the buffer is the last one, which saves a system call per request; but not if the client's end
    /// is behind it, which edge-triggered polling won't report again.
    pub(super) fn read(&mut self, input: &mut [u8; INPUT_BYTES], stamps: &Stamps) -> Read {
        loop {
            match self.reader.next() {
                Ok(Some(Event::Request(request))) => return Read::Request(request, self.last_arrival),
                Ok(Some(Event::Continue)) => {
                    // It is a courtesy: without it the client goes on after a while.
                    let _ = self.socket.send(CONTINUE);
                    continue;
                }
                Ok(None) => {}
                Err(reject) => return Read::Reject(reject),
            }
            if self.incoming == Incoming::Nothing {
                return Read::Empty;
            }
            match stamps.receive(&mut self.socket, input) {
                Ok((0, _)) => return Read::Gone { midway: !self.reader.is_idle() },
                Ok((count, arrival)) => {
                    self.last_arrival = arrival.unwrap_or(self.last_arrival);
                    if count < INPUT_BYTES {
                        self.is_read_empty();
                    }
                    self.reader.feed(&input[..count]);
                }
                Err(Errno::AGAIN) => {
                    self.is_read_empty();
                    return Read::Empty;
                }
                Err(Errno::INTR) => {}
                Err(_) => return Read::Gone { midway: !self.reader.is_idle() },
            }
        }
    }

    /// The next read polls the socket again.
    pub(super) fn may_have_more(&mut self) {
        if self.incoming == Incoming::Nothing {
            self.incoming = Incoming::Perhaps;
        }
    }

    /// Nothing is left on the socket, unless the client's end.
    fn is_read_empty(&mut self) {
        if self.incoming == Incoming::Perhaps {
            self.incoming = Incoming::Nothing;
        }
    }

    /// Throws away what has come; false when the client is done.
    pub(super) fn discard(&mut self, input: &mut [u8; INPUT_BYTES]) -> bool {
        loop {
            match self.socket.recv(&mut input[..]) {
                Ok(0) => return false,
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return true,
                Err(_) => return false,
            }
        }
    }
}

impl<T> AsFd for Connection<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl<T> Replying<T> {
    pub(super) fn new(ticket: T, close: bool, act: Act, out_bytes: usize) -> Self {
        let (head_bytes, pieces, every_ns) = match act {
            Act::SendSlowly { head_bytes, pieces, every_ns } => {
                (head_bytes, pieces.max(1) as usize, every_ns)
            }
            Act::Send | Act::Reset => (0, 1, 0),
        };
        // One at least, so that a reply without a body comes to its end too.
        let piece_bytes = (out_bytes - head_bytes).div_ceil(pieces).max(1);
        Self {
            ticket,
            close,
            sent_bytes: 0,
            open_bytes: head_bytes + piece_bytes,
            piece_bytes,
            every_ns,
            first_ns: 0,
            last_ns: 0,
            blocked: false,
        }
    }

    /// Sends up to the end of the piece.
    pub(super) fn send(&mut self, socket: &mut Socket, out: &[u8]) -> Sent {
        self.blocked = false;
        let open_bytes = self.open_bytes.min(out.len());
        while self.sent_bytes < open_bytes {
            self.last_ns = monotonic_ns();
            if self.sent_bytes == 0 {
                self.first_ns = self.last_ns;
            }
            match socket.send(&out[self.sent_bytes..open_bytes]) {
                Ok(count) => self.sent_bytes += count,
                Err(Errno::AGAIN) => {
                    self.blocked = true;
                    return Sent::Blocked;
                }
                Err(Errno::INTR) => {}
                Err(_) => return Sent::Failed,
            }
        }
        self.open_bytes += self.piece_bytes;
        if self.sent_bytes == out.len() { Sent::All } else { Sent::Piece }
    }

    pub(super) fn end(&self, delivered: bool) -> End {
        End { first_ns: self.first_ns, last_ns: self.last_ns, delivered }
    }
}
