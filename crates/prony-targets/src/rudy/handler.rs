//! One connection, handled by a thread that has nothing else to do meanwhile.

use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::Config;
use super::page::Pages;
use crate::clock::{SECOND_NS, monotonic_ns, to_timespec, wake_exactly};
use crate::counters::{Counters, count};
use crate::head::Reject;
use crate::reader::{Event, Reader, Request};
use crate::reply::{CONTINUE, rejection};
use crate::stop::{RUNNING, Stop};
use crate::tls::Socket;

/// How long a client may take to take its reply.
const SEND_LIMIT_NS: u64 = 10 * SECOND_NS;
/// How long what a rejected client still sends is thrown away. Closing the socket on unread bytes would reset
/// the connection, and the client might lose the reply.
const LINGER_LIMIT_NS: u64 = SECOND_NS;
/// How much is read at once, on the thread's small stack.
const INPUT_BYTES: usize = 4096;

/// What all handlers of a server know.
#[derive(Debug)]
pub(super) struct Handler {
    delay_ns: u64,
    pages: Arc<Pages>,
    keep_alive: bool,
    request_timeout_ns: u64,
    /// How often to look for new connections; 0: at once.
    pub(super) accept_every_ns: u64,
    pub(super) counters: Arc<Counters>,
    pub(super) stop: Arc<Stop>,
}

/// What came of waiting for a request.
enum Next {
    Request(Request),
    Reject(Reject),
    /// The client has left, or the server stops.
    End {
        midway: bool,
    },
}

impl Handler {
    pub(super) fn new(config: &Config, pages: Arc<Pages>, counters: Arc<Counters>, stop: Arc<Stop>) -> Self {
        Self {
            delay_ns: u64::try_from(config.delay.as_nanos()).unwrap_or(u64::MAX),
            pages,
            keep_alive: config.keep_alive,
            request_timeout_ns: u64::try_from(config.request_timeout.as_nanos()).unwrap_or(u64::MAX),
            accept_every_ns: u64::try_from(config.accept_every.as_nanos()).unwrap_or(u64::MAX),
            counters,
            stop,
        }
    }

    /// Serves the connection to its end.
    pub(super) fn serve(&self, socket: &mut Socket) {
        wake_exactly();
        let mut reader = Reader::default();
        loop {
            match self.next_request(socket, &mut reader) {
                Next::Request(request) => {
                    if !self.reply(socket, &request) {
                        return;
                    }
                }
                Next::Reject(reject) => {
                    count(&self.counters.rejected);
                    self.send_all(socket, &rejection(reject));
                    return self.linger(socket);
                }
                Next::End { midway } => {
                    if midway {
                        count(&self.counters.broken);
                    }
                    return;
                }
            }
        }
    }

    /// Waits and answers; false when the connection ends here.
    fn reply(&self, socket: &mut Socket, request: &Request) -> bool {
        let read_ns = monotonic_ns();
        self.counters.enter();
        if !self.stop.sleep_until(read_ns.saturating_add(self.delay_ns)) {
            // Cut off: it stays in flight in the counters, and that is how the stop's report knows.
            return false;
        }
        let close = !(request.keep_alive && self.keep_alive) || self.stop.is_raised();
        let mut out = Vec::new();
        self.pages.write(request, monotonic_ns() - read_ns, close, &mut out);
        let delivered = self.send_all(socket, &out);
        self.counters.leave();
        count(if delivered { &self.counters.requests } else { &self.counters.broken });
        delivered && !close
    }

    fn next_request(&self, socket: &mut Socket, reader: &mut Reader) -> Next {
        let deadline_ns = monotonic_ns().saturating_add(self.request_timeout_ns);
        let mut input = [0; INPUT_BYTES];
        loop {
            match reader.next() {
                Ok(Some(Event::Request(request))) => return Next::Request(request),
                Ok(Some(Event::Continue)) => {
                    self.send_all(socket, CONTINUE);
                    continue;
                }
                Ok(None) => {}
                Err(reject) => return Next::Reject(reject),
            }
            match socket.recv(&mut input[..]) {
                Ok(0) => return Next::End { midway: !reader.is_idle() },
                Ok(count) => reader.feed(&input[..count]),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if monotonic_ns() >= deadline_ns && reader.is_idle() => {
                    return Next::End { midway: false };
                }
                Err(Errno::AGAIN) if monotonic_ns() >= deadline_ns => return Next::Reject(Reject::TooSlow),
                Err(Errno::AGAIN) if self.stop.is_raised() && reader.is_idle() => {
                    return Next::End { midway: false };
                }
                Err(Errno::AGAIN) if monotonic_ns() >= self.stop.cutoff_ns() => {
                    return Next::End { midway: true };
                }
                Err(Errno::AGAIN) => self.wait(socket, PollFlags::IN, deadline_ns),
                Err(_) => return Next::End { midway: !reader.is_idle() },
            }
        }
    }

    /// Waits for the socket, the deadline, or the stop (and, if that has come, the cutoff).
    fn wait(&self, socket: &Socket, readiness: PollFlags, deadline_ns: u64) {
        let cutoff_ns = self.stop.cutoff_ns();
        let span_ns = deadline_ns.min(cutoff_ns).saturating_sub(monotonic_ns());
        let of_socket = PollFd::new(socket, readiness);
        let mut both = [of_socket, PollFd::new(&*self.stop, PollFlags::IN)];
        // Once raised, the stop would end each wait at once. The one reading of the cutoff decides about both, or
        // a stop in between would be slept through.
        let watched = if cutoff_ns == RUNNING { &mut both[..] } else { &mut both[..1] };
        // An interrupted wait is looked into like any other.
        let _ = poll(watched, Some(&to_timespec(span_ns)));
    }

    /// False when the client did not take it all.
    fn send_all(&self, socket: &mut Socket, bytes: &[u8]) -> bool {
        let deadline_ns = monotonic_ns() + SEND_LIMIT_NS;
        let mut left = bytes;
        while !left.is_empty() {
            match socket.send(left) {
                Ok(count) => left = &left[count..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if monotonic_ns() < deadline_ns.min(self.stop.cutoff_ns()) => {
                    self.wait(socket, PollFlags::OUT, deadline_ns);
                }
                Err(_) => return false,
            }
        }
        true
    }

    fn linger(&self, socket: &mut Socket) {
        socket.finish_sending();
        let deadline_ns = monotonic_ns() + LINGER_LIMIT_NS;
        let mut input = [0; INPUT_BYTES];
        while monotonic_ns() < deadline_ns.min(self.stop.cutoff_ns()) {
            match socket.recv(&mut input[..]) {
                Ok(0) => return,
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.wait(socket, PollFlags::IN, deadline_ns),
                Err(_) => return,
            }
        }
    }
}
