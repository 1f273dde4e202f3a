//! What happens to a connection: begun, connected, answered, closed, broken, timed out.

use prony_http::tls::TlsError;
use prony_http::{End, Event, Finish, ProtocolError};
use prony_model::{ErrorKind, Outcome};
use rustix::io::Errno;

use crate::clock::{Nanos, Wall};
use crate::load::checks::BODY_MAX_BYTES;
use crate::load::conn::{Flight, State};
use crate::load::driver::{Carries, Handler, Io, Slot};
use crate::load::trace::Trace;
use crate::load::worker::{Pace, Worker};
use crate::record::failure_detail::{Detail, Piece, kind_of};
use crate::record::sample::{Answer, Sample};

impl<I: Io> Handler<I> for Worker {
    fn connected(&mut self, io: &mut I, slot: Slot, now: Nanos) {
        self.note_event(now);
        let connection = &mut self.connections[slot as usize];
        connection.took = now.saturating_sub(connection.since);
        if self.layer.is_some() { self.connected_layered(io, slot, now) } else { self.opened(io, slot, now) }
    }

    fn connect_failed(&mut self, slot: Slot, error: Errno, now: Nanos) {
        self.note_event(now);
        self.connecting -= 1;
        self.not_connected(slot, kind_of(error), Detail::System(error), now);
    }

    #[inline]
    fn received(&mut self, io: &mut I, slot: Slot, bytes: &[u8], arrived: Wall, now: Nanos) {
        self.note_event(now);
        self.recorder.received(bytes.len());
        self.arrived = self.recorder.moment(arrived);
        if self.layer.is_some() {
            self.received_layered(io, slot, bytes, now);
        } else {
            self.answers(io, slot, bytes, now);
        }
    }

    fn finished(&mut self, io: &mut I, slot: Slot, now: Nanos) {
        self.note_event(now);
        if self.connections[slot as usize].state == State::Securing {
            let detail = Detail::Tls(TlsError::ClosedInHandshake);
            return self.not_secured(io, slot, ErrorKind::Tls, detail, now);
        }
        // Over TLS only close_notify says that nothing is missing.
        let clean = self.layer.is_none();
        self.ended(io, slot, clean, now);
        self.flush_frames(io);
    }

    fn broken(&mut self, io: &mut I, slot: Slot, error: Errno, now: Nanos) {
        self.note_event(now);
        if self.connections[slot as usize].state == State::Securing {
            return self.not_secured(io, slot, kind_of(error), Detail::System(error), now);
        }
        let kind = match kind_of(error) {
            // The kernel gave up sending it again and again.
            ErrorKind::ConnectTimeout => ErrorKind::RequestTimeout,
            kind => kind,
        };
        if self.connections[slot as usize].state == State::Open {
            self.lose_or_drop(io, slot, kind, Detail::System(error), now);
            self.flush_frames(io);
        }
    }

    fn drained(&mut self, io: &mut I, slot: Slot) {
        self.send_bodies(io, slot);
        self.flush_frames(io);
    }

    fn departed(&mut self, slot: Slot, key: u32, at: Wall) -> bool {
        let at = self.recorder.moment(at);
        let connection = &self.connections[slot as usize];
        if let Some(layer) = &mut self.layer {
            return match &mut layer.http2 {
                Some(http2) => http2.flights.departed(slot, key, at),
                None => self.flights.departed_at_end(slot, connection, key, at),
            };
        }
        if matches!(self.pace, Pace::Sessions(_)) {
            return self.flights.departed_at_end(slot, connection, key, at);
        }
        let bytes = u32::try_from(self.plan.request_bytes).expect("invariant: Payload::new asks for as much");
        self.flights.departed(slot, connection, bytes, key, at)
    }

    fn flushed(&mut self, slots: &[Slot], now: Nanos) {
        if self.is_http2() {
            return self.writes_went(slots.len(), now);
        }
        for &slot in slots {
            self.flights.stamp(slot, &self.connections[slot as usize], now);
        }
    }
}

impl Worker {
    #[inline]
    fn note_event(&mut self, now: Nanos) {
        if self.woken == 0 {
            self.woken = now;
        }
    }

    /// A connection is ready for requests.
    pub(crate) fn opened<I: Io>(&mut self, io: &mut I, slot: Slot, now: Nanos) {
        let connection = &mut self.connections[slot as usize];
        let whole = now.saturating_sub(connection.since);
        let connect = std::mem::replace(&mut connection.took, whole);
        connection.tls = whole.saturating_sub(connect);
        connection.state = State::Open;
        connection.since = now;
        connection.depth = self.flights.depth();
        connection.port = io.local_port(slot);
        self.connecting -= 1;
        self.open += 1;
        self.recorder.connected(connect, u64::from(self.open));
        if self.layer.is_some() {
            self.begin_frames(io, slot, now);
        }
        match self.pace {
            Pace::Closed { .. } => {
                let intended = std::mem::take(&mut self.connections[slot as usize].waiting);
                // It may have been opened for a request that was refused elsewhere.
                if self.carries_retry(slot) {
                    self.send_again(io, slot, intended, now);
                } else if intended != 0 {
                    self.send(io, slot, intended, now);
                }
                self.refill(io, slot, now);
            }
            Pace::Open(_) | Pace::Sessions(_) => {
                if self.connections[slot as usize].has_room() {
                    self.free.push_back(slot);
                }
                self.dispatch(io, now);
            }
        }
    }

    /// Handles what a server says in HTTP/1.
    #[inline]
    pub(crate) fn answers<I: Io>(&mut self, io: &mut I, slot: Slot, bytes: &[u8], now: Nanos) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let connection = &mut self.connections[slot as usize];
            if connection.state != State::Open {
                return;
            }
            if connection.in_flight() == 0 {
                self.recorder.stray();
                return self.drop_idle(io, slot, now);
            }
            if connection.first_byte == 0 {
                connection.first_byte = now;
            }
            // The events of a stream are looked for piece by piece.
            let heads = match &mut self.pace {
                Pace::Sessions(sessions) => sessions.heads(slot),
                _ => &mut self.heads,
            };
            if self.events.is_none()
                && let Some(whole) = connection.parser.whole(heads, rest)
            {
                if let Pace::Sessions(sessions) = &mut self.pace {
                    sessions.head(slot, &whole.head);
                }
                rest = &rest[whole.consumed..];
                let (end, body) = (whole.end(), whole.body);
                self.complete(io, slot, end, Some(body), rest, now);
                continue;
            }
            match self.step(io, slot, rest, now) {
                Some(consumed) => rest = &rest[consumed..],
                None => return,
            }
        }
    }

    /// The server will say no more. `clean`: it may end a body in this way.
    pub(crate) fn ended<I: Io>(&mut self, io: &mut I, slot: Slot, clean: bool, now: Nanos) {
        if self.connections[slot as usize].state != State::Open {
            return;
        }
        if self.is_http2() {
            return self.frames_ended(io, slot, now);
        }
        let connection = &mut self.connections[slot as usize];
        if connection.in_flight() == 0 {
            self.recorder.closed_by_server();
            return self.drop_idle(io, slot, now);
        }
        // The end of a connection has no stamp.
        self.arrived = 0;
        match connection.parser.finish() {
            Ok(Finish::BodyEnd(end)) if clean => {
                self.complete(io, slot, End { keep_alive: false, ..end }, None, &[], now);
            }
            Ok(Finish::BodyEnd(_)) => {
                let detail = Detail::Tls(TlsError::Truncated);
                self.lose(io, slot, ErrorKind::ClosedEarly, detail, now);
            }
            Ok(Finish::Idle) | Err(ProtocolError::ClosedEarly { .. }) => {
                self.lose(io, slot, ErrorKind::ClosedEarly, Detail::None, now);
            }
            Err(error) => {
                self.lose(io, slot, ErrorKind::Protocol, Detail::Protocol(error, Piece::of(&[])), now);
            }
        }
    }

    /// Begins the next request of a closed loop on a slot without a connection.
    pub(crate) fn begin<I: Io>(&mut self, io: &mut I, slot: Slot, now: Nanos) {
        if self.has_refused() {
            return self.connect(io, slot, now);
        }
        if !self.take_closed(now) {
            self.closed.push(slot);
            return;
        }
        self.recorder.taken(now);
        self.connections[slot as usize].waiting = now;
        self.connect(io, slot, now);
    }

    /// Takes one request from what is left of a closed loop. Those of the warm-up are not counted.
    #[inline]
    pub(crate) fn take_closed(&mut self, now: Nanos) -> bool {
        let may = self.may_begin(now);
        if let Pace::Closed { left } = &mut self.pace
            && may
            && now >= self.plan.measure_from
        {
            *left -= 1;
        }
        may
    }

    /// Starts to connect.
    pub(crate) fn connect<I: Io>(&mut self, io: &mut I, slot: Slot, now: Nanos) {
        let attempt = self.attempts;
        self.attempts += 1;
        self.recorder.connecting();
        let connection = &mut self.connections[slot as usize];
        connection.reset();
        connection.since = now;
        match io.connect(slot, attempt) {
            Ok(()) => {
                connection.state = State::Connecting;
                self.connecting += 1;
                self.watch(slot, now, now.saturating_add(self.plan.connect_timeout));
            }
            Err(error) => self.not_connected(slot, kind_of(error), Detail::System(error), now),
        }
    }

    /// Sends a request that was due at `intended` on an open connection with room for it.
    #[inline]
    pub(crate) fn send<I: Io>(&mut self, io: &mut I, slot: Slot, intended: Nanos, now: Nanos) {
        if self.layer.is_some() {
            return self.send_layered(io, slot, intended, now);
        }
        let (bytes, reused) = self.hand_over_plain(io, slot, intended);
        self.recorder.sent(intended, bytes, reused, now);
    }

    /// Hands a request to the driver; returns its bytes, and whether its connection had carried one before.
    pub(crate) fn hand_over<I: Io>(&mut self, io: &mut I, slot: Slot, intended: Nanos) -> (u64, bool) {
        if self.layer.is_some() {
            self.hand_over_layered(io, slot, intended)
        } else {
            self.hand_over_plain(io, slot, intended)
        }
    }

    #[inline]
    fn hand_over_plain<I: Io>(&mut self, io: &mut I, slot: Slot, intended: Nanos) -> (u64, bool) {
        let trace = self.begin_trace(slot);
        let reused = self.begin_flight(slot, intended, trace);
        let connection = &self.connections[slot as usize];
        let sent = match &mut self.tracer {
            None => io.send(slot),
            Some(tracer) => io.write(slot, tracer.request(trace), Carries::Request),
        };
        // A driver that sends at once says when; the other one stamps the flight later.
        if let Some(sent) = sent {
            self.flights.stamp(slot, connection, sent);
        }
        if io.sampled() {
            self.flights.mark_sampled(slot, connection);
        }
        self.in_flight += 1;
        (self.plan.request_bytes, reused)
    }

    /// A request that was due at `intended` is about to be sent. Returns whether its connection had carried one before.
    #[inline]
    pub(crate) fn begin_flight(&mut self, slot: Slot, intended: Nanos, trace: Trace) -> bool {
        let connection = &mut self.connections[slot as usize];
        let ready = intended.max(connection.since);
        let reused = std::mem::replace(&mut connection.used, true);
        let trace = trace.on_connection(!reused);
        self.flights.push(slot, connection, Flight { intended, ready, sent: 0, departed: 0, trace });
        reused
    }

    /// The trace of the request that is about to be sent on `slot`; in HTTP/1 only, and not of a session.
    #[inline]
    pub(crate) fn begin_trace(&mut self, slot: Slot) -> Trace {
        let again = self.retries.as_ref().map_or(Trace::NONE, |retries| retries.trace(slot));
        self.tracer.as_mut().map_or(again, |tracer| tracer.resume(again))
    }

    /// Fills an open connection of a closed loop with as many requests as it may carry at once.
    #[inline]
    pub(crate) fn refill<I: Io>(&mut self, io: &mut I, slot: Slot, now: Nanos) {
        self.send_ready_on(io, slot, now);
        while self.connections[slot as usize].state == State::Open
            && self.connections[slot as usize].has_room()
            && self.take_closed(now)
        {
            self.recorder.taken(now);
            self.send(io, slot, now, now);
        }
    }

    /// One step of the parser over `rest`; the bytes it used, or `None` if the connection was given up.
    fn step<I: Io>(&mut self, io: &mut I, slot: Slot, rest: &[u8], now: Nanos) -> Option<usize> {
        let connection = &mut self.connections[slot as usize];
        let flight = self.events.as_ref().and_then(|_| self.flights.oldest(slot, connection));
        let mut consumed = 0;
        loop {
            let heads = match &mut self.pace {
                Pace::Sessions(sessions) => sessions.heads(slot),
                _ => &mut self.heads,
            };
            match connection.parser.next(heads, &rest[consumed..]) {
                Ok(step) => {
                    consumed += step.consumed;
                    match step.event {
                        None => return Some(consumed),
                        Some(Event::Body(body)) => {
                            if let Pace::Sessions(sessions) = &mut self.pace {
                                sessions.body(slot, body);
                            }
                            if let Some(kept) = self.bodies.get_mut(slot as usize) {
                                // One byte too many is enough to know that it is too long.
                                let room = (BODY_MAX_BYTES + 1).saturating_sub(kept.len());
                                kept.extend_from_slice(&body[..body.len().min(room)]);
                            }
                            if let Some(events) = &mut self.events
                                && let Some(flight) = flight
                            {
                                events.body(slot, flight, body, now, &mut self.recorder);
                            }
                        }
                        Some(Event::Head(head)) => {
                            self.wants_tls |= head.status == 400 && wants_tls(rest);
                            self.first.head(slot, || head.header("server"));
                            if let Pace::Sessions(sessions) = &mut self.pace {
                                sessions.head(slot, &head);
                            }
                            if let Some(events) = &mut self.events {
                                events.begin(slot, head.header("content-type"));
                            }
                        }
                        Some(Event::Interim { .. }) => {}
                        Some(Event::End(end)) => {
                            self.complete(io, slot, end, None, &rest[consumed..], now);
                            return Some(consumed);
                        }
                    }
                }
                Err(error) => {
                    let detail = Detail::Protocol(error, Piece::of(rest));
                    self.lose(io, slot, ErrorKind::Protocol, detail, now);
                    return None;
                }
            }
        }
    }

    /// The oldest request of `slot` has got its whole answer; `body` is it, if it came in one piece. `rest` are
    /// the bytes behind it.
    #[inline]
    fn complete<I: Io>(
        &mut self,
        io: &mut I,
        slot: Slot,
        end: End,
        body: Option<&[u8]>,
        rest: &[u8],
        now: Nanos,
    ) {
        let connection = &mut self.connections[slot as usize];
        let flight =
            self.flights.pop(slot, connection).expect("invariant: answers are read for requests in flight");
        self.in_flight -= 1;
        let was_full = connection.in_flight() + 1 == connection.depth;
        // The connection is free from the moment that its answer arrived, where the kernel says when: what a request waits
        // from there on is our own delay in polling.
        let is_known = self.arrived != 0 && (flight.sent..=now).contains(&self.arrived);
        connection.since = if is_known { self.arrived } else { now };
        let too_long = !rest.is_empty() && connection.in_flight() == 0 && end.keep_alive;
        let unasked = flight.sent == 0;
        let sample = Sample { arrived: self.arrived, ..connection.ended(flight, now) };
        if too_long || unasked {
            // An answer longer than it announced, or to a request that is only queued: neither can be trusted.
            let piece = Piece::of(if too_long { rest } else { body.unwrap_or_default() });
            self.end_lost(slot, sample, ErrorKind::Protocol, Detail::StrayBytes(piece));
            return self.hang_up(io, slot, now);
        }
        let (outcome, detail) = if let Some(evaluated) = self.evaluate_step(slot, end.status, body) {
            evaluated
        } else if self.checker.needs_body() {
            let kept = &mut self.bodies[slot as usize];
            let evaluated = self.checker.evaluate(end.status, end.body_bytes, body.unwrap_or(kept));
            kept.clear();
            evaluated
        } else {
            self.checker.evaluate(end.status, end.body_bytes, &[])
        };
        let detail = match detail {
            Detail::Status(400) if self.wants_tls || body.is_some_and(wants_tls) => Detail::WantsTls,
            detail => detail,
        };
        let answer = Answer { status: end.status, body_bytes: end.body_bytes };
        if let Some(events) = &mut self.events {
            let count = events.end(slot, flight, now, &mut self.recorder);
            if matches!(outcome, Outcome::Done(_)) {
                self.recorder.stream_complete(flight.intended, count);
            }
        }
        if let Some(first) = self.first.complete(slot, now, answer.status, answer.body_bytes) {
            self.recorder.first_response(first);
        }
        if matches!(outcome, Outcome::Done(_))
            && let Some(first) = self.checker.other_length(end.body_bytes)
        {
            self.recorder.other_length(sample.intended, first, end.body_bytes);
        }
        let again = if self.retries.is_none() {
            self.recorder.answered(sample, outcome, answer, detail);
            false
        } else {
            self.settle_answered(slot, sample, outcome, answer, detail)
        };
        if let Pace::Sessions(sessions) = &mut self.pace
            && !again
        {
            sessions.answered(slot, &sample);
        }
        if self.layer.as_ref().is_some_and(|layer| layer.is_worn(slot)) {
            return self.hang_up(io, slot, now);
        }
        if !(end.keep_alive && self.plan.keep_alive) {
            if self.plan.keep_alive {
                self.recorder.closed_by_server();
            }
            return self.leave(io, slot, now);
        }
        match self.pace {
            // The connection waits with its request.
            Pace::Closed { .. } if again => {}
            Pace::Closed { .. } => self.refill(io, slot, now),
            Pace::Open(_) | Pace::Sessions(_) => {
                if was_full && self.released(io, slot, now) {
                    self.free.push_back(slot);
                }
                self.dispatch_waiting(io, now);
            }
        }
    }

    /// A connection came free: a request that waited for one may go at once.
    #[inline]
    pub(crate) fn dispatch_waiting<I: Io>(&mut self, io: &mut I, now: Nanos) {
        if now < self.stop_at && self.pace.waiting(now) > 0 {
            self.dispatch(io, now);
        }
    }
}

/// Whether a 400 says that TLS is wanted: nginx's words, Go's, Apache's. They come in the first piece.
#[cold]
fn wants_tls(answer: &[u8]) -> bool {
    const WORDS: [&[u8]; 3] =
        [b"request was sent to HTTPS port", b"to an HTTPS server", b"to an SSL-enabled server"];
    const SEARCHED_BYTES: usize = 2048;
    let answer = &answer[..answer.len().min(SEARCHED_BYTES)];
    WORDS.iter().any(|words| answer.windows(words.len()).any(|window| window == *words))
}
