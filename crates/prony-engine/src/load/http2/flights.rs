//! Requests in flight on streams, which end in any order.

use prony_http::h2::Stream;

use crate::clock::Nanos;
use crate::load::conn::{Flight, STAMP_PENDING};
use crate::load::driver::Slot;

/// The requests in flight of all connections of a worker: a connection's streams have a place each, which the protocol core
/// gives them.
pub(crate) struct StreamFlights {
    places: Box<[StreamFlight]>,
    depth: u16,
}

/// A request in flight on a stream.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StreamFlight {
    /// Its moments.
    pub flight: Flight,
    /// When the first byte of its answer was seen; 0 before.
    pub first_byte: Nanos,
    /// Its stream; 0 where the place is free.
    id: u32,
    /// Bytes that were sent on the connection up to its end, modulo 2^32.
    end: u32,
    /// Whether `end` is known.
    has_end: bool,
    /// How often the server has refused it.
    pub refusals: u8,
}

impl StreamFlight {
    /// It went at `at`, if nobody knows better.
    #[inline]
    pub(crate) fn sent(&mut self, at: Nanos) {
        if self.flight.sent == 0 {
            self.flight.sent = at;
        }
    }

    /// It ends with the byte before number `end` of its connection. `is_sampled`: the kernel says when that leaves.
    #[inline]
    pub(crate) fn ends_at(&mut self, end: u32, is_sampled: bool) {
        (self.end, self.has_end) = (end, true);
        if is_sampled {
            self.flight.departed = STAMP_PENDING;
        }
    }
}

impl StreamFlights {
    /// Room for `depth` requests on each of `slots` connections.
    pub(crate) fn new(slots: u32, depth: u16) -> Self {
        let places = slots as usize * usize::from(depth);
        Self { places: vec![StreamFlight::default(); places].into_boxed_slice(), depth }
    }

    /// The number of a place among those of all connections.
    #[inline]
    pub(crate) fn number(&self, slot: Slot, place: u16) -> Slot {
        slot * u32::from(self.depth) + u32::from(place)
    }

    /// A request is sent on `stream`.
    #[inline]
    pub(crate) fn begin(&mut self, slot: Slot, stream: Stream, flight: Flight, refusals: u8) {
        let number = self.number(slot, stream.place) as usize;
        self.places[number] = StreamFlight { flight, id: stream.id, refusals, ..StreamFlight::default() };
    }

    /// The request on `stream`, if it is in flight.
    #[inline]
    pub(crate) fn get(&mut self, slot: Slot, stream: Stream) -> Option<&mut StreamFlight> {
        let number = self.number(slot, stream.place) as usize;
        self.places.get_mut(number).filter(|flight| flight.id == stream.id)
    }

    /// The same; it is in flight no more.
    #[inline]
    pub(crate) fn end(&mut self, slot: Slot, stream: Stream) -> Option<StreamFlight> {
        let flight = self.get(slot, stream)?;
        let ended = *flight;
        flight.id = 0;
        Some(ended)
    }

    /// All in flight on `slot`, with their streams.
    pub(crate) fn of(&self, slot: Slot) -> impl Iterator<Item = (Stream, &StreamFlight)> {
        let first = self.number(slot, 0) as usize;
        let places = &self.places[first..first + usize::from(self.depth)];
        (0..self.depth).zip(places).filter(|(_, flight)| flight.id != 0).map(|(place, flight)| {
            let stream = Stream { id: flight.id, place };
            (stream, flight)
        })
    }

    /// The byte number `key` of the connection left the kernel at `now`. Returns whether requests in flight ended with it:
    /// several, if they went out together.
    pub(crate) fn departed(&mut self, slot: Slot, key: u32, now: Nanos) -> bool {
        let end = key.wrapping_add(1);
        let first = self.number(slot, 0) as usize;
        let mut found = false;
        for flight in &mut self.places[first..first + usize::from(self.depth)] {
            if flight.id != 0 && flight.has_end && flight.end == end {
                flight.flight.leave(now);
                found = true;
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flight(intended: Nanos) -> Flight {
        Flight { intended, ready: intended, ..Flight::default() }
    }

    #[test]
    fn requests_end_in_any_order() {
        let mut flights = StreamFlights::new(2, 3);
        let streams = [(1, 0), (3, 1), (5, 2)].map(|(id, place)| Stream { id, place });
        for stream in streams {
            flights.begin(1, stream, flight(stream.id.into()), 0);
        }
        let ended = flights.end(1, streams[1]).expect("it is in flight");
        assert_eq!(ended.flight.intended, 3);
        assert!(flights.end(1, streams[1]).is_none() && flights.get(0, streams[0]).is_none());
        let next = Stream { id: 7, place: 1 };
        flights.begin(1, next, flight(7), 2);
        assert!(flights.get(1, streams[1]).is_none(), "its place has another request now");
        let left: Vec<u32> = flights.of(1).map(|(stream, _)| stream.id).collect();
        assert_eq!(left, [1, 7, 5]);
        assert_eq!(flights.of(0).count(), 0);
    }

    #[test]
    fn requests_that_went_together_departed_together() {
        let mut flights = StreamFlights::new(1, 4);
        let streams = [0, 1, 2, 3].map(|place| Stream { id: u32::from(place) * 2 + 1, place });
        for (stream, end) in streams.into_iter().zip([u32::MAX - 5, u32::MAX - 5, 0]) {
            flights.begin(0, stream, flight(1), 0);
            flights.get(0, stream).expect("it is in flight").ends_at(end, true);
        }
        // The last one's end is not known.
        flights.begin(0, streams[3], flight(1), 0);
        assert!(flights.departed(0, u32::MAX - 6, 70));
        assert!(!flights.departed(0, u32::MAX - 5, 71));
        assert!(flights.departed(0, u32::MAX, 72));
        // What the kernel sends again (a probe for lost segments) has left before.
        assert!(flights.departed(0, u32::MAX - 6, 73));
        let departed: Vec<Nanos> = flights.of(0).map(|(_, flight)| flight.flight.departed).collect();
        assert_eq!(departed, [70, 70, 72, 0]);
    }
}
