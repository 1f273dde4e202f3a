//! A worker thread: one edge-triggered epoll loop over its listener and its connections.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use rustix::event::epoll::Event;

use super::answers::Answers;
use super::connection::{Connection, INPUT_BYTES, Turn, TurnResult};
use crate::StartError;
use crate::clock::{SECOND_NS, monotonic_ns};
use crate::counters::{Counters, count};
use crate::listen::Listener;
use crate::poller::{Poller, Woken};
use crate::stop::Stop;

/// Events taken at once, and connections accepted between two polls of the open ones.
const EVENTS_PER_TURN: usize = 256;
const ACCEPTS_PER_TURN: usize = 64;
/// How long a request may stay half done.
const HALF_DONE_LIMIT_NS: u64 = 10 * SECOND_NS;
/// How often half-done connections are checked, and a refused accept is tried again.
const SWEEP_NS: u64 = SECOND_NS;

/// The thread's state.
#[derive(Debug)]
pub(super) struct Worker {
    poller: Poller<Connection>,
    answers: Arc<Answers>,
    counters: Arc<Counters>,
    stop: Arc<Stop>,
    input: Box<[u8; INPUT_BYTES]>,
    now_ns: u64,
    swept_ns: u64,
}

impl Worker {
    pub(super) fn new(
        listener: Listener,
        answers: Arc<Answers>,
        counters: Arc<Counters>,
        stop: Arc<Stop>,
    ) -> Result<Self, StartError> {
        let poller = Poller::new(listener, &stop)?;
        Ok(Self {
            poller,
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
            let until_cutoff_ns = self.stop.cutoff_ns().saturating_sub(self.now_ns);
            self.poller.wait(&mut events, SWEEP_NS.min(until_cutoff_ns));
            self.now_ns = monotonic_ns();
            for event in &events {
                self.handle(*event);
            }
            self.accept();
            if self.now_ns >= self.swept_ns.saturating_add(SWEEP_NS) || !self.poller.is_listening() {
                self.sweep();
            }
            if self.poller.is_over() {
                return;
            }
        }
    }

    fn handle(&mut self, event: Event) {
        match self.poller.what(event) {
            Woken::Stop => self.close_idle(),
            Woken::Slot { slot, readable, hung_up } => {
                if readable || self.poller.connection(slot).is_some_and(|connection| !connection.is_idle()) {
                    self.drive(slot, hung_up);
                }
            }
            Woken::Listener | Woken::Mailbox => {}
        }
    }

    fn accept(&mut self) {
        for _ in 0..ACCEPTS_PER_TURN {
            let Some(slot) = self.poller.accept(|accepted| Connection::new(accepted.socket)) else { return };
            count(&self.counters.connections);
            self.drive(slot, false);
            if !self.poller.watch_slot(slot) {
                self.poller.close(slot);
            }
        }
    }

    fn drive(&mut self, slot: usize, until_empty: bool) {
        // An event for a connection that ended earlier in this turn, or for its successor: reading too often
        // does no harm.
        let Some(connection) = self.poller.connection(slot) else { return };
        let expires_ns = self.now_ns + HALF_DONE_LIMIT_NS;
        let mut turn = Turn { answers: &self.answers, input: &mut self.input, answered: 0, expires_ns };
        let result = connection.drive(&mut turn, until_empty);
        if turn.answered > 0 {
            self.counters.requests.fetch_add(turn.answered, Relaxed);
        }
        match result {
            TurnResult::Open => return,
            TurnResult::Done => {}
            TurnResult::Broken => count(&self.counters.broken),
            TurnResult::Rejected => count(&self.counters.rejected),
        }
        self.poller.close(slot);
    }

    /// Once a second: ends what has been half done for too long.
    fn sweep(&mut self) {
        self.swept_ns = self.now_ns;
        self.poller.accept_anyway();
        let cutoff_reached = self.now_ns >= self.stop.cutoff_ns();
        let listening = self.poller.is_listening();
        for slot in self.poller.slots() {
            let Some(connection) = self.poller.connection(slot) else { continue };
            let expired = connection.expires_ns().is_some_and(|due_ns| self.now_ns >= due_ns);
            let idle_at_the_end = !listening && connection.is_idle();
            if expired || cutoff_reached {
                count(&self.counters.broken);
            }
            if expired || cutoff_reached || idle_at_the_end {
                self.poller.close(slot);
            }
        }
    }

    /// The stop: no new connections, and no more than what the open ones have already sent.
    fn close_idle(&mut self) {
        self.poller.stop_listening();
        for slot in self.poller.slots() {
            self.drive(slot, true);
        }
    }
}
