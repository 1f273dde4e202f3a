//! Retries in HTTP/2: a client has no connection of its own, only a stream's worth of one. So what waits for a retry goes on
//! any connection with room, in closed loops too; and there, a client whose request waits begins no other.

use super::{Attempt, Waiting};
use crate::clock::{self, Nanos};
use crate::load::conn::State;
use crate::load::driver::{Io, Slot};
use crate::load::http2::refused::Outgoing;
use crate::load::worker::{Pace, Worker};

impl Worker {
    /// Whether a request is sent again on whatever connection has room, not on its own.
    pub(crate) fn retries_take_any_connection(&self) -> bool {
        !matches!(self.pace, Pace::Closed { .. }) || self.is_http2()
    }

    /// Whether a closed loop has a client whose request is neither in flight nor waiting to be sent again. In HTTP/1 the
    /// connections themselves say so.
    #[inline]
    pub(crate) fn has_idle_client(&self) -> bool {
        let Some(retries) = &self.retries else { return true };
        let Some(http2) = self.layer.as_ref().and_then(|layer| layer.http2.as_ref()) else { return true };
        let clients = u64::from(self.plan.slots) * u64::from(self.plan.depth);
        let waiting = (retries.waiting.len() + http2.refused().len()) as u64;
        self.in_flight + u64::from(self.connecting) + waiting < clients
    }

    /// Whether the request that waits for the connection of `slot` was sent before: in HTTP/2 none has a connection of its
    /// own.
    pub(crate) fn carries_retry(&self, slot: Slot) -> bool {
        !self.is_http2() && self.retries.as_ref().is_some_and(|retries| retries.is_retry(slot))
    }

    /// Which attempt the request is that waited for a connection of `slot`.
    pub(crate) fn take_waiting_attempt(&mut self, slot: Slot) -> Attempt {
        let is_http2 = self.is_http2();
        match &mut self.retries {
            Some(retries) if !is_http2 => retries.take_attempt(slot),
            _ => Attempt::default(),
        }
    }

    /// Sends what has waited for a retry on `slot`, as much as it has room for. Nothing in HTTP/1.
    #[inline]
    pub(crate) fn send_ready_on<I: Io>(&mut self, io: &mut I, slot: Slot, now: Nanos) {
        if self.retries.is_none() || !self.is_http2() {
            return;
        }
        while self.connections[slot as usize].state == State::Open
            && self.connections[slot as usize].has_room()
            && let Some(ready) = self.first_ready(now)
        {
            self.send_ready(io, slot, &ready);
        }
    }

    /// Sends `ready`, the first whose backoff is over, on a stream of `slot`.
    pub(super) fn send_ready<I: Io>(&mut self, io: &mut I, slot: Slot, ready: &Waiting) {
        self.take_ready();
        self.recorder.retried(ready.intended, ready.reason, ready.number);
        let attempt = ready.attempt();
        let request = Outgoing { at: ready.due, attempt, ..Outgoing::first(ready.intended) };
        self.send_stream(io, slot, request, clock::now());
    }
}
