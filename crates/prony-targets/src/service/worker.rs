//! A worker thread: sleep until something comes, then do all that can be done.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use rustix::event::epoll::Event;

use super::connection::{Connection, INPUT_BYTES, Tally, Turn, TurnResult};
use super::{Mailbox, Note, Options, Service, Ticket};
use crate::StartError;
use crate::clock::{SECOND_NS, monotonic_ns};
use crate::counters::{Counters, count};
use crate::listen::{Accepted, Listener};
use crate::poller::{Poller, Woken};
use crate::stop::Stop;

/// Events taken at once, and connections accepted between two polls of the open ones.
const EVENTS_PER_TURN: usize = 256;
const ACCEPTS_PER_TURN: usize = 64;
/// How often to check for connections that have waited too long, at most.
const SWEEP_LIMIT_NS: u64 = SECOND_NS;
const SWEEP_LEAST_NS: u64 = SECOND_NS / 1000;
/// The memory for what is half done on all connections of a worker: 128 bodies of 1 MiB. Beyond it requests are
/// answered 503.
const HELD_LIMIT_BYTES: usize = 128 * 1024 * 1024;

/// The thread's state.
#[derive(Debug)]
pub(crate) struct Worker<S: Service> {
    service: S,
    options: Options,
    poller: Poller<Connection<S::Stream>>,
    mailbox: Option<Arc<Mailbox<S::Outcome>>>,
    notes: Vec<(Ticket, Note<S::Outcome>)>,
    counters: Arc<Counters>,
    stop: Arc<Stop>,
    input: Box<[u8; INPUT_BYTES]>,
    out: Vec<u8>,
    held_bytes: usize,
    now_ns: u64,
    swept_ns: u64,
}

impl<S: Service> Worker<S> {
    pub(crate) fn new(
        service: S,
        options: Options,
        listener: Listener,
        mailbox: Option<Arc<Mailbox<S::Outcome>>>,
        counters: Arc<Counters>,
        stop: Arc<Stop>,
    ) -> Result<Self, StartError> {
        let poller = Poller::new(listener, &stop)?;
        mailbox.as_deref().map_or(Ok(()), |mailbox| poller.watch(mailbox))?;
        Ok(Self {
            service,
            options,
            poller,
            mailbox,
            notes: Vec::new(),
            counters,
            stop,
            input: Box::new([0; INPUT_BYTES]),
            out: Vec::new(),
            held_bytes: 0,
            now_ns: 0,
            swept_ns: 0,
        })
    }

    /// Serves until stopped.
    pub(crate) fn run(mut self) {
        let mut events = Vec::with_capacity(EVENTS_PER_TURN);
        loop {
            let until_cutoff_ns = self.stop.cutoff_ns().saturating_sub(self.now_ns);
            self.poller.wait(&mut events, self.sweep_ns().min(until_cutoff_ns));
            self.now_ns = monotonic_ns();
            for event in &events {
                self.handle(*event);
            }
            self.accept();
            if self.now_ns >= self.swept_ns.saturating_add(self.sweep_ns()) {
                self.sweep();
            }
            self.service.pause();
            if self.poller.is_over() || self.now_ns >= self.stop.cutoff_ns() {
                return self.abandon();
            }
        }
    }

    /// A limit is overstepped by half of itself at most.
    fn sweep_ns(&self) -> u64 {
        let head_timeout_ns = u64::try_from(self.options.head_timeout.as_nanos()).unwrap_or(u64::MAX);
        (head_timeout_ns / 2).clamp(SWEEP_LEAST_NS, SWEEP_LIMIT_NS)
    }

    fn handle(&mut self, event: Event) {
        match self.poller.what(event) {
            Woken::Listener => {}
            Woken::Stop => self.begin_to_end(),
            Woken::Mailbox => self.read_mail(),
            Woken::Slot { slot, readable, hung_up } => {
                let Some(connection) = self.poller.connection(slot) else { return };
                connection.hung_up |= hung_up;
                if readable || connection.waits_for_room() {
                    self.with(slot, Connection::drive);
                }
            }
        }
    }

    fn accept(&mut self) {
        for _ in 0..ACCEPTS_PER_TURN {
            let (service, counters, now_ns) = (&mut self.service, &self.counters, self.now_ns);
            let slot = self.poller.accept(|Accepted { socket, peer }| {
                let number = counters.connections.fetch_add(1, Relaxed);
                service.opened(number, peer);
                Connection::new(socket, number, now_ns)
            });
            let Some(slot) = slot else { return };
            self.with(slot, Connection::drive);
            if !self.poller.watch_slot(slot) {
                self.with(slot, |_, _, _| TurnResult::Broken);
            }
        }
    }

    fn read_mail(&mut self) {
        let Some(mailbox) = &self.mailbox else { return };
        let mut notes = std::mem::take(&mut self.notes);
        mailbox.take(&mut notes);
        for (ticket, note) in notes.drain(..) {
            if matches!(note, Note::Outcome(_)) {
                self.counters.leave();
            }
            if !self.poller.connection(ticket.slot).is_some_and(|connection| connection.is(ticket)) {
                if matches!(note, Note::Outcome(_)) {
                    count(&self.counters.in_vain);
                }
                continue;
            }
            match note {
                Note::Outcome(outcome) => {
                    self.with(ticket.slot, |connection, input, turn| {
                        connection.conclude(outcome, input, turn)
                    });
                }
                Note::Stirred => {
                    self.with(ticket.slot, Connection::drive);
                }
            }
        }
        self.notes = notes;
    }

    /// Has a connection, if there is one, do something, and counts what that came to.
    fn with(
        &mut self,
        slot: usize,
        act: impl FnOnce(&mut Connection<S::Stream>, &mut [u8; INPUT_BYTES], &mut Turn<'_, S>) -> TurnResult,
    ) {
        let stopping = !self.poller.is_listening();
        let Some(connection) = self.poller.connection(slot) else { return };
        let held_before = connection.held_bytes();
        let mut turn = Turn {
            service: &mut self.service,
            options: self.options,
            out: &mut self.out,
            slot,
            now_ns: self.now_ns,
            stopping,
            overloaded: self.held_bytes > HELD_LIMIT_BYTES,
            tally: Tally::default(),
        };
        let result = act(connection, &mut self.input, &mut turn);
        let tally = turn.tally;
        self.held_bytes = self.held_bytes - held_before + connection.held_bytes();
        if tally.answered > 0 {
            self.counters.requests.fetch_add(tally.answered, Relaxed);
        }
        if tally.rejected > 0 {
            self.counters.rejected.fetch_add(tally.rejected, Relaxed);
        }
        if tally.deferred > 0 {
            self.counters.enter();
        }
        if result == TurnResult::Broken {
            count(&self.counters.broken);
        }
        if result != TurnResult::Open
            && let Some(connection) = self.poller.close(slot)
        {
            self.held_bytes -= connection.held_bytes();
        }
    }

    /// Ends what has taken too long.
    fn sweep(&mut self) {
        self.swept_ns = self.now_ns;
        self.poller.accept_anyway();
        for slot in self.poller.slots() {
            self.with(slot, Connection::check_timeout);
        }
    }

    /// The stop: no new connections, and no more than what the open ones have already sent.
    fn begin_to_end(&mut self) {
        self.poller.stop_listening();
        for slot in self.poller.slots() {
            self.with(slot, Connection::drive);
        }
    }

    /// Gives up what is left. Requests whose outcome never came stay in flight in the counters, and that is how
    /// the stop's report knows.
    fn abandon(mut self) {
        for slot in self.poller.slots() {
            if self.poller.close(slot).is_some() {
                count(&self.counters.broken);
            }
        }
    }
}
