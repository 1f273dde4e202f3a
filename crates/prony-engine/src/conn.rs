//! One connection of a worker: its state and the requests in flight on it.

use prony_http::ResponseParser;

use crate::clock::Nanos;
use crate::recorder::Sample;

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// There is none.
    Closed,
    /// On its way.
    Connecting,
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
    /// When it began to connect, while connecting; afterwards, when it was last free for a request.
    pub since: Nanos,
    /// When the request that waits for this connection was due (closed loop only); 0 for none.
    pub waiting: Nanos,
    /// When the first byte of the current answer was seen; 0 before.
    pub first_byte: Nanos,
    /// How long it took to open, until its first request has ended; 0 afterwards.
    pub took: Nanos,
    /// Its local port, where single samples are kept; else 0.
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
            since: 0,
            waiting: 0,
            first_byte: 0,
            took: 0,
            port: 0,
        }
    }

    /// Back to a slot without a connection; the parser keeps its buffer.
    pub(crate) fn reset(&mut self) {
        self.parser.reset();
        self.state = State::Closed;
        self.used = false;
        self.in_flight = 0;
        self.first_byte = 0;
        self.took = 0;
        self.port = 0;
    }

    /// The moments of `flight`, which ended at `done`. One that was still queued counts as sent then: it took
    /// no time of the server's.
    #[inline]
    pub(crate) fn ended(&mut self, flight: Flight, done: Nanos) -> Sample {
        Sample {
            intended: flight.intended,
            ready: flight.ready,
            sent: if flight.sent == 0 { done } else { flight.sent },
            first_byte: std::mem::take(&mut self.first_byte),
            done,
            connect: std::mem::take(&mut self.took),
            port: self.port,
        }
    }

    /// Requests in flight.
    #[inline]
    pub(crate) fn in_flight(&self) -> u16 {
        self.in_flight
    }
}

/// The requests in flight of all connections of a worker: `depth` places each, used in turn.
pub(crate) struct Flights {
    places: Box<[Flight]>,
    depth: u16,
}

impl Flights {
    /// Room for `depth` requests on each of `slots` connections.
    pub(crate) fn new(slots: u32, depth: u32) -> Self {
        let depth = u16::try_from(depth).expect("invariant: RunPlan::MAX_PIPELINE");
        Self {
            places: vec![Flight::default(); slots as usize * usize::from(depth)].into_boxed_slice(),
            depth,
        }
    }

    /// Requests in flight on one connection at most.
    #[inline]
    pub(crate) fn depth(&self) -> u16 {
        self.depth
    }

    /// Whether `connection` can take one more.
    #[inline]
    pub(crate) fn has_room(&self, connection: &Connection) -> bool {
        connection.in_flight < self.depth
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
        Some(flight)
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
            let mut connection = Connection { took: 5, first_byte: 80, ..Connection::new() };
            let flight = Flight { intended: 10, ready: 20, sent };
            let sample = connection.ended(flight, 90);
            assert_eq!((sample.intended, sample.ready, sample.sent, sample.done), (10, 20, expected, 90));
            assert_eq!((sample.first_byte, sample.connect), (80, 5));
            let next = connection.ended(flight, 95);
            assert_eq!((next.first_byte, next.connect), (0, 0), "both are of the first one only");
        };
        check(30, 30);
        check(0, 90);
    }

    #[test]
    fn flights_come_back_in_order_and_are_stamped_once() {
        let mut flights = Flights::new(2, 3);
        let mut connection = Connection::new();
        let flight = |intended| Flight { intended, ready: intended, sent: 0 };
        for round in 0..5 {
            flights.push(1, &mut connection, flight(round * 10 + 1));
            flights.stamp(1, &connection, 1000 + round);
            flights.push(1, &mut connection, flight(round * 10 + 2));
            flights.push(1, &mut connection, flight(round * 10 + 3));
            assert!(!flights.has_room(&connection));
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
}
