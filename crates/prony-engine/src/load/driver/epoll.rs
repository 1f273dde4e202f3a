//! Readiness: the kernel says that something can be done, and the driver does it.
//!
//! Each socket is registered once, edge-triggered, for reading and writing, and never changed: that alone was
//! worth 30 % of the throughput (docs/decisions/003-drivers.md). What can be sent is sent at once.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketAddrAny, connect, recv, send, sockopt};

use super::late_close::LateClose;
use super::outbox::Outbox;
use super::sampling::{DEPARTURES_AT_ONCE, Sampling};
use super::{Carries, Driver, Handler, Io, Setup, Slot, route, tag};
use crate::clock::{self, NEVER, Nanos, Wall};
use crate::load::payload::Payload;
use crate::load::socket;
use crate::sys::{self, TcpInfo};

/// Events delivered between two checks of the pacer and the clock.
const BATCH: usize = 64;
/// One receive buffer for all connections: what is in it is used up before the next receive.
const BUFFER_BYTES: usize = 64 * 1024;
/// Receives from one connection in a row, so that a fast sender can't keep the others waiting.
const RECEIVES_IN_A_ROW: u32 = 16;

/// The driver.
pub(crate) struct Epoll {
    io: EpollIo,
    buffer: Vec<u8>,
    events: Vec<epoll::Event>,
    /// Slots whose socket was not read empty, to go on with.
    unread: VecDeque<(Slot, u32)>,
}

/// Sockets by slot.
pub(crate) struct EpollIo {
    epoll: OwnedFd,
    slots: Box<[Socket]>,
    payload: Payload,
    /// What connections send of their own, by slot; none where all send the same.
    outboxes: Box<[Outbox]>,
    peers: Box<[SocketAddrAny]>,
    sources: Box<[SocketAddrAny]>,
    unpaced: bool,
    sampling: Sampling,
    /// Whether a connection has one request in flight at most, so that no more than one stamp is there at a time.
    one_by_one: bool,
    /// Whether the request that was sent last was picked for stamps.
    sampled: bool,
    /// Connections on which a send failed, with the error: reported at the next poll, because a handler can't be
    /// called from within itself.
    failures: Vec<(Slot, u32, Errno)>,
    late: LateClose,
}

#[derive(Default)]
struct Socket {
    fd: Option<OwnedFd>,
    generation: u32,
    connecting: bool,
    /// Where the next byte to be sent stands in the request.
    position: u32,
    /// Bytes queued and not yet taken by the kernel.
    unsent: u64,
}

impl Driver for Epoll {
    type Io = EpollIo;

    fn new(setup: &Setup) -> io::Result<Self> {
        let mut slots = Vec::new();
        slots.resize_with(setup.slots as usize, Socket::default);
        let io = EpollIo {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            slots: slots.into_boxed_slice(),
            payload: Payload::new(&setup.request, setup.depth),
            outboxes: super::outboxes(setup),
            peers: setup.peers.clone(),
            sources: setup.sources.clone(),
            unpaced: setup.unpaced,
            sampling: Sampling::new(setup.stamps, setup.slots),
            one_by_one: setup.depth == 1,
            sampled: false,
            failures: Vec::with_capacity(setup.slots as usize),
            late: LateClose::default(),
        };
        Ok(Self {
            io,
            buffer: Vec::with_capacity(BUFFER_BYTES),
            events: Vec::with_capacity(BATCH),
            unread: VecDeque::with_capacity(setup.slots as usize),
        })
    }

    fn poll<H: Handler<EpollIo>>(&mut self, handler: &mut H, until: Nanos) -> io::Result<()> {
        self.report_failures(handler);
        self.resume_reading(handler);
        self.io.close_late();
        let until = until.min(self.io.late.next_due());
        let pending = !self.unread.is_empty() || !self.io.failures.is_empty();
        let timeout = match until {
            _ if pending => Some(clock::until(0)),
            NEVER => None,
            moment => Some(clock::until(moment)),
        };
        self.events.clear();
        match epoll::wait(&self.io.epoll, spare_capacity(&mut self.events), timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for index in 0..self.events.len() {
            let event = self.events[index];
            self.deliver(handler, event.data.u64(), event.flags);
        }
        Ok(())
    }

    fn io(&mut self) -> &mut EpollIo {
        &mut self.io
    }
}

impl Epoll {
    fn deliver<H: Handler<EpollIo>>(&mut self, handler: &mut H, data: u64, flags: EventFlags) {
        #[expect(clippy::cast_possible_truncation, reason = "the lower half of a tag is the slot")]
        let slot = data as Slot;
        let socket = &mut self.io.slots[slot as usize];
        if tag(socket.generation, slot) != data || socket.fd.is_none() {
            // Of the connection before, which the server may have closed now.
            if flags.intersects(EventFlags::RDHUP | EventFlags::HUP) {
                drop(self.io.late.take(data));
            }
            return;
        }
        if socket.connecting {
            let failed = flags.intersects(EventFlags::ERR | EventFlags::HUP);
            if !failed && !flags.contains(EventFlags::OUT) {
                return;
            }
            socket.connecting = false;
            let error = if failed { self.io.take_error(slot) } else { None };
            let now = clock::now();
            match error {
                None => {
                    self.io.ask_for_stamps(slot);
                    handler.connected(&mut self.io, slot, now);
                }
                Some(error) => {
                    self.io.close(slot);
                    return handler.connect_failed(slot, error, now);
                }
            }
        } else if flags.contains(EventFlags::OUT)
            && (socket.unsent > 0 || !self.io.outboxes.is_empty())
            && self.io.push_more(slot)
        {
            handler.drained(&mut self.io, slot);
            if self.io.slots[slot as usize].generation != (data >> 32) as u32 {
                return;
            }
        }
        // An error alone may be a stamp in the error queue; a connection that broke hangs up as well.
        let stamped = flags.contains(EventFlags::ERR) && self.departures(handler, slot);
        let ending = flags.intersects(EventFlags::RDHUP | EventFlags::HUP)
            || (flags.contains(EventFlags::ERR) && !stamped);
        if ending || flags.contains(EventFlags::IN) {
            self.read(handler, slot, data, ending);
        }
        if ending {
            // It may have been left to the server, which has closed it already.
            drop(self.io.late.take(data));
        }
    }

    /// Takes stamps of sending off the error queue; false where there are none.
    fn departures<H: Handler<EpollIo>>(&mut self, handler: &mut H, slot: Slot) -> bool {
        let covered = self.io.sampling.covers(slot);
        let Some(fd) = self.io.slots[slot as usize].fd.as_ref().filter(|_| covered) else {
            return false;
        };
        for read in 0..DEPARTURES_AT_ONCE {
            let Some(departure) = sys::departure(fd.as_fd()) else { return read > 0 };
            if handler.departed(slot, departure.key, departure.at) && self.io.one_by_one {
                break;
            }
        }
        true
    }

    /// One receive into the buffer: how many bytes came, and when, if the kernel is asked.
    #[inline]
    fn receive(&mut self, slot: Slot) -> Result<(usize, Wall), Errno> {
        let Some(fd) = &self.io.slots[slot as usize].fd else { return Err(Errno::BADF) };
        self.buffer.clear();
        if self.io.sampling.covers(slot) {
            return sys::receive_stamped(fd.as_fd(), &mut self.buffer);
        }
        recv(fd, spare_capacity(&mut self.buffer), RecvFlags::empty())
            .map(|(_, count)| (count, Wall::UNKNOWN))
    }

    /// Reads what is there. A receive that does not fill the buffer has emptied the socket, unless the peer
    /// has finished, which only one more receive can show.
    fn read<H: Handler<EpollIo>>(&mut self, handler: &mut H, slot: Slot, data: u64, ending: bool) {
        for _ in 0..RECEIVES_IN_A_ROW {
            let socket = &self.io.slots[slot as usize];
            if socket.fd.is_none() || tag(socket.generation, slot) != data {
                return;
            }
            let result = self.receive(slot);
            let now = clock::now();
            match result {
                Ok((0, _)) => return handler.finished(&mut self.io, slot, now),
                Ok((count, arrived)) => {
                    handler.received(&mut self.io, slot, &self.buffer, arrived, now);
                    if count < BUFFER_BYTES && !ending {
                        return;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(error) => return handler.broken(&mut self.io, slot, error, now),
            }
        }
        self.unread.push_back((slot, (data >> 32) as u32));
    }

    fn resume_reading<H: Handler<EpollIo>>(&mut self, handler: &mut H) {
        // Once each: what is still not empty goes to the end of the queue.
        for _ in 0..self.unread.len() {
            let Some((slot, generation)) = self.unread.pop_front() else { return };
            self.read(handler, slot, tag(generation, slot), true);
        }
    }

    fn report_failures<H: Handler<EpollIo>>(&mut self, handler: &mut H) {
        while let Some((slot, generation, error)) = self.io.failures.pop() {
            self.read_last(handler, slot, generation);
            if self.io.slots[slot as usize].generation == generation {
                handler.broken(&mut self.io, slot, error, clock::now());
            }
        }
    }

    /// Reads what the peer sent before a send to it failed: a server that refuses a body (413) answers and
    /// closes without reading it, which resets the connection.
    fn read_last<H: Handler<EpollIo>>(&mut self, handler: &mut H, slot: Slot, generation: u32) {
        for _ in 0..RECEIVES_IN_A_ROW {
            let socket = &self.io.slots[slot as usize];
            if socket.fd.is_none() || socket.generation != generation {
                return;
            }
            match self.receive(slot) {
                Ok((count, arrived)) if count > 0 => {
                    handler.received(&mut self.io, slot, &self.buffer, arrived, clock::now());
                }
                Ok(_) | Err(_) => return,
            }
        }
    }
}

impl Io for EpollIo {
    fn connect(&mut self, slot: Slot, attempt: u64) -> Result<(), Errno> {
        let (peer, source) = route(attempt, self.peers.len(), self.sources.len());
        let (peer, source) = (&self.peers[peer], self.sources.get(source));
        let fd = socket::open(peer, source, self.unpaced)?;
        let connecting = match connect(&fd, peer) {
            // A Unix socket is connected at once; a full backlog there says AGAIN, for which epoll has no event.
            Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => true,
            Err(error) => return Err(error),
        };
        let socket = &mut self.slots[slot as usize];
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(&self.epoll, &fd, EventData::new_u64(tag(socket.generation, slot)), flags)?;
        socket.fd = Some(fd);
        socket.connecting = connecting;
        socket.position = 0;
        socket.unsent = 0;
        Ok(())
    }

    #[inline]
    fn send(&mut self, slot: Slot) -> Option<Nanos> {
        let picked = self.sample(slot);
        let now = clock::now();
        let socket = &mut self.slots[slot as usize];
        let waiting = socket.unsent > 0;
        socket.unsent += self.payload.request_bytes() as u64;
        if !waiting {
            self.push(slot);
        }
        if picked {
            self.ask_for_departures(slot, false);
        }
        Some(now)
    }

    #[inline]
    fn write(&mut self, slot: Slot, bytes: &[u8], carries: Carries) -> Option<Nanos> {
        let picked = carries == Carries::Request && self.sample(slot);
        let now = clock::now();
        let outbox = &mut self.outboxes[slot as usize];
        if outbox.is_empty() {
            let taken = self.send_own(slot, bytes);
            self.outboxes[slot as usize].push(&bytes[taken..]);
        } else {
            outbox.push(bytes);
        }
        if picked {
            self.ask_for_departures(slot, false);
        }
        Some(now)
    }

    fn is_backed_up(&self, slot: Slot) -> bool {
        self.outboxes.get(slot as usize).is_some_and(|outbox| !outbox.is_empty())
    }

    #[inline]
    fn sampled(&self) -> bool {
        self.sampled
    }

    fn close(&mut self, slot: Slot) {
        // Closing also takes the socket out of the epoll set.
        drop(self.vacate(slot));
    }

    fn release(&mut self, slot: Slot, now: Nanos) {
        let tag = tag(self.slots[slot as usize].generation, slot);
        if let Some(fd) = self.vacate(slot) {
            drop(self.late.hold(fd, tag, now));
        }
    }

    fn local_port(&self, slot: Slot) -> u16 {
        self.slots[slot as usize].fd.as_ref().map_or(0, socket::local_port)
    }

    fn tcp_info(&self, slot: Slot) -> Option<TcpInfo> {
        sys::tcp_info(self.slots[slot as usize].fd.as_ref()?.as_fd())
    }
}

impl Socket {
    /// Makes room for the slot's next connection.
    fn vacate(&mut self) -> Option<OwnedFd> {
        let generation = self.generation.wrapping_add(1);
        std::mem::replace(self, Self { generation, ..Self::default() }).fd
    }
}

impl EpollIo {
    /// Makes room for the slot's next connection.
    fn vacate(&mut self, slot: Slot) -> Option<OwnedFd> {
        if let Some(outbox) = self.outboxes.get_mut(slot as usize) {
            outbox.clear();
        }
        self.slots[slot as usize].vacate()
    }

    /// Asks when the next request leaves, if it is one of those that are picked; returns whether it is one of a few.
    #[inline]
    fn sample(&mut self, slot: Slot) -> bool {
        let covered = self.sampling.covers(slot);
        let picked = covered && self.sampling.picks();
        self.sampled = picked || (covered && self.sampling.every());
        if picked {
            self.ask_for_departures(slot, true);
        }
        picked
    }

    /// The socket is writable again: sends what waits. Returns whether the last of a connection's own bytes went with it.
    fn push_more(&mut self, slot: Slot) -> bool {
        if self.outboxes.is_empty() {
            self.push(slot);
            return false;
        }
        if self.outboxes[slot as usize].is_empty() {
            return false;
        }
        let mut outbox = std::mem::take(&mut self.outboxes[slot as usize]);
        let taken = self.send_own(slot, outbox.left());
        outbox.advance(taken);
        let is_empty = outbox.is_empty();
        self.outboxes[slot as usize] = outbox;
        is_empty
    }

    /// Sends as much of `bytes` as the kernel takes; returns how much that is.
    #[inline]
    fn send_own(&mut self, slot: Slot, bytes: &[u8]) -> usize {
        let socket = &self.slots[slot as usize];
        let Some(fd) = socket.fd.as_ref() else { return 0 };
        let mut taken = 0;
        while taken < bytes.len() {
            match send(fd, &bytes[taken..], SendFlags::NOSIGNAL) {
                Ok(count) => taken += count,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => {
                    self.failures.push((slot, socket.generation, error));
                    break;
                }
            }
        }
        taken
    }

    /// Closes what the server had its time for.
    fn close_late(&mut self) {
        if !self.late.is_empty() {
            let now = clock::now();
            while self.late.due(now).is_some() {}
        }
    }

    /// Sends as much as the kernel takes; the rest goes when the socket is writable again.
    #[inline]
    fn push(&mut self, slot: Slot) {
        let socket = &mut self.slots[slot as usize];
        let Some(fd) = socket.fd.as_ref() else { return };
        while socket.unsent > 0 {
            match send(fd, self.payload.piece(socket.position, socket.unsent), SendFlags::NOSIGNAL) {
                Ok(count) => {
                    socket.unsent -= count as u64;
                    socket.position = self.payload.advance(socket.position, count);
                }
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Err(error) => return self.failures.push((slot, socket.generation, error)),
            }
        }
    }

    /// Asks for the stamps that are wanted of every request of a connection, before its first byte.
    fn ask_for_stamps(&self, slot: Slot) {
        if self.sampling.covers(slot) {
            self.ask_for_departures(slot, self.sampling.every());
        }
    }

    /// Where it is refused, there are no stamps, which the counts say.
    #[cold]
    fn ask_for_departures(&self, slot: Slot, departures: bool) {
        if let Some(fd) = &self.slots[slot as usize].fd {
            let _refused = sys::ask_for_stamps(fd.as_fd(), departures);
        }
    }

    fn take_error(&self, slot: Slot) -> Option<Errno> {
        let fd: BorrowedFd<'_> = self.slots[slot as usize].fd.as_ref()?.as_fd();
        match sockopt::socket_error(fd) {
            Ok(Ok(())) => None,
            Ok(Err(error)) | Err(error) => Some(error),
        }
    }
}
