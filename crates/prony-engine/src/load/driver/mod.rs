//! I/O backends: two drivers behind one interface, chosen when a run starts.
//!
//! A driver numbers connections by slot. It owns sockets and nothing else: when to connect, what an answer
//! means and when to give up is the worker's business ([`Handler`]).

mod epoll;
pub(crate) mod late_close;
mod outbox;
mod sampling;
mod uring;

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use prony_model::{DriverChoice, DriverUsed};
use rustix::io::Errno;
use rustix::net::SocketAddrAny;

pub(crate) use epoll::Epoll;
pub(crate) use uring::Uring;

use crate::RunError;
use crate::clock::{Nanos, Wall};
use crate::kernel::kernel_clock::StampSampling;
use crate::sys::TcpInfo;

/// The number of a connection within one worker, from 0.
pub(crate) type Slot = u32;

/// What a driver is made for.
#[derive(Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub(crate) struct Setup {
    /// Connections at most: slots are below this.
    pub slots: u32,
    /// The bytes of one request.
    pub request: Box<[u8]>,
    /// Requests in flight on one connection at most.
    pub depth: u32,
    /// Whether connections carry more than one request.
    pub keep_alive: bool,
    /// Whether requests follow answers, so that moments by the clock matter little.
    pub closed_loop: bool,
    /// Whether packets go out as they are written, whatever the system's congestion control.
    pub unpaced: bool,
    /// Which of the kernel's time stamps are asked for.
    pub stamps: StampSampling,
    /// Where connections go, in turn.
    pub peers: Box<[SocketAddrAny]>,
    /// Where they come from, in turn; empty lets the system choose.
    pub sources: Box<[SocketAddrAny]>,
    /// Whether connections send bytes of their own, by `Io::write`, instead of `request`.
    pub writes: bool,
}

/// The kernel behind a worker.
pub(crate) trait Driver: Sized {
    /// What may be asked for, also while events are being delivered.
    type Io: Io;

    /// Sets up for the calling thread.
    fn new(setup: &Setup) -> io::Result<Self>;

    /// Hands over what is queued, waits until something happens or `until` has come, and delivers at most a
    /// bounded batch of events.
    fn poll<H: Handler<Self::Io>>(&mut self, handler: &mut H, until: Nanos) -> io::Result<()>;

    /// For use between two polls.
    fn io(&mut self) -> &mut Self::Io;
}

/// What bytes of a connection's own are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carries {
    /// One more request, which ends with them; in HTTP/2 perhaps several, or the beginning of a long one.
    Request,
    /// What a protocol needs beside requests: a handshake, new keys, windows.
    Control,
}

/// What a worker asks of the kernel.
pub(crate) trait Io {
    /// Starts to connect `slot`, the `attempt`-th connection of this worker, which picks peer and source.
    /// `Handler::connected` or `Handler::connect_failed` follows.
    fn connect(&mut self, slot: Slot, attempt: u64) -> Result<(), Errno>;

    /// Sends one more request on `slot`. A failure is reported by `Handler::broken`.
    ///
    /// Returns the moment of the sending, or `None` if that comes with the next poll, which then calls
    /// `Handler::flushed`.
    fn send(&mut self, slot: Slot) -> Option<Nanos>;

    /// Sends bytes of `slot`'s own, behind those that it was given before. Otherwise as [`Self::send`].
    fn write(&mut self, slot: Slot, bytes: &[u8], carries: Carries) -> Option<Nanos>;

    /// Whether bytes that [`Self::write`] was given for `slot` still wait; `Handler::drained` follows.
    fn is_backed_up(&self, slot: Slot) -> bool;

    /// Whether the request that was sent last was picked for stamps, before it was sent.
    fn sampled(&self) -> bool;

    /// Closes `slot` at once; no event of it follows.
    fn close(&mut self, slot: Slot);

    /// Gives up `slot`, whose connection the server is about to close, and leaves it to the server to close first; no
    /// event of it follows.
    fn release(&mut self, slot: Slot, now: Nanos);

    /// The local port of `slot`; 0 where there is none, as with a Unix socket.
    fn local_port(&self, slot: Slot) -> u16;

    /// What the kernel says of `slot`'s connection; `None` where there is none, or not of TCP.
    fn tcp_info(&self, slot: Slot) -> Option<TcpInfo>;
}

/// What happens to a worker's connections.
pub(crate) trait Handler<I: Io> {
    /// `slot` is connected.
    fn connected(&mut self, io: &mut I, slot: Slot, now: Nanos);
    /// `slot` could not be connected; it is closed already.
    fn connect_failed(&mut self, slot: Slot, error: Errno, now: Nanos);
    /// Bytes have come; the last of them `arrived` at the kernel at that moment, if it reported so.
    fn received(&mut self, io: &mut I, slot: Slot, bytes: &[u8], arrived: Wall, now: Nanos);
    /// The byte with this number of all that were sent on the connection, from 0 and modulo 2^32, left the kernel at
    /// that moment. Returns whether a request ended with it that is still in flight.
    fn departed(&mut self, slot: Slot, key: u32, at: Wall) -> bool;
    /// The kernel has taken all that was written on the connection.
    fn drained(&mut self, io: &mut I, slot: Slot);
    /// The peer will send no more.
    fn finished(&mut self, io: &mut I, slot: Slot, now: Nanos);
    /// The connection broke.
    fn broken(&mut self, io: &mut I, slot: Slot, error: Errno, now: Nanos);
    /// The requests that were queued on these slots since the last call are on their way.
    fn flushed(&mut self, slots: &[Slot], now: Nanos);
}

/// A queue for each connection that sends bytes of its own.
fn outboxes(setup: &Setup) -> Box<[outbox::Outbox]> {
    let count = if setup.writes { setup.slots } else { 0 };
    (0..count).map(|_| outbox::Outbox::default()).collect()
}

/// Whether `slot`'s event is of the connection that is there now: slots are used again, and the kernel may
/// still belong to the connection before.
#[inline]
fn tag(generation: u32, slot: Slot) -> u64 {
    u64::from(generation) << 32 | u64::from(slot)
}

/// Which of so many `peers` and of so many `sources` the `attempt`-th connection is between: both in turn, and
/// so that each pair comes up, for each has all local ports to itself.
fn route(attempt: u64, peers: usize, sources: usize) -> (usize, usize) {
    let (peers, sources) = (peers.max(1) as u64, sources.max(1) as u64);
    // After as many attempts as their least common multiple the pairs come again: then the sources are shifted,
    // as often as that gives new pairs.
    let common = greatest_common_divisor(peers, sources);
    let shift = attempt / (peers / common * sources) % common;
    let index = |number: u64| usize::try_from(number).expect("invariant: less than a length");
    (index(attempt % peers), index((attempt + shift) % sources))
}

/// Euclid's.
fn greatest_common_divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { greatest_common_divisor(other, one % other) }
}

/// Picks the driver that `choice` asks for; `Auto` takes io_uring where a ring with all that it needs can be
/// made here.
pub(crate) fn pick(choice: DriverChoice) -> Result<DriverUsed, RunError> {
    let used = |name: &str, reason: String| DriverUsed { name: name.to_owned(), reason };
    if choice == DriverChoice::Epoll {
        return Ok(used("epoll", "asked for".to_owned()));
    }
    match (choice, uring::probe()) {
        (DriverChoice::IoUring, Ok(())) => Ok(used("io_uring", "asked for".to_owned())),
        (DriverChoice::IoUring, Err(why)) => Err(RunError::NoUring(why)),
        (_, Ok(())) => Ok(used("io_uring", "this kernel has it".to_owned())),
        (_, Err(why)) => Ok(used("epoll", format!("io_uring can't be used here: {why}"))),
    }
}

/// A network address as the kernel wants it.
pub(crate) fn network_address(address: SocketAddr) -> SocketAddrAny {
    address.into()
}

/// A Unix socket's path as the kernel wants it.
pub(crate) fn unix_address(path: &Path) -> Result<SocketAddrAny, Errno> {
    Ok(rustix::net::SocketAddrUnix::new(path)?.into())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::route;

    /// In a whole round each pair comes up once, and in any part of it each source and peer as often as any
    /// other.
    fn check(peers: usize, sources: usize) {
        let mut pairs = BTreeMap::new();
        let (mut by_peer, mut by_source) = (vec![0; peers], vec![0; sources]);
        for attempt in 0..(peers * sources) as u64 {
            let (peer, source) = route(attempt, peers, sources);
            *pairs.entry((peer, source)).or_insert(0) += 1;
            by_peer[peer] += 1;
            by_source[source] += 1;
            let even = |counts: &[i32]| counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 2;
            assert!(even(&by_peer) && even(&by_source), "{peers} {sources} {attempt}");
        }
        assert_eq!(pairs.len(), peers * sources, "{peers} {sources}");
        assert!(pairs.values().all(|count| *count == 1), "{peers} {sources} {pairs:?}");
    }

    #[test]
    fn each_pair_of_addresses_comes_up() {
        for peers in 1..=6 {
            for sources in 1..=6 {
                check(peers, sources);
            }
        }
        assert_eq!(route(5, 1, 0), (0, 0), "the system chooses the source");
        let sources: Vec<usize> = (0..6).map(|attempt| route(attempt, 1, 2).1).collect();
        assert_eq!(sources, [0, 1, 0, 1, 0, 1], "strictly in turn");
    }
}
