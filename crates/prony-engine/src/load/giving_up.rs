//! How a connection ends, on purpose or not, and what becomes of the requests on it or waiting for it.

use prony_model::ErrorKind;

use crate::clock::Nanos;
use crate::load::conn::State;
use crate::load::driver::{Io, Slot};
use crate::load::retry::Attempt;
use crate::load::scenario::sessions::NOBODY;
use crate::load::worker::{Pace, RETRY_PAUSE, Worker};
use crate::record::failure_detail::Detail;
use crate::record::sample::Sample;

impl Worker {
    /// Every request in flight on `slot` has failed, and the connection with them.
    pub(crate) fn lose<I: Io>(
        &mut self,
        io: &mut I,
        slot: Slot,
        kind: ErrorKind,
        detail: Detail,
        now: Nanos,
    ) {
        let kind = match kind {
            // Most often the server's keep-alive ended as the request went: other clients send it again.
            ErrorKind::ClosedEarly if self.connections[slot as usize].is_reused() => ErrorKind::ClosedReused,
            kind => kind,
        };
        self.lose_flights(slot, kind, detail, now);
        self.hang_up(io, slot, now);
    }

    /// As [`Self::lose`]; a connection without requests in flight was closed by the server.
    pub(crate) fn lose_or_drop<I: Io>(
        &mut self,
        io: &mut I,
        slot: Slot,
        kind: ErrorKind,
        detail: Detail,
        now: Nanos,
    ) {
        if self.connections[slot as usize].in_flight() == 0 {
            self.recorder.closed_by_server();
            return self.drop_idle(io, slot, now);
        }
        self.lose(io, slot, kind, detail, now);
    }

    fn lose_flights(&mut self, slot: Slot, kind: ErrorKind, detail: Detail, now: Nanos) {
        if self.is_http2() {
            return self.lose_streams(slot, kind, detail, now);
        }
        while let Some(flight) = self.flights.pop(slot, &mut self.connections[slot as usize]) {
            self.in_flight -= 1;
            let sample = self.connections[slot as usize].ended(flight, now);
            self.end_lost(slot, sample, kind, detail);
        }
        self.first.gone(slot);
    }

    /// The request on `slot`, or in HTTP/2 at this place of a stream, is in flight no more and got no answer.
    pub(crate) fn end_lost(&mut self, slot: Slot, sample: Sample, kind: ErrorKind, detail: Detail) {
        let again = self.settle_lost(slot, sample, kind, detail);
        if let Pace::Sessions(sessions) = &mut self.pace
            && !again
        {
            sessions.lost(slot, &sample);
        }
    }

    /// Closes a connection on purpose or because it is of no more use, and goes on with a new one. Requests
    /// still in flight on it have failed: the server announced that it would not answer them.
    pub(crate) fn hang_up<I: Io>(&mut self, io: &mut I, slot: Slot, now: Nanos) {
        self.lose_flights(slot, ErrorKind::ClosedEarly, Detail::None, now);
        self.drop_idle(io, slot, now);
    }

    /// As [`Self::hang_up`], where the server is about to close the connection.
    pub(crate) fn leave<I: Io>(&mut self, io: &mut I, slot: Slot, now: Nanos) {
        self.lose_flights(slot, ErrorKind::ClosedEarly, Detail::None, now);
        io.release(slot, now);
        self.replace(io, slot, now);
    }

    /// Closes a connection without requests in flight, and goes on with a new one.
    pub(crate) fn drop_idle<I: Io>(&mut self, io: &mut I, slot: Slot, now: Nanos) {
        io.close(slot);
        self.replace(io, slot, now);
    }

    /// `slot` has no connection any more: goes on with a new one.
    pub(crate) fn replace<I: Io>(&mut self, io: &mut I, slot: Slot, now: Nanos) {
        self.vacate(slot);
        match self.pace {
            // It connects when its request is sent again.
            Pace::Closed { .. } if self.retries.as_ref().is_some_and(|retries| retries.holds(slot)) => {}
            Pace::Closed { .. } => self.begin(io, slot, now),
            Pace::Open(_) | Pace::Sessions(_) => {
                self.free.remove(slot);
                self.closed.push(slot);
                self.dispatch_waiting(io, now);
            }
        }
    }

    /// `slot` has no connection any more.
    pub(crate) fn vacate(&mut self, slot: Slot) {
        self.open -= 1;
        self.connections[slot as usize].reset();
        self.forget_layer(slot);
        if self.is_http2() {
            // What is kept of responses is kept by stream, and went with them.
            return;
        }
        if let Pace::Sessions(sessions) = &mut self.pace {
            sessions.forget(slot);
        }
        if let Some(body) = self.bodies.get_mut(slot as usize) {
            body.clear();
        }
        if let Some(events) = &mut self.events {
            events.forget(slot);
        }
    }

    /// `slot` did not get a connection: the request that waited for it has failed.
    pub(crate) fn not_connected(&mut self, slot: Slot, kind: ErrorKind, detail: Detail, now: Nanos) {
        self.forget_layer(slot);
        let connection = &mut self.connections[slot as usize];
        let began = connection.since;
        connection.reset();
        let waited = std::mem::take(&mut connection.waiting);
        match self.pace {
            Pace::Closed { .. } => {
                // Without one it was opened for a request that was refused elsewhere.
                if waited == 0 {
                    if !self.fail_refused(slot, began, kind, detail, now) {
                        self.fail_waiting_retry(slot, began, kind, detail, now);
                    }
                    return self.pause(slot, now);
                }
                let sample = Sample::unsent(waited, began, now);
                let attempt = self.take_waiting_attempt(slot);
                let again = self.settle_unconnected(attempt, slot, NOBODY, sample, kind, detail);
                // In HTTP/1 the connection waits with its request.
                if !again || self.is_http2() {
                    self.pause(slot, now);
                }
            }
            Pace::Open(_) | Pace::Sessions(_) => {
                self.closed.push(slot);
                if !self.fail_refused(slot, began, kind, detail, now) {
                    self.fail_waiting(slot, began, kind, detail, now);
                }
            }
        }
    }

    /// `slot` of a closed loop may connect again after a while.
    fn pause(&mut self, slot: Slot, now: Nanos) {
        if self.stopped {
            // Only retries of HTTP/2 need connections then.
            self.closed.push(slot);
        } else {
            self.paused.push_back((now + RETRY_PAUSE, slot));
        }
    }

    /// An open loop did not get a connection: the request that has waited the longest has failed. Where the client
    /// has no port or descriptor left, others can wait for a connection that is there; where none is, they fail too.
    fn fail_waiting(&mut self, slot: Slot, began: Nanos, kind: ErrorKind, detail: Detail, now: Nanos) {
        let exhausted = kind.is_clients_fault();
        if exhausted {
            self.limiter.pause(now);
        }
        loop {
            if !self.fail_waiting_retry(slot, began, kind, detail, now) {
                // Retries of sessions go on behind the end.
                let is_over = now >= self.stop_at && !self.has_retries_left();
                if is_over || self.pace.waiting(now) == 0 {
                    return;
                }
                match &mut self.pace {
                    Pace::Closed { .. } => return,
                    Pace::Open(schedule) => {
                        let intended = schedule.take();
                        self.recorder.taken(intended);
                        let sample = Sample::unsent(intended, began, now);
                        self.settle_unconnected(Attempt::default(), slot, NOBODY, sample, kind, detail);
                    }
                    Pace::Sessions(_) => self.step_unconnected(slot, began, kind, detail, now),
                }
            }
            if !exhausted || self.open > 0 || self.connecting > 0 {
                return;
            }
        }
    }

    /// No connection in time.
    pub(crate) fn connect_timed_out<I: Io>(&mut self, io: &mut I, slot: Slot, now: Nanos) {
        if self.connections[slot as usize].state == State::Securing {
            return self.not_secured(io, slot, ErrorKind::ConnectTimeout, Detail::None, now);
        }
        io.close(slot);
        self.connecting -= 1;
        self.not_connected(slot, ErrorKind::ConnectTimeout, Detail::None, now);
    }

    /// No answer in time.
    pub(crate) fn request_timed_out<I: Io>(&mut self, io: &mut I, slot: Slot, now: Nanos) {
        self.lose(io, slot, ErrorKind::RequestTimeout, Detail::None, now);
    }
}
