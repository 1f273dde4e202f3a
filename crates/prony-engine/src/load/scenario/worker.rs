//! Where a worker's loop meets its sessions.

use prony_model::{ErrorKind, Outcome};

use super::fault::StepFault;
use super::sessions::{Due, Holder, NOBODY, Place};
use crate::clock::{self, Nanos};
use crate::load::conn::State;
use crate::load::driver::{Io, Slot};
use crate::load::http2::refused::Outgoing;
use crate::load::retry::Attempt;
use crate::load::trace::Trace;
use crate::load::worker::{Pace, Worker};
use crate::record::failure_detail::Detail;
use crate::record::sample::Sample;

impl Worker {
    /// Sends the requests of sessions that are due, on connections that are free.
    pub(crate) fn dispatch_steps<I: Io>(&mut self, io: &mut I, now: Nanos) {
        self.dispatch_kept(io, now);
        loop {
            let Pace::Sessions(sessions) = &mut self.pace else { return };
            let waiting = sessions.waiting(now);
            if waiting == 0 {
                return;
            }
            let Some(slot) = self.free.pop_front() else { return };
            let Some(due) = self.prepared(now) else {
                self.free.push_back(slot);
                continue;
            };
            if due.retry.is_none()
                && let Some(cause) = self.wait_cause(slot, due.intended, waiting)
            {
                self.recorder.waited(due.intended, cause);
            }
            self.send_step(io, slot, due);
            if self.connections[slot as usize].has_room() {
                self.free.push_back(slot);
            }
        }
    }

    /// Sends the requests of sessions that have connections of their own.
    fn dispatch_kept<I: Io>(&mut self, io: &mut I, now: Nanos) {
        loop {
            let Pace::Sessions(sessions) = &mut self.pace else { return };
            sessions.waiting(now);
            let Some((due, slot)) = sessions.take_kept() else { return };
            let is_idle = |slot: &Slot| {
                let connection = &self.connections[*slot as usize];
                connection.state == State::Open && connection.in_flight() == 0
            };
            let Some(slot) = slot.filter(is_idle) else {
                sessions.lacks_connection(due);
                continue;
            };
            if let Err(fault) = sessions.prepare(due, self.tracer.as_deref_mut()) {
                sessions.not_sent(due.place, &Sample::unsent(due.intended, due.intended, now), fault);
                if sessions.holder(slot) == Holder::Ended {
                    self.drop_idle(io, slot, now);
                }
                continue;
            }
            self.send_step(io, slot, due);
        }
    }

    /// The connection on `slot` is free: it waits for a request, or for the next step of its session, or is closed. Returns
    /// whether it may carry any request.
    pub(crate) fn released<I: Io>(&mut self, io: &mut I, slot: Slot, now: Nanos) -> bool {
        let Pace::Sessions(sessions) = &self.pace else { return true };
        let holder = sessions.holder(slot);
        if holder == Holder::Ended {
            self.drop_idle(io, slot, now);
        }
        holder == Holder::Nobody
    }

    /// Sends the request that was made for `due`.
    fn send_step<I: Io>(&mut self, io: &mut I, slot: Slot, due: Due) {
        let now = clock::now();
        let attempt = self.begin_attempt(due);
        let at = due.retry.map_or(0, |retry| retry.due);
        if self.is_http2() {
            let request = Outgoing { place: due.place, at, attempt, ..Outgoing::first(due.intended) };
            return self.send_stream(io, slot, request, now);
        }
        let connection = &mut self.connections[slot as usize];
        connection.since = connection.since.max(at);
        if let Some(retries) = &mut self.retries {
            retries.note_attempt(slot, attempt);
        }
        let trace = self.session_trace(due.place);
        let reused = self.begin_flight(slot, due.intended, trace);
        let Pace::Sessions(sessions) = &mut self.pace else { return };
        let sent = sessions.send(io, slot, due.place, self.layer.as_deref_mut());
        self.flight_sent(io, slot, &sent);
        if attempt.is_retry() {
            self.recorder.sent_again(due.intended, sent.bytes as u64, reused, now);
        } else {
            self.recorder.sent(due.intended, sent.bytes as u64, reused, now);
        }
    }

    /// The trace of the request of the session at `place`.
    fn session_trace(&self, place: Place) -> Trace {
        match &self.pace {
            Pace::Sessions(sessions) => sessions.trace(place),
            Pace::Closed { .. } | Pace::Open(_) => Trace::NONE,
        }
    }

    /// The attempt of `due` begins: it is sent, or fails without.
    fn begin_attempt(&mut self, due: Due) -> Attempt {
        let Some(retry) = due.retry else {
            self.recorder.taken(due.intended);
            return Attempt::default();
        };
        self.recorder.retried(due.intended, retry.reason, retry.attempt.number());
        if let Pace::Sessions(sessions) = &mut self.pace {
            sessions.begin_retry(due.place);
        }
        retry.attempt
    }

    /// The next request that is due, made; none if there is none, or if it can't be made, which its session records.
    fn prepared(&mut self, now: Nanos) -> Option<Due> {
        let Pace::Sessions(sessions) = &mut self.pace else { return None };
        let due = sessions.take(now)?;
        match sessions.prepare(due, self.tracer.as_deref_mut()) {
            Ok(()) => Some(due),
            Err(fault) => {
                // There is no request to be counted: only its step has failed.
                sessions.not_sent(due.place, &Sample::unsent(due.intended, due.intended, now), fault);
                None
            }
        }
    }

    /// The request that has been due for the longest got no connection on `slot`, which began to connect at `began`.
    pub(crate) fn step_unconnected(
        &mut self,
        slot: Slot,
        began: Nanos,
        kind: ErrorKind,
        detail: Detail,
        now: Nanos,
    ) {
        // It is made even so where it may be sent again: a retry is the same request.
        let taken = if self.retries.is_some() {
            self.prepared(now)
        } else {
            let Pace::Sessions(sessions) = &mut self.pace else { return };
            sessions.take(now)
        };
        let Some(due) = taken else { return };
        let attempt = self.begin_attempt(due);
        let at = due.retry.map_or(due.intended, |retry| retry.due);
        let step = match &self.pace {
            Pace::Sessions(sessions) => Trace::of_step(sessions.step_number(due.place)),
            Pace::Closed { .. } | Pace::Open(_) => Trace::NONE,
        };
        let trace = attempt.trace().or(step).without_trace();
        let sample = Sample { intended: due.intended, trace, ..Sample::unsent(at, began, now) };
        let again = self.settle_unconnected(attempt, slot, due.place, sample, kind, detail);
        if let Pace::Sessions(sessions) = &mut self.pace
            && !again
        {
            sessions.not_sent(due.place, &sample, StepFault::Connection);
        }
    }

    /// The session whose request is in flight on `slot`; [`NOBODY`] without sessions.
    pub(crate) fn session_on(&self, slot: Slot) -> Place {
        match &self.pace {
            Pace::Sessions(sessions) => sessions.on(slot),
            Pace::Closed { .. } | Pace::Open(_) => NOBODY,
        }
    }

    /// The request of a session on `slot` is in flight no more, and is sent again.
    pub(crate) fn forget_attempt(&mut self, slot: Slot) {
        if let Pace::Sessions(sessions) = &mut self.pace {
            sessions.forget_attempt(slot);
        }
    }

    /// What the answer on `slot` means, or in HTTP/2 that at this place of a stream.
    pub(crate) fn evaluate_step(
        &mut self,
        slot: Slot,
        status: u16,
        body: Option<&[u8]>,
    ) -> Option<(Outcome, Detail)> {
        let Pace::Sessions(sessions) = &mut self.pace else { return None };
        Some(sessions.evaluate(slot, status, body))
    }

    /// The run is over: what is due for the first time is never sent.
    pub(crate) fn stop_sessions(&mut self, now: Nanos) {
        let Pace::Sessions(sessions) = &mut self.pace else { return };
        for intended in sessions.end_at(now) {
            self.recorder.never_sent(intended, false, now);
        }
    }
}
