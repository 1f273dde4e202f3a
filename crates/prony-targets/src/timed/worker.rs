//! The loop itself: sleep until something comes or is due, then do that.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use rustix::event::epoll::Event;

use super::connection::{Connection, INPUT_BYTES, Incoming, Phase, Read, Replying, Sent};
use super::stamps::{Arrival, Stamps};
use super::timer::Timer;
use super::{Act, Came, End, Options, TimedHandler};
use crate::StartError;
use crate::clock::monotonic_ns;
use crate::counters::{Counters, count};
use crate::head::Reject;
use crate::listen::Listener;
use crate::poller::{Poller, Woken};
use crate::reader::Request;
use crate::reply::rejection;
use crate::stop::Stop;
use crate::sys;

/// Events taken at once, and connections accepted between two polls of the others. Few, because answers that
/// become due wait for them.
pub(super) const EVENTS_PER_TURN: usize = 64;
pub(super) const ACCEPTS_PER_TURN: usize = 16;
/// Answers between two polls of the sockets: one client that pipelines what is due at once can't keep the others
/// out.
pub(super) const ANSWERS_PER_TURN: usize = 256;

/// A thread of an evented server.
#[derive(Debug)]
pub(crate) struct Worker<S: TimedHandler> {
    pub(super) script: S,
    options: Options,
    pub(super) request_timeout_ns: u64,
    pub(super) poller: Poller<Connection<S::Ticket>>,
    due: Timer,
    pub(super) stamps: Stamps,
    counters: Arc<Counters>,
    stop: Arc<Stop>,
    input: Box<[u8; INPUT_BYTES]>,
    pub(super) swept_ns: u64,
}

impl<S: TimedHandler> Worker<S> {
    pub(crate) fn new(
        script: S,
        options: Options,
        listener: Listener,
        counters: Arc<Counters>,
        stop: Arc<Stop>,
    ) -> Result<Self, StartError> {
        if options.kernel_stamps {
            // Accepted sockets inherit it. Without it arrivals are dated when they are read, and marked so.
            let _ = sys::stamp_arrivals(listener.fd());
        }
        let poller = Poller::new(listener, &stop)?;
        Ok(Self {
            script,
            options,
            request_timeout_ns: u64::try_from(options.request_timeout.as_nanos()).unwrap_or(u64::MAX),
            poller,
            due: Timer::new(u64::try_from(options.spin.as_nanos()).unwrap_or(u64::MAX)),
            stamps: Stamps::new(options.kernel_stamps),
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
            self.accept();
            let now_ns = monotonic_ns();
            if now_ns >= self.swept_ns.saturating_add(self.sweep_ns()) {
                self.sweep(now_ns);
            }
            if self.poller.is_over() || now_ns >= self.stop.cutoff_ns() {
                return self.abandon();
            }
        }
    }

    fn wait(&mut self, events: &mut Vec<Event>) {
        let now_ns = monotonic_ns();
        let sleep_ns = self.sweep_ns().min(self.stop.cutoff_ns().saturating_sub(now_ns));
        self.due.wait(&self.poller, events, now_ns, sleep_ns);
    }

    fn handle(&mut self, event: Event) {
        match self.poller.what(event) {
            Woken::Stop => self.begin_to_end(),
            Woken::Slot { slot, readable, hung_up } => {
                let Some(connection) = self.poller.connection(slot) else { return };
                if hung_up {
                    connection.incoming = Incoming::Last;
                } else if readable {
                    connection.may_have_more();
                }
                self.wake(slot);
            }
            Woken::Listener | Woken::Mailbox => {}
        }
    }

    fn accept(&mut self) {
        for _ in 0..ACCEPTS_PER_TURN {
            let counters = &self.counters;
            let slot = self.poller.accept(|accepted| {
                let number = counters.connections.fetch_add(1, Relaxed);
                Connection::new(accepted, number, monotonic_ns())
            });
            let Some(slot) = slot else { return };
            self.wake(slot);
            self.answer_due();
            if !self.poller.watch_slot(slot) {
                self.give_up(slot);
            }
        }
    }

    /// Something happened on a connection, or may have. An event for one that ended earlier in this turn can
    /// reach its successor, so that every phase must cope with being woken for nothing.
    pub(super) fn wake(&mut self, slot: usize) {
        let Some(connection) = self.poller.connection(slot) else { return };
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
        let Some(connection) = self.poller.connection(slot) else { return };
        match connection.read(&mut self.input, &self.stamps) {
            Read::Request(request, arrival) => self.plan(slot, request, arrival),
            Read::Empty if connection.reader.is_idle() => {
                if !self.poller.is_listening() {
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
        let Some(connection) = self.poller.connection(slot) else { return };
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
            let Some((slot, now_ns)) = self.due.pop() else { return };
            let connection = self.poller.connection(slot).expect("invariant: who waits is open");
            if matches!(connection.phase, Phase::Waiting { .. }) {
                self.answer(slot, now_ns);
            } else {
                self.send_on(slot);
            }
        }
    }

    fn answer(&mut self, slot: usize, now_ns: u64) {
        let stopping = !self.poller.is_listening();
        let connection = self.poller.connection(slot).expect("invariant: who waits is open");
        let Phase::Waiting { ticket, close } = std::mem::replace(&mut connection.phase, Phase::Reading)
        else {
            return;
        };
        let close = close || stopping;
        connection.out.clear();
        let act = self.script.answer(&ticket, now_ns, close, &mut connection.out);
        if act == Act::Reset {
            connection.socket.reset_on_close();
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
        let Some(connection) = self.poller.connection(slot) else { return };
        let Phase::Replying(replying) = &mut connection.phase else { return };
        match replying.send(&mut connection.socket, &connection.out) {
            Sent::Blocked => {}
            Sent::Piece => self.due.push(monotonic_ns() + replying.every_ns, slot),
            sent @ (Sent::All | Sent::Failed) => self.finish(slot, sent == Sent::All),
        }
    }

    fn finish(&mut self, slot: usize, delivered: bool) {
        let connection = self.poller.connection(slot).expect("invariant: it was just sent to");
        let Phase::Replying(replying) = std::mem::replace(&mut connection.phase, Phase::Reading) else {
            return;
        };
        let end = replying.end(delivered);
        connection.since_ns = end.last_ns;
        connection.served = true;
        connection.midway = false;
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
        let Some(connection) = self.poller.connection(slot) else { return };
        // A fresh reply of 200 bytes fits the socket's buffer unless the client doesn't read; then it is lost.
        let _ = connection.socket.send(&rejection(reject));
        connection.socket.finish_sending();
        connection.phase = Phase::Lingering;
        connection.since_ns = monotonic_ns();
        self.wake(slot);
    }

    /// The kernel can't watch it: the reply that is under way, if there is one, is its last.
    fn give_up(&mut self, slot: usize) {
        let Some(connection) = self.poller.connection(slot) else { return };
        match &mut connection.phase {
            Phase::Waiting { close, .. } => *close = true,
            Phase::Replying(replying) if replying.blocked => self.finish(slot, false),
            Phase::Replying(replying) => replying.close = true,
            Phase::Reading | Phase::Lingering => self.close(slot),
        }
    }

    pub(super) fn close(&mut self, slot: usize) {
        self.poller.close(slot);
    }
}
