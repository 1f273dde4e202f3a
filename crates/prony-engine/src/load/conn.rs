//! One connection of a worker: its state and the requests in flight on it.

use prony_http::ResponseParser;

use crate::clock::Nanos;
use crate::load::trace::Trace;
use crate::record::sample::Sample;

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// There is none.
    Closed,
    /// On its way.
    Connecting,
    /// Connected, in the handshake of the layer between socket and HTTP.
    Securing,
    /// Open, with or without requests in flight.
    Open,
}

/// The worker's side of a connection; the driver has the socket.
pub(crate) struct Connection {
    /// Reads the answers.
    pub parser: ResponseParser,
    /// What it is doing.
    pub state: State,
    /// Whether it has carried a request.
    pub used: bool,
    /// The oldest request in flight, as an index into the connection's flights.
    oldest: u16,
    /// Requests in flight.
    in_flight: u16,
    /// Requests that it may carry at once; 0 while it takes no more.
    pub depth: u16,
    /// When it began to connect, while it is not open; afterwards, when it was last free for a request.
    pub since: Nanos,
    /// When the request that waits for this connection was due (closed loop only); 0 for none.
    pub waiting: Nanos,
    /// When the first byte of the current answer was seen; 0 before.
    pub first_byte: Nanos,
    /// How long it took to open. While securing: how long TCP took.
    pub took: Nanos,
    /// What TLS took of that.
    pub tls: Nanos,
    /// Requests that have ended, modulo 2^32: the number of the oldest one in flight.
    ended: u32,
    /// Its local port; 0 if it has none.
    pub port: u16,
}

/// A request in flight.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Flight {
    /// When it was due.
    pub intended: Nanos,
    /// When it was due and the connection was free.
    pub ready: Nanos,
    /// When it was handed to the kernel; 0 while it is only queued.
    pub sent: Nanos,
    /// When its last byte left the kernel; 0 if the kernel was not asked, and [`STAMP_PENDING`] until it answers.
    pub departed: Nanos,
    /// Its trace and what else is known of it.
    pub trace: Trace,
}

/// A request was picked for stamps, and the kernel has not reported yet when it left: no moment of ours, which are of
/// CLOCK_MONOTONIC, is so early.
pub(crate) const STAMP_PENDING: Nanos = 1;

impl Flight {
    /// Its last byte left the kernel at `now`: for the first time, if that is not known already. The kernel reports a
    /// segment again that TCP sends again, which is part of what the network took.
    #[inline]
    pub(crate) fn leave(&mut self, now: Nanos) {
        if self.departed <= STAMP_PENDING {
            self.departed = now;
        }
    }
}

impl Connection {
    /// A slot without a connection.
    pub(crate) fn new() -> Self {
        Self {
            parser: ResponseParser::new(),
            state: State::Closed,
            used: false,
            oldest: 0,
            in_flight: 0,
            depth: 0,
            since: 0,
            waiting: 0,
            first_byte: 0,
            took: 0,
            tls: 0,
            ended: 0,
            port: 0,
        }
    }

    /// Back to a slot without a connection; the parser keeps its buffer.
    pub(crate) fn reset(&mut self) {
        self.parser.reset();
        self.state = State::Closed;
        self.used = false;
        self.in_flight = 0;
        self.depth = 0;
        self.first_byte = 0;
        self.took = 0;
        self.tls = 0;
        self.ended = 0;
        self.port = 0;
    }

    /// The moments of `flight`, which ended at `done`. One that was still queued counts as sent then: it took
    /// no time of the server's.
    #[inline]
    pub(crate) fn ended(&mut self, flight: Flight, done: Nanos) -> Sample {
        let is_first = flight.trace.is_first_on_connection();
        Sample {
            intended: flight.intended,
            ready: flight.ready,
            sent: if flight.sent == 0 { done } else { flight.sent },
            sampled: flight.departed != 0,
            departed: if flight.departed == STAMP_PENDING { 0 } else { flight.departed },
            arrived: 0,
            first_byte: std::mem::take(&mut self.first_byte),
            done,
            connect: if is_first { self.took } else { 0 },
            tls: if is_first { self.tls } else { 0 },
            port: self.port,
            is_unsent: false,
            trace: flight.trace,
        }
    }

    /// Whether answers have come on it, and nothing yet of the next one.
    pub(crate) fn is_reused(&self) -> bool {
        self.ended > 0 && self.first_byte == 0
    }

    /// Requests in flight.
    #[inline]
    pub(crate) fn in_flight(&self) -> u16 {
        self.in_flight
    }

    /// Whether it can take one more.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.in_flight < self.depth
    }

    /// One more request is in flight, on a stream of its own.
    #[inline]
    pub(crate) fn stream_begun(&mut self) {
        self.in_flight += 1;
    }

    /// A request on a stream of its own is in flight no more.
    #[inline]
    pub(crate) fn stream_ended(&mut self) {
        self.in_flight -= 1;
        self.ended = self.ended.wrapping_add(1);
    }

    /// Whether a request on it has ended.
    pub(crate) fn has_answered(&self) -> bool {
        self.ended > 0
    }
}

/// The requests in flight of all connections of a worker: `depth` places each, used in turn.
pub(crate) struct Flights {
    places: Box<[Flight]>,
    /// Bytes that were sent on the connection up to the end of each request, modulo 2^32; none where all requests have
    /// the same length.
    ends: Box<[u32]>,
    depth: u16,
}

impl Flights {
    /// Room for `depth` requests on each of `slots` connections.
    pub(crate) fn new(slots: u32, depth: u32) -> Self {
        let depth = u16::try_from(depth).expect("invariant: RunPlan::PIPELINE_MAX");
        Self {
            places: vec![Flight::default(); slots as usize * usize::from(depth)].into_boxed_slice(),
            ends: Box::new([]),
            depth,
        }
    }

    /// The same for requests that differ in length on the wire.
    pub(crate) fn of_any_length(slots: u32, depth: u32) -> Self {
        let flights = Self::new(slots, depth);
        Self { ends: vec![0; flights.places.len()].into_boxed_slice(), ..flights }
    }

    /// Requests in flight on one connection at most.
    #[inline]
    pub(crate) fn depth(&self) -> u16 {
        self.depth
    }

    /// Adds `flight`.
    #[inline]
    pub(crate) fn push(&mut self, slot: u32, connection: &mut Connection, flight: Flight) {
        let place = self.place(slot, connection.oldest, connection.in_flight);
        self.places[place] = flight;
        connection.in_flight += 1;
    }

    /// The oldest one.
    #[inline]
    pub(crate) fn oldest(&self, slot: u32, connection: &Connection) -> Option<Flight> {
        (connection.in_flight > 0).then(|| self.places[self.place(slot, connection.oldest, 0)])
    }

    /// Removes the oldest one.
    #[inline]
    pub(crate) fn pop(&mut self, slot: u32, connection: &mut Connection) -> Option<Flight> {
        let flight = self.oldest(slot, connection)?;
        connection.oldest = if connection.oldest + 1 == self.depth { 0 } else { connection.oldest + 1 };
        connection.in_flight -= 1;
        connection.ended = connection.ended.wrapping_add(1);
        Some(flight)
    }

    /// The byte number `key` of `connection` (from 0, modulo 2^32) left the kernel at `now`, where a request has
    /// `request_bytes`. Returns whether a request in flight ended with it. No more than 2^32 bytes may be in flight.
    #[inline]
    pub(crate) fn departed(
        &mut self,
        slot: u32,
        connection: &Connection,
        request_bytes: u32,
        key: u32,
        now: Nanos,
    ) -> bool {
        // Bytes from the end of the last request that has ended to the end of this one.
        let bytes = key.wrapping_add(1).wrapping_sub(connection.ended.wrapping_mul(request_bytes));
        let number = bytes / request_bytes;
        if !bytes.is_multiple_of(request_bytes) || number == 0 || number > u32::from(connection.in_flight) {
            return false;
        }
        let index = u16::try_from(number - 1).expect("invariant: less than the requests in flight");
        let place = self.place(slot, connection.oldest, index);
        self.places[place].leave(now);
        true
    }

    /// The newest request in flight ends with the byte before number `end`; see [`Self::of_any_length`].
    #[inline]
    pub(crate) fn mark_end(&mut self, slot: u32, connection: &Connection, end: u32) {
        if let Some(newest) = connection.in_flight.checked_sub(1) {
            let place = self.place(slot, connection.oldest, newest);
            self.ends[place] = end;
        }
    }

    /// As [`Self::departed`], for requests of any length.
    pub(crate) fn departed_at_end(
        &mut self,
        slot: u32,
        connection: &Connection,
        key: u32,
        now: Nanos,
    ) -> bool {
        let end = key.wrapping_add(1);
        for index in 0..connection.in_flight {
            let place = self.place(slot, connection.oldest, index);
            if self.ends[place] == end {
                self.places[place].leave(now);
                return true;
            }
        }
        false
    }

    /// The newest request in flight was picked for stamps.
    #[inline]
    pub(crate) fn mark_sampled(&mut self, slot: u32, connection: &Connection) {
        if let Some(newest) = connection.in_flight.checked_sub(1) {
            let place = self.place(slot, connection.oldest, newest);
            self.places[place].departed = STAMP_PENDING;
        }
    }

    /// Stamps those that were only queued: they are the newest.
    #[inline]
    pub(crate) fn stamp(&mut self, slot: u32, connection: &Connection, now: Nanos) {
        for index in (0..connection.in_flight).rev() {
            let place = self.place(slot, connection.oldest, index);
            let flight = &mut self.places[place];
            if flight.sent != 0 {
                return;
            }
            flight.sent = now;
        }
    }

    #[inline]
    fn place(&self, slot: u32, oldest: u16, index: u16) -> usize {
        let depth = u32::from(self.depth);
        let within = u32::from(oldest) + u32::from(index);
        let within = if within >= depth { within - depth } else { within };
        slot as usize * depth as usize + within as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_was_only_queued_took_no_time_of_the_server() {
        let check = |sent: Nanos, expected: Nanos| {
            let mut connection = Connection { took: 5, tls: 3, first_byte: 80, ..Connection::new() };
            let next = Flight { intended: 10, ready: 20, sent, ..Flight::default() };
            let first = Flight { trace: Trace::NONE.on_connection(true), ..next };
            let sample = connection.ended(first, 90);
            assert_eq!((sample.intended, sample.ready, sample.sent, sample.done), (10, 20, expected, 90));
            assert_eq!((sample.first_byte, sample.connect, sample.tls), (80, 5, 3));
            let next = connection.ended(next, 95);
            assert_eq!(
                (next.first_byte, next.connect, next.tls),
                (0, 0, 0),
                "they are of the first one only"
            );
        };
        check(30, 30);
        check(0, 90);
    }

    #[test]
    fn flights_come_back_in_order_and_are_stamped_once() {
        let mut flights = Flights::new(2, 3);
        let mut connection = Connection { depth: 3, ..Connection::new() };
        let flight = |intended| Flight { intended, ready: intended, ..Flight::default() };
        for round in 0..5 {
            flights.push(1, &mut connection, flight(round * 10 + 1));
            flights.stamp(1, &connection, 1000 + round);
            flights.push(1, &mut connection, flight(round * 10 + 2));
            flights.push(1, &mut connection, flight(round * 10 + 3));
            assert!(!connection.has_room());
            flights.stamp(1, &connection, 2000 + round);
            let popped: Vec<(Nanos, Nanos)> = (0..3)
                .filter_map(|_| flights.pop(1, &mut connection))
                .map(|flight| (flight.intended, flight.sent))
                .collect();
            let expected = [
                (round * 10 + 1, 1000 + round),
                (round * 10 + 2, 2000 + round),
                (round * 10 + 3, 2000 + round),
            ];
            assert_eq!(popped, expected);
            assert!(flights.pop(1, &mut connection).is_none());
        }
    }

    /// Of four requests of `bytes` each in flight behind `ended` others: which one the byte `key` ends.
    fn departed(bytes: u32, ended: u32, key: u32) -> Option<usize> {
        let mut flights = Flights::new(1, 4);
        let mut connection = Connection { ended, ..Connection::new() };
        for intended in 1..=4 {
            flights.push(
                0,
                &mut connection,
                Flight { intended, ready: intended, sent: 1, ..Flight::default() },
            );
        }
        let found = flights.departed(0, &connection, bytes, key, 77);
        let marks: Vec<Nanos> =
            (0..4).filter_map(|_| flights.pop(0, &mut connection)).map(|flight| flight.departed).collect();
        assert_eq!(marks.iter().filter(|mark| **mark == 77).count(), usize::from(found), "{marks:?}");
        assert_eq!(connection.ended, ended.wrapping_add(4));
        marks.iter().position(|mark| *mark == 77)
    }

    #[test]
    fn a_key_is_that_of_a_requests_last_byte() {
        let check = |bytes: u32, ended: u32, key: u32, expected: Option<usize>| {
            assert_eq!(departed(bytes, ended, key), expected, "{bytes} bytes, {ended} ended, byte {key}");
        };
        check(100, 0, 99, Some(0));
        check(100, 0, 399, Some(3));
        check(100, 0, 100, None);
        check(100, 0, 499, None);
        check(100, 7, 699, None);
        check(100, 7, 799, Some(0));
        check(100, 7, 0, None);
    }

    #[test]
    fn requests_of_any_length_are_known_by_their_ends() {
        let mut flights = Flights::of_any_length(2, 3);
        let mut connection = Connection::new();
        // The count wraps within the second one.
        for end in [u32::MAX - 9, 90, 200] {
            flights.push(1, &mut connection, Flight { intended: 1, ready: 1, sent: 1, ..Flight::default() });
            flights.mark_end(1, &connection, end);
        }
        let mut departed = |key| flights.departed_at_end(1, &connection, key, 77);
        assert_eq!(
            [u32::MAX - 10, u32::MAX, 0, 89, 90, 150].map(&mut departed),
            [true, false, false, true, false, false]
        );
        let marks: Vec<Nanos> =
            (0..3).filter_map(|_| flights.pop(1, &mut connection)).map(|flight| flight.departed).collect();
        assert_eq!(marks, [77, 77, 0]);
        assert!(!flights.departed_at_end(1, &connection, 199, 77), "it is no longer in flight");
    }

    #[test]
    fn a_segment_that_is_sent_again_left_when_it_was_sent_first() {
        let mut flights = Flights::of_any_length(1, 1);
        let mut connection = Connection::new();
        flights.push(0, &mut connection, Flight { intended: 1, ready: 1, sent: 1, ..Flight::default() });
        flights.mark_end(0, &connection, 40);
        flights.mark_sampled(0, &connection);
        assert!(
            flights.departed_at_end(0, &connection, 39, 77) && flights.departed(0, &connection, 40, 39, 99)
        );
        assert_eq!(flights.pop(0, &mut connection).map(|flight| flight.departed), Some(77));
    }

    #[test]
    fn keys_and_requests_are_counted_round_and_round() {
        let (bytes, ended) = (1000, u32::MAX / 1000);
        // Bytes 4,294,967,000 to 4,294,967,999: the number wraps within this request.
        let last = 4_294_967_999_u64;
        for number in 0..4 {
            let key = u32::try_from((last + number * 1000) % (1 << 32)).unwrap();
            assert_eq!(departed(bytes, ended, key), usize::try_from(number).ok());
        }
        // The number of a request wraps too: the byte before request 2^32 is byte 2^32 · 1000 − 1.
        assert_eq!(departed(bytes, u32::MAX, u32::MAX), Some(0));
        assert_eq!(departed(bytes, u32::MAX, 999), Some(1));
    }
}
