//! The loop itself: sleep until something comes or is due, then do that.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{Shutdown, send, shutdown, sockopt};

use super::connection::{Connection, INPUT_BYTES, Phase, Read, Replying, Sent};
use super::due::DueTimes;
use super::spin::SpinBudget;
use super::stamps::{Arrival, Stamps};
use super::{Act, Came, End, Options, Script};
use crate::StartError;
use crate::clock::{monotonic_ns, to_timespec};
use crate::counters::{Counters, count};
use crate::head::Reject;
use crate::listen;
use crate::reader::Request;
use crate::reply::rejection;
use crate::stop::Stop;
use crate::sys;

/// Tokens of what is no connection; slots are far below.
const LISTENER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;
/// Events taken at once, and connections accepted between two looks at the others. Few, because answers that
/// become due wait for them.
const EVENTS_PER_TURN: usize = 64;
const ACCEPTS_PER_TURN: usize = 16;
/// Answers between two looks at the sockets: one client that pipelines what is due at once can't keep the others
/// out.
const ANSWERS_PER_TURN: usize = 256;
/// A thread of an evented server.
#[derive(Debug)]
pub(crate) struct Worker<S: Script> {
    pub(super) script: S,
    options: Options,
    pub(super) request_timeout_ns: u64,
    spin_ns: u64,
    epoll: OwnedFd,
    pub(super) listener: Option<OwnedFd>,
    /// The listener may have more connections: edge-triggered polling won't say so again.
    pub(super) accept_again: bool,
    pub(super) connections: Vec<Option<Connection<S::Ticket>>>,
    free_slots: Vec<usize>,
    due: DueTimes,
    spin: SpinBudget,
    pub(super) stamps: Stamps,
    counters: Arc<Counters>,
    stop: Arc<Stop>,
    input: Box<[u8; INPUT_BYTES]>,
    pub(super) swept_ns: u64,
}

impl<S: Script> Worker<S> {
    pub(crate) fn new(
        script: S,
        options: Options,
        listener: OwnedFd,
        counters: Arc<Counters>,
        stop: Arc<Stop>,
    ) -> Result<Self, StartError> {
        if options.kernel_stamps {
            // Accepted sockets inherit it. Without it arrivals are dated when they are read, and marked so.
            let _ = sys::stamp_arrivals(&listener);
        }
        let polled = || {
            let epoll = epoll::create(CreateFlags::CLOEXEC)?;
            epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN | EventFlags::ET)?;
            epoll::add(&epoll, &*stop, EventData::new_u64(STOP), EventFlags::IN | EventFlags::ET)?;
            Ok(epoll)
        };
        let epoll =
            polled().map_err(|errno: Errno| StartError::Resource { what: "epoll", source: errno.into() })?;
        Ok(Self {
            script,
            options,
            request_timeout_ns: u64::try_from(options.request_timeout.as_nanos()).unwrap_or(u64::MAX),
            spin_ns: u64::try_from(options.spin.as_nanos()).unwrap_or(u64::MAX),
            epoll,
            listener: Some(listener),
            accept_again: false,
            connections: Vec::new(),
            free_slots: Vec::new(),
            due: DueTimes::default(),
            spin: SpinBudget::default(),
            stamps: Stamps::new(),
            counters,
            stop,
            input: Box::new([0; INPUT_BYTES]),
            swept_ns: 0,
        })
    }

    /// Serves until stopped.
    pub(crate) fn run(mut self) {
        crate::clock::wake_exactly();
        let mut events = Vec::with_capacity(EVENTS_PER_TURN);
        loop {
            self.wait(&mut events);
            self.answer_due();
            for event in &events {
                self.handle(*event);
                self.answer_due();
            }
            if self.accept_again {
                self.accept();
            }
            let now_ns = monotonic_ns();
            if now_ns >= self.swept_ns.saturating_add(self.sweep_ns()) {
                self.sweep(now_ns);
            }
            let ended = self.listener.is_none() && self.free_slots.len() == self.connections.len();
            if ended || now_ns >= self.stop.cutoff_ns() {
                return self.abandon();
            }
        }
    }

    /// Sleeps until something comes or is due. Close to a due time it watches the clock instead, if it may, and
    /// then comes back without events: what is due goes first.
    fn wait(&mut self, events: &mut Vec<Event>) {
        events.clear();
        let now_ns = monotonic_ns();
        let mut sleep_ns = self.sweep_ns().min(self.stop.cutoff_ns().saturating_sub(now_ns));
        if let Some(due_ns) = self.due.next_ns() {
            let left_ns = due_ns.saturating_sub(now_ns);
            let spin_ns = self.spin_ns.min(self.spin.left_ns(now_ns)).min(left_ns);
            if (1..=spin_ns).contains(&left_ns) {
                self.spin.spend(left_ns);
                while monotonic_ns() < due_ns {
                    std::hint::spin_loop();
                }
                return;
            }
            sleep_ns = sleep_ns.min(left_ns - spin_ns);
        }
        if self.accept_again {
            sleep_ns = 0;
        }
        // An interrupted wait is one without events.
        let _ = epoll::wait(&self.epoll, spare_capacity(events), Some(&to_timespec(sleep_ns)));
    }

    fn handle(&mut self, event: Event) {
        match event.data.u64() {
            LISTENER => self.accept_again = true,
            STOP => self.begin_to_end(),
            slot => self.wake(usize::try_from(slot).expect("invariant: tokens are slots")),
        }
    }

    fn accept(&mut self) {
        self.accept_again = false;
        for _ in 0..ACCEPTS_PER_TURN {
            let Some(socket) = self.listener.as_ref().and_then(listen::accept) else { return };
            self.open(socket);
        }
        self.accept_again = true;
    }

    fn open(&mut self, socket: OwnedFd) {
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        let interest = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        if epoll::add(&self.epoll, &socket, EventData::new_u64(slot as u64), interest).is_err() {
            // Out of kernel memory or watches: as if it had not been accepted.
            self.free_slots.push(slot);
            return;
        }
        let number = self.counters.connections.fetch_add(1, Relaxed);
        self.connections[slot] = Some(Connection::new(socket, number, monotonic_ns()));
    }

    /// Something happened on a connection, or may have. An event for one that ended earlier in this turn can
    /// reach its successor, so that every phase must bear being woken for nothing.
    pub(super) fn wake(&mut self, slot: usize) {
        let Some(connection) = &mut self.connections[slot] else { return };
        match &connection.phase {
            Phase::Reading => self.read(slot),
            Phase::Replying(replying) if replying.blocked => self.send_on(slot),
            Phase::Waiting { .. } | Phase::Replying(_) => {}
            Phase::Lingering => {
                if !connection.discard(&mut self.input) {
                    self.close(slot);
                }
            }
        }
    }

    fn read(&mut self, slot: usize) {
        let Some(connection) = &mut self.connections[slot] else { return };
        match connection.read(&mut self.input, &mut self.stamps) {
            Read::Request(request, arrival) => self.plan(slot, request, arrival),
            Read::Empty if connection.reader.is_idle() => {
                if self.listener.is_none() {
                    self.close(slot);
                }
            }
            Read::Empty => {
                if !std::mem::replace(&mut connection.midway, true) {
                    connection.since_ns = monotonic_ns();
                }
            }
            Read::Reject(reject) => self.reject(slot, reject),
            Read::Gone { midway } => {
                if midway {
                    count(&self.counters.broken);
                }
                self.close(slot);
            }
        }
    }

    fn plan(&mut self, slot: usize, request: Request, arrival: Arrival) {
        let Some(connection) = &mut self.connections[slot] else { return };
        self.counters.enter();
        let close = !(request.keep_alive && self.options.keep_alive);
        let Arrival { at_ns: arrival_ns, read_ns, stamped, clock_moved } = arrival;
        let came = Came {
            connection: connection.number,
            peer_port: connection.peer_port,
            arrival_ns,
            read_ns,
            stamped,
            clock_moved,
        };
        let (due_ns, ticket) = self.script.plan(request, came);
        connection.phase = Phase::Waiting { ticket, close };
        self.due.push(due_ns, slot);
    }

    fn answer_due(&mut self) {
        for _ in 0..ANSWERS_PER_TURN {
            let Some(slot) = self.due.pop(monotonic_ns()) else { return };
            let connection = self.connections[slot].as_mut().expect("invariant: who waits is open");
            if matches!(connection.phase, Phase::Waiting { .. }) {
                self.answer(slot);
            } else {
                self.send_on(slot);
            }
        }
    }

    fn answer(&mut self, slot: usize) {
        let connection = self.connections[slot].as_mut().expect("invariant: who waits is open");
        let Phase::Waiting { ticket, close } = std::mem::replace(&mut connection.phase, Phase::Reading)
        else {
            return;
        };
        let close = close || self.listener.is_none();
        connection.out.clear();
        let now_ns = monotonic_ns();
        let act = self.script.answer(&ticket, now_ns, close, &mut connection.out);
        if act == Act::Reset {
            // A linger time of zero makes closing a reset.
            let _ = sockopt::set_socket_linger(&connection.socket, Some(std::time::Duration::ZERO));
            self.close(slot);
            self.over(ticket, End { first_ns: now_ns, last_ns: now_ns, delivered: true });
            return;
        }
        let replying = Replying::new(ticket, close, act, connection.out.len());
        connection.phase = Phase::Replying(replying);
        self.send_on(slot);
    }

    /// Sends the next piece of a reply, or the rest of one.
    fn send_on(&mut self, slot: usize) {
        let Some(connection) = &mut self.connections[slot] else { return };
        let Phase::Replying(replying) = &mut connection.phase else { return };
        match replying.send(&connection.socket, &connection.out) {
            Sent::Blocked => {}
            Sent::Piece => self.due.push(monotonic_ns() + replying.every_ns, slot),
            sent @ (Sent::All | Sent::Failed) => self.finish(slot, sent == Sent::All),
        }
    }

    fn finish(&mut self, slot: usize, delivered: bool) {
        let connection = self.connections[slot].as_mut().expect("invariant: it was just sent to");
        let Phase::Replying(replying) = std::mem::replace(&mut connection.phase, Phase::Reading) else {
            return;
        };
        connection.since_ns = monotonic_ns();
        connection.served = true;
        connection.midway = false;
        let end = replying.end(delivered);
        self.over(replying.ticket, end);
        if replying.close || !delivered {
            self.close(slot);
        } else {
            // The next request may be here already, and its event spent.
            self.read(slot);
        }
    }

    fn over(&mut self, ticket: S::Ticket, end: End) {
        self.counters.leave();
        count(if end.delivered { &self.counters.requests } else { &self.counters.broken });
        self.script.over(ticket, end);
    }

    pub(super) fn reject(&mut self, slot: usize, reject: Reject) {
        count(&self.counters.rejected);
        let Some(connection) = &mut self.connections[slot] else { return };
        // A fresh reply of 200 bytes fits the socket's buffer unless the client doesn't read; then it is lost.
        let _ = send(&connection.socket, &rejection(reject), rustix::net::SendFlags::NOSIGNAL);
        let _ = shutdown(&connection.socket, Shutdown::Write);
        connection.phase = Phase::Lingering;
        connection.since_ns = monotonic_ns();
        self.wake(slot);
    }

    /// Closing the socket takes it out of epoll.
    pub(super) fn close(&mut self, slot: usize) {
        self.connections[slot] = None;
        self.free_slots.push(slot);
    }
}
