//! Completions: what is to be done is queued, and the kernel says when it is done.
//!
//! One call into the kernel hands over everything queued and takes everything finished. Receives are armed
//! once per connection (multishot) and fill buffers of a shared ring; sends complete silently unless they fail.
//!
//! One file: what a completion means depends on all that may be under way on its socket, and stands beside it.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::io::Errno;
use rustix::net::SocketAddrAny;

use super::late_close::LateClose;
use super::outbox::Outbox;
use super::sampling::{DEPARTURES_AT_ONCE, Sampling};
use super::{Carries, Driver, Handler, Io, Setup, Slot, route};
use crate::clock::{self, Nanos, Wall};
use crate::load::payload::Payload;
use crate::load::socket;
use crate::sys::{self, BATCH, BufferGroups, Completion, Receive, Ring, RingSetup, TcpInfo};

/// Requests up to this size are sent without waiting to hear that they went: the answer shows it. The socket's
/// buffer is empty when the next one is sent, so that it is taken whole (the least default send buffer of
/// Linux is 16 KiB; net.ipv4.tcp_wmem).
const SILENT_MAX_BYTES: usize = 8 * 1024;

/// Early hand-overs in one turn whose moments are kept apart.
const EARLY_MAX: usize = 16;

/// The driver. The ring is dropped before the buffers that the kernel writes to.
pub(crate) struct Uring {
    io: UringIo,
    buffers: BufferGroups,
    batch: Vec<Completion>,
}

/// Sockets by slot, and the ring.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a setting of its own or a fact about the last request"
)]
pub(crate) struct UringIo {
    ring: Ring,
    slots: Box<[Socket]>,
    /// Slots with requests queued since the last poll.
    queued: Vec<Slot>,
    /// How many of them were handed over early, and when.
    early: Vec<(usize, Nanos)>,
    payload: Payload,
    /// What connections send of their own behind what is under way, by slot; none where all send the same.
    outboxes: Box<[Outbox]>,
    peers: Box<[SocketAddrAny]>,
    sources: Box<[SocketAddrAny]>,
    unpaced: bool,
    multishot: bool,
    silent: bool,
    sampling: Sampling,
    /// Whether the request that was sent last was picked for stamps.
    sampled: bool,
    late: LateClose,
}

#[derive(Default)]
struct Socket {
    fd: Option<OwnedFd>,
    /// 24 bits of it go into each request.
    generation: u32,
    connecting: bool,
    receiving: bool,
    sending: bool,
    /// Requests that the kernel was asked about since its stamps were taken.
    sampled: u32,
    /// Where the next byte to be sent stands in the request.
    position: u32,
    /// Bytes not yet taken by the kernel, where sends report.
    unsent: u64,
}

/// What a completion is of: the top byte of its number.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    Ignored = 0,
    Connect = 1,
    Receive = 2,
    Send = 3,
    Tick = 4,
}

/// The number of a request: kind, generation, slot.
#[inline]
fn number(kind: Kind, generation: u32, slot: Slot) -> u64 {
    (kind as u64) << 56 | u64::from(generation & 0xff_ffff) << 32 | u64::from(slot)
}

/// Says whether this kernel has, and lets us use, all that this driver needs; if not, why.
pub(crate) fn probe() -> Result<(), String> {
    let setup = RingSetup {
        connections: 1,
        payload: Box::new([]),
        writes: false,
        peers: Box::new([]),
        long_lived: true,
        stamped: 0,
    };
    match Ring::new(setup) {
        Ok((ring, buffers)) => {
            drop(ring);
            drop(buffers);
            Ok(())
        }
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            Err("this kernel is older than 6.1, which it needs".to_owned())
        }
        Err(error) => Err(error.to_string()),
    }
}

impl Driver for Uring {
    type Io = UringIo;

    fn new(setup: &Setup) -> io::Result<Self> {
        let payload = Payload::new(&setup.request, setup.depth);
        let sampling = Sampling::new(setup.stamps, setup.slots);
        let (mut ring, buffers) = Ring::new(RingSetup {
            connections: setup.slots,
            payload: payload.bytes().into(),
            writes: setup.writes,
            peers: setup.peers.clone(),
            long_lived: setup.keep_alive,
            stamped: sampling.sampled_slots(setup.slots),
        })?;
        if setup.closed_loop {
            ring.start_ticker(number(Kind::Tick, 0, 0));
        }
        let mut slots = Vec::new();
        slots.resize_with(setup.slots as usize, Socket::default);
        let silent = setup.depth == 1 && payload.request_bytes() <= SILENT_MAX_BYTES && !setup.writes;
        let io = UringIo {
            ring,
            slots: slots.into_boxed_slice(),
            queued: Vec::with_capacity(setup.slots as usize * setup.depth as usize),
            early: Vec::with_capacity(EARLY_MAX),
            payload,
            outboxes: super::outboxes(setup),
            peers: setup.peers.clone(),
            sources: setup.sources.clone(),
            unpaced: setup.unpaced,
            multishot: setup.keep_alive,
            silent,
            sampling,
            sampled: false,
            late: LateClose::default(),
        };
        Ok(Self { io, buffers, batch: Vec::with_capacity(BATCH) })
    }

    fn poll<H: Handler<UringIo>>(&mut self, handler: &mut H, until: Nanos) -> io::Result<()> {
        self.io.close_late();
        self.io.stamp(handler);
        self.io.ring.enter(until.min(self.io.late.next_due()))?;
        self.io.ring.completions(&mut self.batch);
        for index in 0..self.batch.len() {
            let completion = self.batch[index];
            self.deliver(handler, completion);
        }
        Ok(())
    }

    fn io(&mut self) -> &mut UringIo {
        &mut self.io
    }
}

impl Uring {
    #[inline]
    fn deliver<H: Handler<UringIo>>(&mut self, handler: &mut H, completion: Completion) {
        #[expect(clippy::cast_possible_truncation, reason = "the lower half of a number is the slot")]
        let slot = completion.user_data as Slot;
        let kind = completion.user_data >> 56;
        let generation = self.io.slots.get(slot as usize).map_or(0, |socket| socket.generation);
        let current = |kind: Kind| completion.user_data == number(kind, generation, slot);
        if kind == Kind::Receive as u64 {
            if current(Kind::Receive) {
                self.received(handler, slot, completion);
            }
            // Also of the connection before: its buffer goes back all the same.
            if let Some(buffer) = completion.buffer {
                let length = usize::try_from(completion.result).unwrap_or_default();
                let buffers = self.buffers.of(self.io.sampling.covers(slot));
                buffers.release(buffer, length, completion.buffer_more);
            }
        } else if kind == Kind::Send as u64 {
            self.io.send_completed(handler, slot, completion);
        } else if current(Kind::Connect) {
            self.io.connected(handler, slot, completion.result);
        } else if kind == Kind::Tick as u64 {
            self.io.ring.ticked(completion.more);
        }
    }

    #[inline]
    fn received<H: Handler<UringIo>>(&mut self, handler: &mut H, slot: Slot, completion: Completion) {
        let generation = self.io.slots[slot as usize].generation;
        self.io.slots[slot as usize].receiving = completion.more;
        // Before the stamps are taken off the error queue, which is a system call: the answer is here already.
        let now = clock::now();
        if self.io.slots[slot as usize].sampled > 0 {
            self.io.departures(handler, slot);
        }
        let mut finished = completion.result == 0;
        match (usize::try_from(completion.result), completion.buffer) {
            (Ok(0), _) => handler.finished(&mut self.io, slot, now),
            (Ok(count), Some(buffer)) => {
                let stamped = self.io.sampling.covers(slot);
                let bytes = self.buffers.of(stamped).bytes(buffer, count);
                let (bytes, arrived) = if stamped { sys::received(bytes) } else { (bytes, Wall::UNKNOWN) };
                finished = bytes.is_empty();
                if finished {
                    handler.finished(&mut self.io, slot, now);
                } else {
                    handler.received(&mut self.io, slot, bytes, arrived, now);
                }
            }
            _ => match Errno::from_raw_os_error(-completion.result) {
                // No buffer was free, which passes: armed again below.
                Errno::NOBUFS | Errno::INTR | Errno::AGAIN => {}
                error => handler.broken(&mut self.io, slot, error, now),
            },
        }
        let socket = &self.io.slots[slot as usize];
        if !completion.more && !finished && socket.generation == generation && socket.fd.is_some() {
            self.io.receive(slot);
        }
    }
}

impl Io for UringIo {
    fn connect(&mut self, slot: Slot, attempt: u64) -> Result<(), Errno> {
        let (peer, source) = route(attempt, self.peers.len(), self.sources.len());
        let fd = socket::open(&self.peers[peer], self.sources.get(source), self.unpaced)?;
        if let Err(error) = self.ring.register(slot, fd.as_fd()) {
            return Err(Errno::from_io_error(&error).unwrap_or(Errno::MFILE));
        }
        let socket = &mut self.slots[slot as usize];
        self.ring.connect(fd.as_fd(), peer, number(Kind::Connect, socket.generation, slot));
        *socket =
            Socket { fd: Some(fd), generation: socket.generation, connecting: true, ..Socket::default() };
        Ok(())
    }

    #[inline]
    fn send(&mut self, slot: Slot) -> Option<Nanos> {
        self.note_early();
        self.sample(slot);
        let socket = &mut self.slots[slot as usize];
        let length = self.payload.request_bytes();
        if self.silent {
            if let Some(fd) = &socket.fd {
                let to = sys::Socket { slot, fd: fd.as_fd() };
                self.ring.send(to, 0, length, number(Kind::Send, socket.generation, slot), false);
            }
        } else {
            socket.unsent += length as u64;
            self.push(slot);
        }
        if !self.slots[slot as usize].receiving {
            self.receive(slot);
        }
        self.note_early();
        self.queued.push(slot);
        None
    }

    #[inline]
    fn write(&mut self, slot: Slot, bytes: &[u8], carries: Carries) -> Option<Nanos> {
        self.note_early();
        if carries == Carries::Request {
            self.sample(slot);
        }
        let socket = &mut self.slots[slot as usize];
        if socket.sending {
            self.outboxes[slot as usize].push(bytes);
        } else if let Some(fd) = &socket.fd {
            socket.sending = true;
            socket.position = 0;
            let to = sys::Socket { slot, fd: fd.as_fd() };
            self.ring.write(to, bytes, number(Kind::Send, socket.generation, slot));
        }
        if !self.slots[slot as usize].receiving {
            self.receive(slot);
        }
        self.note_early();
        if carries == Carries::Request {
            self.queued.push(slot);
        }
        None
    }

    fn is_backed_up(&self, slot: Slot) -> bool {
        self.slots[slot as usize].sending
    }

    #[inline]
    fn sampled(&self) -> bool {
        self.sampled
    }

    fn close(&mut self, slot: Slot) {
        if let Some(fd) = self.vacate(slot) {
            self.ring.close(fd, number(Kind::Ignored, 0, 0));
        }
    }

    fn release(&mut self, slot: Slot, now: Nanos) {
        // Nothing is heard of a socket that no request is under way on, so that none is known by its tag.
        if let Some(oldest) = self.vacate(slot).and_then(|fd| self.late.hold(fd, 0, now)) {
            self.ring.close(oldest, number(Kind::Ignored, 0, 0));
        }
    }

    fn local_port(&self, slot: Slot) -> u16 {
        self.slots[slot as usize].fd.as_ref().map_or(0, socket::local_port)
    }

    fn tcp_info(&self, slot: Slot) -> Option<TcpInfo> {
        sys::tcp_info(self.slots[slot as usize].fd.as_ref()?.as_fd())
    }
}

impl UringIo {
    /// Makes room for the slot's next connection.
    fn vacate(&mut self, slot: Slot) -> Option<OwnedFd> {
        let socket = &mut self.slots[slot as usize];
        let fd = socket.fd.take()?;
        // A request under way holds the socket open, so that each must be cancelled.
        let generation = socket.generation;
        let pending = [
            (socket.connecting, Kind::Connect),
            (socket.receiving, Kind::Receive),
            (socket.sending, Kind::Send),
        ];
        for (_, kind) in pending.into_iter().filter(|(pending, _)| *pending) {
            self.ring.cancel(number(kind, generation, slot), number(Kind::Ignored, 0, 0));
        }
        self.ring.unregister(slot);
        if let Some(outbox) = self.outboxes.get_mut(slot as usize) {
            outbox.clear();
        }
        *socket = Socket { generation: generation.wrapping_add(1) & 0xff_ffff, ..Socket::default() };
        Some(fd)
    }

    /// Closes what the server had its time for.
    fn close_late(&mut self) {
        if !self.late.is_empty() {
            let now = clock::now();
            while let Some(fd) = self.late.due(now) {
                self.ring.close(fd, number(Kind::Ignored, 0, 0));
            }
        }
    }

    /// Reports when the queued requests were sent: before the call that sends them, never after.
    fn stamp<H: Handler<Self>>(&mut self, handler: &mut H) {
        self.note_early();
        let mut stamped = 0;
        for (until, moment) in self.early.drain(..) {
            handler.flushed(&self.queued[stamped..until], moment);
            stamped = until;
        }
        if stamped < self.queued.len() {
            // The kernel sends within the next call, one after the other.
            handler.flushed(&self.queued[stamped..], clock::now());
        }
        self.queued.clear();
    }

    /// Keeps the moment of an early hand-over with the requests that went with it.
    #[inline]
    fn note_early(&mut self) {
        let Some(moment) = self.ring.handed_over() else { return };
        let full = self.early.len() == EARLY_MAX;
        match self.early.last_mut().filter(|_| full) {
            // So many in one turn are counted with the last one: sent a little earlier than they were.
            Some(last) => last.0 = self.queued.len(),
            None => self.early.push((self.queued.len(), moment)),
        }
    }

    /// Asks when the next request leaves, if it is one of those that are sampled.
    #[inline]
    fn sample(&mut self, slot: Slot) {
        self.sampled = false;
        if !self.sampling.covers(slot) {
            return;
        }
        let picked = self.sampling.picks();
        if picked {
            self.ask_for_departures(slot, true);
        }
        self.sampled = picked || self.sampling.every();
        if self.sampled {
            let sampled = &mut self.slots[slot as usize].sampled;
            *sampled = sampled.saturating_add(1);
        }
    }

    /// Where it is refused, there are no stamps, which the counts say.
    #[cold]
    fn ask_for_departures(&self, slot: Slot, departures: bool) {
        if let Some(fd) = &self.slots[slot as usize].fd {
            let _refused = sys::ask_for_stamps(fd.as_fd(), departures);
        }
    }

    /// Takes stamps of sending off the error queue. The ring could report each by a completion, for which all its
    /// completions would have to be twice as long; and a stamp is needed when the answer is there, not before.
    #[cold]
    fn departures<H: Handler<Self>>(&mut self, handler: &mut H, slot: Slot) {
        let socket = &mut self.slots[slot as usize];
        socket.sampled = 0;
        let Some(fd) = &socket.fd else { return };
        for _ in 0..DEPARTURES_AT_ONCE {
            let Some(departure) = sys::departure(fd.as_fd()) else { break };
            // One request in flight has one stamp.
            if handler.departed(slot, departure.key, departure.at) && self.silent {
                break;
            }
        }
        if !self.sampling.every() {
            self.ask_for_departures(slot, false);
        }
    }

    fn connected<H: Handler<Self>>(&mut self, handler: &mut H, slot: Slot, result: i32) {
        self.slots[slot as usize].connecting = false;
        let now = clock::now();
        if result < 0 {
            self.close(slot);
            handler.connect_failed(slot, Errno::from_raw_os_error(-result), now);
        } else {
            if self.sampling.covers(slot) {
                self.ask_for_departures(slot, self.sampling.every());
            }
            if self.multishot {
                self.receive(slot);
            }
            handler.connected(self, slot, now);
        }
    }

    /// A send has completed, of the connection that is there or of one before.
    #[inline]
    fn send_completed<H: Handler<Self>>(&mut self, handler: &mut H, slot: Slot, completion: Completion) {
        let writes = !self.outboxes.is_empty();
        // Also of the connection before: its memory comes back all the same.
        let length = if writes { self.ring.given_back(slot, completion.user_data) } else { 0 };
        if completion.user_data != number(Kind::Send, self.slots[slot as usize].generation, slot) {
            return;
        }
        if writes && completion.result >= 0 {
            self.wrote(slot, length, completion.result);
            if !self.slots[slot as usize].sending {
                handler.drained(self, slot);
            }
        } else {
            self.sent(handler, slot, completion.result);
        }
    }

    /// The kernel took so many bytes of a connection's own: goes on with the rest, or with what waits behind them.
    fn wrote(&mut self, slot: Slot, length: usize, taken: i32) {
        let socket = &mut self.slots[slot as usize];
        let Some(fd) = &socket.fd else { return };
        let to = sys::Socket { slot, fd: fd.as_fd() };
        let number = number(Kind::Send, socket.generation, slot);
        socket.position += u32::try_from(taken).expect("invariant: it is no error");
        let outbox = &mut self.outboxes[slot as usize];
        if (socket.position as usize) < length {
            self.ring.write_rest(to, socket.position as usize, number);
        } else if outbox.is_empty() {
            socket.sending = false;
        } else {
            socket.position = 0;
            self.ring.write(to, outbox.left(), number);
            outbox.clear();
        }
    }

    fn sent<H: Handler<Self>>(&mut self, handler: &mut H, slot: Slot, result: i32) {
        let Ok(count) = usize::try_from(result) else {
            return handler.broken(self, slot, Errno::from_raw_os_error(-result), clock::now());
        };
        if !self.silent {
            let socket = &mut self.slots[slot as usize];
            socket.sending = false;
            socket.unsent -= count as u64;
            socket.position = self.payload.advance(socket.position, count);
            self.push(slot);
        }
    }

    /// Queues the next piece, if there is one and none is under way: two at once could overtake each other.
    fn push(&mut self, slot: Slot) {
        let socket = &mut self.slots[slot as usize];
        let Some(fd) = socket.fd.as_ref().filter(|_| !socket.sending && socket.unsent > 0) else { return };
        let (start, length) = self.payload.span(socket.position, socket.unsent);
        socket.sending = true;
        let to = sys::Socket { slot, fd: fd.as_fd() };
        self.ring.send(to, start, length, number(Kind::Send, socket.generation, slot), true);
    }

    fn receive(&mut self, slot: Slot) {
        let socket = &mut self.slots[slot as usize];
        let Some(fd) = &socket.fd else { return };
        let from = sys::Socket { slot, fd: fd.as_fd() };
        let how = match (self.multishot, self.sampling.covers(slot)) {
            (true, true) => Receive::Stamped,
            (true, false) => Receive::Again,
            (false, _) => Receive::Once,
        };
        self.ring.receive(from, number(Kind::Receive, socket.generation, slot), how);
        socket.receiving = true;
    }
}
