//! The open streams of a connection: few, so that an identifier is found without a map.

use std::sync::Arc;

use crate::h2::event::Stream;
use crate::h2::frame::LOW_31_BITS;
use crate::h2::windows::{ReceiveWindow, SendWindow};
use crate::request::RequestKind;

/// Streams of which is remembered that we reset them: the server may still send frames for them (RFC 9113 section 5.1).
const CANCELLED: usize = 32;

/// What is kept of an open stream.
#[derive(Debug, Clone)]
pub(crate) struct StreamState {
    /// Its identifier; 0 where the place is free.
    pub id: u32,
    /// The status of its final head; 0 before.
    pub status: u16,
    /// Interim heads so far.
    pub interim_responses: u8,
    /// The response has no body, whatever it says about its length.
    pub is_bodiless: bool,
    /// Room for its body.
    pub receive: ReceiveWindow,
    /// Room for the request's body.
    pub send: SendWindow,
    /// What is left to send of the request's body.
    pub unsent_bytes: usize,
    /// That body, where it is not the one of all requests.
    pub own_body: Option<Arc<[u8]>>,
    /// What the framing of its response depends on.
    pub kind: RequestKind,
    /// The body so far, up to the end of the frame at hand.
    pub body_bytes: u64,
    /// The announced length of the body.
    pub length: Option<u64>,
}

/// All streams of a connection.
#[derive(Debug)]
pub(crate) struct Streams {
    places: Box<[StreamState]>,
    open: u16,
    /// Those with something left to send.
    unsent: u16,
    /// The identifier of the next stream.
    next_id: u32,
    cancelled: [u32; CANCELLED],
    next_cancelled: usize,
    /// The highest identifier that was dropped from `cancelled`.
    forgotten: u32,
}

impl Streams {
    /// Room for `count` streams.
    pub(crate) fn new(count: u16) -> Self {
        let free = StreamState {
            id: 0,
            status: 0,
            interim_responses: 0,
            is_bodiless: false,
            receive: ReceiveWindow::new(0),
            send: SendWindow::new(0),
            unsent_bytes: 0,
            own_body: None,
            kind: RequestKind::Normal,
            body_bytes: 0,
            length: None,
        };
        Self {
            places: vec![free; usize::from(count)].into_boxed_slice(),
            open: 0,
            unsent: 0,
            next_id: 1,
            cancelled: [0; CANCELLED],
            next_cancelled: 0,
            forgotten: 0,
        }
    }

    /// Closes all, for a new connection.
    pub(crate) fn reset(&mut self) {
        for state in &mut self.places {
            (state.id, state.own_body) = (0, None);
        }
        (self.open, self.unsent, self.next_id) = (0, 0, 1);
        (self.cancelled, self.next_cancelled, self.forgotten) = ([0; CANCELLED], 0, 0);
    }

    /// Open streams.
    #[inline]
    pub(crate) fn open(&self) -> u16 {
        self.open
    }

    /// Places.
    #[inline]
    pub(crate) fn places(&self) -> u16 {
        u16::try_from(self.places.len()).expect("invariant: Streams::new asks for as many")
    }

    /// Open streams with something left to send.
    #[inline]
    pub(crate) fn unsent(&self) -> u16 {
        self.unsent
    }

    /// The last identifier was used (RFC 9113 section 5.1.1).
    #[inline]
    pub(crate) fn ids_are_spent(&self) -> bool {
        self.next_id > LOW_31_BITS
    }

    /// Whether no request was sent on the stream `id` yet.
    #[inline]
    pub(crate) fn is_idle(&self, id: u32) -> bool {
        // Those with even numbers are the server's, which must not open any.
        id.is_multiple_of(2) || id >= self.next_id
    }

    /// Opens the next stream, for a request of that `kind` with a body of `body_bytes`. There must be a free place and an
    /// identifier.
    #[inline]
    pub(crate) fn open_next(
        &mut self,
        kind: RequestKind,
        body_bytes: usize,
        own_body: Option<Arc<[u8]>>,
        receive: ReceiveWindow,
        send: SendWindow,
    ) -> Stream {
        let id = self.next_id;
        let preferred = self.preferred(id);
        let place = if self.places[preferred].id == 0 {
            preferred
        } else {
            let free = self.places.iter().position(|state| state.id == 0);
            free.expect("invariant: the caller has seen a free place")
        };
        self.places[place] = StreamState {
            id,
            status: 0,
            interim_responses: 0,
            is_bodiless: false,
            receive,
            send,
            unsent_bytes: body_bytes,
            own_body,
            kind,
            body_bytes: 0,
            length: None,
        };
        self.next_id += 2;
        self.open += 1;
        self.unsent += u16::from(body_bytes > 0);
        Stream { id, place: Self::number(place) }
    }

    /// The open stream `id`.
    #[inline]
    pub(crate) fn find(&self, id: u32) -> Option<Stream> {
        let preferred = self.preferred(id);
        let place = if self.places[preferred].id == id {
            preferred
        } else {
            self.places.iter().position(|state| state.id == id)?
        };
        Some(Stream { id, place: Self::number(place) })
    }

    /// The state of `stream`, if it is still open.
    #[inline]
    pub(crate) fn state(&mut self, stream: Stream) -> Option<&mut StreamState> {
        self.places.get_mut(usize::from(stream.place)).filter(|state| state.id == stream.id)
    }

    /// The stream at a place, if there is one.
    #[inline]
    pub(crate) fn at(&self, place: u16) -> Option<(Stream, &StreamState)> {
        let state = self.places.get(usize::from(place))?;
        (state.id != 0).then_some((Stream { id: state.id, place }, state))
    }

    /// All open streams.
    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = &mut StreamState> {
        self.places.iter_mut().filter(|state| state.id != 0)
    }

    /// The first stream above `id`.
    pub(crate) fn first_above(&self, id: u32) -> Option<Stream> {
        // In the order in which they were sent, whatever their places.
        let above = self.places.iter().map(|state| state.id).filter(|found| *found > id).min()?;
        self.find(above)
    }

    /// Notes that `bytes` of the request on `stream` were sent. Returns what is left.
    #[inline]
    pub(crate) fn sent(&mut self, stream: Stream, bytes: usize) -> usize {
        let Some(state) = self.state(stream) else { return 0 };
        state.send.take(bytes);
        state.unsent_bytes -= bytes;
        let left = state.unsent_bytes;
        self.unsent -= u16::from(left == 0);
        left
    }

    /// Frees the place of `stream`, and returns what it was.
    #[inline]
    pub(crate) fn close(&mut self, stream: Stream) -> Option<&StreamState> {
        let state = self.places.get_mut(usize::from(stream.place)).filter(|state| state.id == stream.id)?;
        state.id = 0;
        state.own_body = None;
        self.open -= 1;
        self.unsent -= u16::from(state.unsent_bytes > 0);
        Some(state)
    }

    /// Remembers that we reset the stream `id`.
    pub(crate) fn cancelled(&mut self, id: u32) {
        let dropped = std::mem::replace(&mut self.cancelled[self.next_cancelled], id);
        self.forgotten = self.forgotten.max(dropped);
        self.next_cancelled = (self.next_cancelled + 1) % CANCELLED;
    }

    /// Whether we reset the stream `id`, or may have.
    pub(crate) fn was_cancelled(&self, id: u32) -> bool {
        id <= self.forgotten || self.cancelled.contains(&id)
    }

    /// The place that a stream takes if it is free. Streams mostly end in the order in which they began.
    #[inline]
    fn preferred(&self, id: u32) -> usize {
        let places = u32::from(self.places());
        usize::try_from((id / 2) % places).expect("invariant: this is a 64-bit program")
    }

    #[inline]
    fn number(place: usize) -> u16 {
        u16::try_from(place).expect("invariant: places are numbered with 16 bits")
    }

    /// As if so many streams had been used.
    #[cfg(test)]
    pub(crate) fn skip_to(&mut self, id: u32) {
        self.next_id = id;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(streams: &mut Streams) -> Stream {
        streams.open_next(RequestKind::Normal, 0, None, ReceiveWindow::new(9), SendWindow::new(9))
    }

    #[test]
    fn streams_are_found_wherever_they_are() {
        let mut streams = Streams::new(3);
        let [a, b, c] = [(); 3].map(|()| open(&mut streams));
        assert_eq!((a.id, b.id, c.id), (1, 3, 5));
        // The preferred place of 7 is that of 1, which stays.
        streams.close(b);
        let d = open(&mut streams);
        assert_eq!((d.id, d.place), (7, b.place));
        assert_eq!([1, 3, 5, 7, 9].map(|id| streams.find(id)), [Some(a), None, Some(c), Some(d), None]);
        assert!(streams.state(b).is_none(), "its place has another stream now");
        assert!(streams.close(b).is_none());
        assert_eq!((streams.open(), streams.first_above(1), streams.first_above(7)), (3, Some(c), None));
        assert!(!streams.is_idle(3) && streams.is_idle(9) && streams.is_idle(2));
    }

    #[test]
    fn what_was_cancelled_is_remembered_or_assumed() {
        let mut streams = Streams::new(1);
        streams.skip_to(1001);
        for id in (101..=101 + 2 * 40).step_by(2) {
            streams.cancelled(id);
        }
        assert!(streams.was_cancelled(181) && streams.was_cancelled(101));
        assert!(streams.was_cancelled(1), "forgotten, so it may have been");
        assert!(!streams.was_cancelled(183));
    }
}
