//! A worker thread: one edge-triggered epoll loop over its listener and its connections.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

use super::answers::Answers;
use super::connection::{Connection, Fate, INPUT_BYTES, Turn};
use crate::StartError;
use crate::clock::{SECOND_NS, monotonic_ns, to_timespec};
use crate::counters::{Counters, count};
use crate::listen;
use crate::stop::Stop;

/// Tokens of what is no connection; slots are far below.
const LISTENER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;
/// Events taken at once, and connections accepted between two looks at the open ones.
const EVENTS_PER_TURN: usize = 256;
const ACCEPTS_PER_TURN: usize = 64;
/// How long a request may stay half done.
const HALF_DONE_LIMIT_NS: u64 = 10 * SECOND_NS;
/// How often half-done connections are looked through, and a refused accept is tried again.
const SWEEP_NS: u64 = SECOND_NS;

/// The thread's state.
#[derive(Debug)]
pub(super) struct Worker {
    epoll: OwnedFd,
    listener: Option<OwnedFd>,
    /// The listener may have more connections: edge-triggered polling won't say so again.
    accept_again: bool,
    connections: Vec<Option<Connection>>,
    free_slots: Vec<usize>,
    answers: Arc<Answers>,
    counters: Arc<Counters>,
    stop: Arc<Stop>,
    input: Box<[u8; INPUT_BYTES]>,
    now_ns: u64,
    swept_ns: u64,
}

impl Worker {
    pub(super) fn new(
        listener: OwnedFd,
        answers: Arc<Answers>,
        counters: Arc<Counters>,
        stop: Arc<Stop>,
    ) -> Result<Self, StartError> {
        let polled = || {
            let epoll = epoll::create(CreateFlags::CLOEXEC)?;
            epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN | EventFlags::ET)?;
            epoll::add(&epoll, &*stop, EventData::new_u64(STOP), EventFlags::IN | EventFlags::ET)?;
            Ok(epoll)
        };
        let epoll =
            polled().map_err(|errno: Errno| StartError::Resource { what: "epoll", source: errno.into() })?;
        Ok(Self {
            epoll,
            listener: Some(listener),
            accept_again: false,
            connections: Vec::new(),
            free_slots: Vec::new(),
            answers,
            counters,
            stop,
            input: Box::new([0; INPUT_BYTES]),
            now_ns: 0,
            swept_ns: 0,
        })
    }

    /// Serves until stopped.
    pub(super) fn run(mut self) {
        let mut events = Vec::with_capacity(EVENTS_PER_TURN);
        loop {
            events.clear();
            let until_cutoff_ns = self.stop.cutoff_ns().saturating_sub(self.now_ns);
            let timeout = to_timespec(if self.accept_again { 0 } else { SWEEP_NS.min(until_cutoff_ns) });
            // An interrupted wait is one without events.
            let _ = epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&timeout));
            self.now_ns = monotonic_ns();
            for event in &events {
                self.handle(*event);
            }
            if self.accept_again {
                self.accept();
            }
            if self.now_ns >= self.swept_ns.saturating_add(SWEEP_NS) || self.listener.is_none() {
                self.sweep();
            }
            if self.listener.is_none() && self.free_slots.len() == self.connections.len() {
                return;
            }
        }
    }

    fn handle(&mut self, event: Event) {
        match event.data.u64() {
            LISTENER => self.accept_again = true,
            STOP => self.close_idle(),
            slot => {
                let slot = usize::try_from(slot).expect("invariant: tokens are slots");
                let flags = event.flags;
                let until_empty = flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
                self.drive(slot, until_empty);
            }
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
        count(&self.counters.connections);
        self.connections[slot] = Some(Connection::new(socket));
    }

    fn drive(&mut self, slot: usize, until_empty: bool) {
        // An event for a connection that ended earlier in this turn, or for its successor: reading too often
        // does no harm.
        let Some(connection) = &mut self.connections[slot] else { return };
        let expires_ns = self.now_ns + HALF_DONE_LIMIT_NS;
        let mut turn = Turn { answers: &self.answers, input: &mut self.input, answered: 0, expires_ns };
        let fate = connection.drive(&mut turn, until_empty);
        if turn.answered > 0 {
            self.counters.requests.fetch_add(turn.answered, Relaxed);
        }
        match fate {
            Fate::Open => return,
            Fate::Done => {}
            Fate::Broken => count(&self.counters.broken),
            Fate::Rejected => count(&self.counters.rejected),
        }
        self.close(slot);
    }

    /// Closing the socket takes it out of epoll.
    fn close(&mut self, slot: usize) {
        self.connections[slot] = None;
        self.free_slots.push(slot);
    }

    /// Once a second: ends what has been half done for too long.
    fn sweep(&mut self) {
        self.swept_ns = self.now_ns;
        self.accept_again |= self.listener.is_some();
        let cutoff_reached = self.now_ns >= self.stop.cutoff_ns();
        for slot in 0..self.connections.len() {
            let Some(connection) = &self.connections[slot] else { continue };
            let expired = connection.expires_ns().is_some_and(|due_ns| self.now_ns >= due_ns);
            let idle_at_the_end = self.listener.is_none() && connection.is_idle();
            if expired || cutoff_reached {
                count(&self.counters.broken);
            }
            if expired || cutoff_reached || idle_at_the_end {
                self.close(slot);
            }
        }
    }

    /// The stop: no new connections, and no more than what the open ones have already sent.
    fn close_idle(&mut self) {
        self.listener = None;
        self.accept_again = false;
        for slot in 0..self.connections.len() {
            self.drive(slot, true);
        }
    }
}
