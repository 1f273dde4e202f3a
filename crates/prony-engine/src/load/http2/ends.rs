//! How requests on streams end, and the connections that carried them.

use prony_http::h2::{End, ErrorCode, Http2Error, Stream};
use prony_model::{ErrorKind, Outcome};

use super::flights::StreamFlight;
use super::refused::{Outgoing, REFUSALS_MAX};
use crate::clock::{NEVER, Nanos};
use crate::load::driver::{Io, Slot};
use crate::load::scenario::sessions::NOBODY;
use crate::load::worker::{Pace, RETRY_PAUSE, Worker};
use crate::record::failure_detail::Detail;
use crate::record::sample::{Answer, Sample};

impl Worker {
    /// The request on `stream` has got its whole answer. Returns whether the connection is still there.
    pub(super) fn complete_stream<I: Io>(
        &mut self,
        io: &mut I,
        slot: Slot,
        stream: Stream,
        end: End,
        now: Nanos,
    ) -> bool {
        let was_full = !self.connections[slot as usize].has_room();
        let Some((number, ended)) = self.take_stream(slot, stream) else { return true };
        let flight = ended.flight;
        if was_full {
            // Free from the moment that the answer arrived, where the kernel says when: what a request waits from there on
            // is our own delay in polling.
            let is_known = self.arrived != 0 && (flight.sent..=now).contains(&self.arrived);
            self.connections[slot as usize].since = if is_known { self.arrived } else { now };
        }
        let sample = Sample { arrived: self.arrived, ..self.sample(slot, ended, now) };
        if flight.sent == 0 {
            // An answer to a request that is only queued can't be trusted.
            self.forget_stream(number);
            self.end_lost(number, sample, ErrorKind::Protocol, Detail::None);
            self.hang_up(io, slot, now);
            return false;
        }
        let (outcome, detail) = if let Some(evaluated) = self.evaluate_step(number, end.status, None) {
            evaluated
        } else {
            let kept = self.bodies.get(number as usize).map_or(&[][..], |kept| kept);
            self.checker.evaluate(end.status, end.body_bytes, kept)
        };
        let is_done = matches!(outcome, Outcome::Done(_));
        if let Some(events) = &mut self.events {
            let count = events.end(number, flight, now, &mut self.recorder);
            if is_done {
                self.recorder.stream_complete(flight.intended, count);
            }
        }
        if let Some(first) = self.first.complete(number, now, end.status, end.body_bytes) {
            self.recorder.first_response(first);
        }
        if is_done && let Some(first) = self.checker.other_length(end.body_bytes) {
            self.recorder.other_length(sample.intended, first, end.body_bytes);
        }
        self.forget_stream(number);
        let answer = Answer { status: end.status, body_bytes: end.body_bytes };
        let again = if self.retries.is_none() {
            self.recorder.answered(sample, outcome, answer, detail);
            false
        } else {
            self.settle_answered(number, sample, outcome, answer, detail)
        };
        if let Pace::Sessions(sessions) = &mut self.pace
            && !again
        {
            sessions.answered(number, &sample);
        }
        if !self.plan.keep_alive {
            self.hang_up(io, slot, now);
            return false;
        }
        true
    }

    /// The request on `stream` will get no answer.
    pub(super) fn lose_stream(
        &mut self,
        slot: Slot,
        stream: Stream,
        kind: ErrorKind,
        detail: Detail,
        now: Nanos,
    ) {
        let Some((number, ended)) = self.take_stream(slot, stream) else { return };
        let sample = self.sample(slot, ended, now);
        self.forget_stream(number);
        self.end_lost(number, sample, kind, detail);
    }

    /// The server has not processed the request on `stream`: it is sent again, if it was not refused too often.
    pub(super) fn refuse(&mut self, slot: Slot, stream: Stream, code: ErrorCode, now: Nanos) {
        let Some((number, ended)) = self.take_stream(slot, stream) else { return };
        let (intended, refusals) = (ended.flight.intended, ended.refusals + 1);
        self.forget_stream(number);
        if refusals > REFUSALS_MAX {
            let sample = self.sample(slot, ended, now);
            let detail = Detail::Refused(code, REFUSALS_MAX);
            return self.end_lost(number, sample, ErrorKind::StreamReset, detail);
        }
        let attempt = self.retries.as_mut().map(|retries| retries.take_attempt(number)).unwrap_or_default();
        let attempt = attempt.with_trace(ended.flight.trace);
        let place = match &mut self.pace {
            Pace::Sessions(sessions) => sessions.forget_attempt(number),
            Pace::Closed { .. } | Pace::Open(_) => NOBODY,
        };
        self.recorder.refused(intended, stream.id != 1, attempt.is_retry(), now);
        // So many it takes at once, and one to find out whether it takes more.
        let connection = &mut self.connections[slot as usize];
        connection.depth = connection.depth.min(connection.in_flight().max(1));
        if let Some(http2) = self.http2() {
            http2.refused.push_back(Outgoing { intended, at: now, refusals, attempt, place });
        }
    }

    /// Every request in flight on `slot` has failed.
    pub(crate) fn lose_streams(&mut self, slot: Slot, kind: ErrorKind, detail: Detail, now: Nanos) {
        let Some(http2) = self.http2() else { return };
        let farewell = http2.peers[slot as usize].as_ref().and_then(|peer| peer.farewell);
        let streams: Vec<(Stream, bool)> =
            http2.flights.of(slot).map(|(stream, flight)| (stream, flight.first_byte != 0)).collect();
        for (stream, has_begun) in streams {
            let (kind, detail) = match (kind, farewell) {
                (ErrorKind::ClosedEarly | ErrorKind::ClosedReused, Some((code, debug))) => {
                    (ErrorKind::ClosedEarly, Detail::GoAway(code, debug))
                }
                (ErrorKind::ClosedReused, None) if has_begun => (ErrorKind::ClosedEarly, detail),
                _ => (kind, detail),
            };
            self.lose_stream(slot, stream, kind, detail, now);
        }
    }

    /// The server will say no more on `slot`.
    pub(crate) fn frames_ended<I: Io>(&mut self, io: &mut I, slot: Slot, now: Nanos) {
        let peer = self.http2().and_then(|http2| http2.peers[slot as usize].as_mut());
        match peer.map_or(Ok(()), |peer| peer.core.finish()) {
            Ok(()) | Err(Http2Error::ClosedEarly) => {
                self.lose_or_drop(io, slot, ErrorKind::ClosedEarly, Detail::None, now);
            }
            Err(error) => self.lose_or_drop(io, slot, ErrorKind::Protocol, Detail::Http2(error), now),
        }
        if self.has_refused() {
            self.send_refused(io, now);
        }
    }

    /// Gives up what is late on `slot`, and looks again when the next one could be.
    pub(crate) fn check_streams<I: Io>(&mut self, io: &mut I, slot: Slot, now: Nanos) {
        self.turn_to(io, slot);
        let Some(http2) = self.layer.as_mut().and_then(|layer| layer.http2.as_mut()) else { return };
        let heard = http2.peers[slot as usize].as_ref().map_or(0, |peer| peer.heard);
        let sent: Vec<(Stream, Nanos)> = http2
            .flights
            .of(slot)
            .map(|(stream, flight)| (stream, flight.flight.sent))
            .filter(|(_, sent)| *sent != 0)
            .collect();
        let mut late = NEVER;
        for (stream, sent) in sent {
            let number = self.flight_number(slot, stream);
            let until = sent.saturating_add(self.attempt_timeout(number, sent));
            if now <= until {
                late = late.min(until);
                continue;
            }
            if let Some(http2) = self.http2()
                && let Some(peer) = &mut http2.peers[slot as usize]
            {
                peer.core.cancel(stream, &mut http2.out);
            }
            self.lose_stream(slot, stream, ErrorKind::RequestTimeout, Detail::None, now);
            if heard < sent {
                // Not one byte came in all that time: it is not the request, it is the connection.
                self.drain(slot);
            }
        }
        self.watch(slot, now, late);
        self.settle(io, slot, now);
    }

    /// `slot` takes no more requests.
    pub(super) fn drain(&mut self, slot: Slot) {
        self.connections[slot as usize].depth = 0;
        if let Some(peer) = self.http2().and_then(|http2| http2.peers[slot as usize].as_mut()) {
            peer.is_draining = true;
        }
    }

    pub(super) fn is_draining(&mut self, slot: Slot) -> bool {
        let peer = self.http2().and_then(|http2| http2.peers[slot as usize].as_ref());
        peer.is_some_and(|peer| peer.is_draining)
    }

    /// Closes a connection that has carried its last request, and goes on with a new one.
    pub(super) fn part<I: Io>(&mut self, io: &mut I, slot: Slot, now: Nanos) {
        let peer = self.http2().and_then(|http2| http2.peers[slot as usize].as_ref());
        if peer.is_some_and(|peer| peer.farewell.is_some()) {
            self.recorder.closed_by_server();
        }
        // The server has announced that it closes; and if not, the driver does after a while.
        io.release(slot, now);
        let was_of_use = self.connections[slot as usize].has_answered();
        if was_of_use || !matches!(self.pace, Pace::Closed { .. }) {
            self.replace(io, slot, now);
        } else {
            // It has refused whatever came: the next one may do the same.
            self.vacate(slot);
            self.paused.push_back((now + RETRY_PAUSE, slot));
        }
    }

    /// Takes the request on `stream` out of flight, with the number of its place.
    fn take_stream(&mut self, slot: Slot, stream: Stream) -> Option<(Slot, StreamFlight)> {
        let http2 = self.layer.as_mut()?.http2.as_mut()?;
        let ended = http2.flights.end(slot, stream)?;
        let number = http2.flights.number(slot, stream.place);
        self.connections[slot as usize].stream_ended();
        self.in_flight -= 1;
        Some((number, ended))
    }

    /// The number of the place of `stream`.
    fn flight_number(&mut self, slot: Slot, stream: Stream) -> Slot {
        self.http2().map_or(0, |http2| http2.flights.number(slot, stream.place))
    }

    /// The moments of a request that ended at `done`.
    fn sample(&mut self, slot: Slot, ended: StreamFlight, done: Nanos) -> Sample {
        let connection = &mut self.connections[slot as usize];
        connection.first_byte = ended.first_byte;
        connection.ended(ended.flight, done)
    }

    /// Nothing of the response at place `number` is needed any more.
    fn forget_stream(&mut self, number: Slot) {
        self.first.gone(number);
        if let Some(kept) = self.bodies.get_mut(number as usize) {
            kept.clear();
        }
        if let Some(events) = &mut self.events {
            events.forget(number);
        }
    }
}
