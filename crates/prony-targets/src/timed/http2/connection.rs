//! One connection, and what the kernel does for it.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;

use super::reader::Reader;
use super::{OUT_BYTES_MAX, WINDOW_BYTES, write};
use crate::listen::Accepted;
use crate::timed::connection::INPUT_BYTES;
use crate::timed::stamps::{Arrival, Stamps};
use crate::tls::Socket;

/// An open connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) socket: Socket,
    pub(super) number: u64,
    /// The client's port; 0 if unknown.
    pub(super) peer_port: u16,
    pub(super) reader: Reader,
    /// Its requests that wait or are being answered: streams, and their places.
    pub(super) exchanges: Vec<(u32, usize)>,
    /// Frames that the kernel has not taken yet.
    pub(super) out: Vec<u8>,
    /// Room in the client's window for the connection.
    pub(super) window: i64,
    /// Room in the client's window for each new stream.
    pub(super) stream_window: i64,
    /// When it opened or finished its last answer.
    pub(super) since_ns: u64,
    /// A request was answered.
    pub(super) served: bool,
    /// The client has closed its side: behind what it sent, a read finds that.
    pub(super) hung_up: bool,
    pub(super) arrival: Arrival,
}

/// What reading came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Read {
    /// Something came; `more`: there may be more.
    Some {
        more: bool,
    },
    Nothing,
    Gone,
}

impl Connection {
    pub(super) fn new(accepted: Accepted, number: u64, since_ns: u64) -> Self {
        let mut out = Vec::new();
        write::settings(&mut out);
        Self {
            socket: accepted.socket,
            number,
            peer_port: accepted.peer.map_or(0, |peer| peer.port()),
            reader: Reader::default(),
            exchanges: Vec::new(),
            out,
            window: WINDOW_BYTES,
            stream_window: WINDOW_BYTES,
            since_ns,
            served: false,
            hung_up: false,
            arrival: Arrival::default(),
        }
    }

    /// One read into the reader. One that does not fill the buffer is the last one, unless the client's end is behind it,
    /// which edge-triggered polling won't report again.
    pub(super) fn read(&mut self, input: &mut [u8; INPUT_BYTES], stamps: &Stamps) -> Read {
        match stamps.receive(&mut self.socket, input) {
            Ok((0, _)) => Read::Gone,
            Ok((count, arrival)) => {
                self.arrival = arrival.unwrap_or(self.arrival);
                self.reader.feed(&input[..count]);
                Read::Some { more: count == INPUT_BYTES || self.hung_up }
            }
            Err(Errno::AGAIN) => Read::Nothing,
            Err(Errno::INTR) => Read::Some { more: true },
            Err(_) => Read::Gone,
        }
    }

    /// Sends as much of what waits as the kernel takes; false where the connection is of no more use.
    pub(super) fn flush(&mut self) -> bool {
        let mut sent = 0;
        let is_alive = loop {
            if sent == self.out.len() {
                break true;
            }
            match self.socket.send(&self.out[sent..]) {
                Ok(count) => sent += count,
                Err(Errno::AGAIN) => break self.out.len() - sent <= OUT_BYTES_MAX,
                Err(Errno::INTR) => {}
                Err(_) => break false,
            }
        };
        self.out.drain(..sent);
        is_alive
    }

    /// Where the exchange of `stream` is.
    pub(super) fn place(&self, stream: u32) -> Option<usize> {
        self.exchanges.iter().find(|(open, _)| *open == stream).map(|(_, place)| *place)
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
