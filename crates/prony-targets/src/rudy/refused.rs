//! Connections that were turned away and are not quite gone.

use std::collections::VecDeque;

use rustix::io::Errno;

use crate::clock::SECOND_NS;
use crate::reply::refusal;
use crate::tls::Socket;

/// How many are kept at once; the oldest goes first.
const LIMIT: usize = 256;
/// How long one is kept.
const LINGER_LIMIT_NS: u64 = SECOND_NS;

/// The 503 was sent, the request may still be on its way: closing the socket on unread bytes would reset the
/// connection, and the client might lose the reply. So each is kept until the client closes, or for a second.
#[derive(Debug, Default)]
pub(super) struct Refused {
    sockets: VecDeque<(Socket, u64)>,
}

impl Refused {
    pub(super) fn turn_away(&mut self, mut socket: Socket, now_ns: u64) {
        // A fresh connection has room for 200 bytes.
        let _ = socket.send(&refusal());
        socket.finish_sending();
        if self.sockets.len() == LIMIT {
            self.sockets.pop_front();
        }
        self.sockets.push_back((socket, now_ns + LINGER_LIMIT_NS));
    }

    /// Throws away what they sent and lets go of those that are done or overdue.
    pub(super) fn tidy(&mut self, now_ns: u64) {
        self.sockets.retain_mut(|(socket, until_ns)| now_ns < *until_ns && !has_ended(socket));
    }

    pub(super) fn sockets(&self) -> impl Iterator<Item = &Socket> {
        self.sockets.iter().map(|(socket, _)| socket)
    }

    /// When the oldest is overdue. All are kept equally long, so it is the first.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.sockets.front().map(|(_, until_ns)| *until_ns)
    }
}

fn has_ended(socket: &mut Socket) -> bool {
    let mut input = [0; 4096];
    loop {
        match socket.recv(&mut input[..]) {
            Ok(0) => return true,
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return error != Errno::AGAIN,
        }
    }
}
