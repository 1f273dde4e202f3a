//! Requests that the server has refused before it processed them: they are sent again as they were, timed from when they
//! were due.

use prony_model::ErrorKind;

use super::Http2;
use crate::clock::Nanos;
use crate::load::conn::State;
use crate::load::driver::{Io, Slot};
use crate::load::retry::Attempt;
use crate::load::scenario::fault::StepFault;
use crate::load::scenario::sessions::{NOBODY, Place};
use crate::load::worker::{Pace, Worker};
use crate::record::failure_detail::Detail;
use crate::record::sample::Sample;

/// A request that is refused so often has failed: the server refuses whatever comes.
pub(super) const REFUSALS_MAX: u8 = 16;

/// A request that is to be sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outgoing {
    /// When it was due.
    pub intended: Nanos,
    /// When it was refused last, or its backoff ended; 0 for the first time.
    pub at: Nanos,
    /// How often it was refused.
    pub refusals: u8,
    /// Which of its attempts it is.
    pub attempt: Attempt,
    /// Whose it is; [`NOBODY`] without sessions.
    pub place: Place,
}

impl Outgoing {
    /// A first attempt that was never refused, of no session.
    pub(crate) fn first(intended: Nanos) -> Self {
        Self { intended, at: 0, refusals: 0, attempt: Attempt::default(), place: NOBODY }
    }
}

impl Http2 {
    /// Those that wait to be sent again.
    pub(crate) fn refused(&self) -> impl ExactSizeIterator<Item = &Outgoing> {
        self.refused.iter()
    }
}

impl Worker {
    /// Whether a request waits to be sent again.
    #[inline]
    pub(crate) fn has_refused(&self) -> bool {
        let http2 = self.layer.as_ref().and_then(|layer| layer.http2.as_ref());
        http2.is_some_and(|http2| !http2.refused.is_empty())
    }

    /// Sends what was refused on whatever connection has room, and opens one if none has.
    pub(super) fn send_refused<I: Io>(&mut self, io: &mut I, now: Nanos) {
        while self.has_refused() {
            let Some(slot) = self.take_roomy() else { break };
            self.send_refused_on(io, slot, now);
            self.give_back(slot);
        }
        if self.has_refused()
            && self.connecting == 0
            && let Some(slot) = self.closed.pop()
        {
            self.connect(io, slot, now);
        }
    }

    /// Sends as much of it as the connection of `slot` has room for.
    pub(super) fn send_refused_on<I: Io>(&mut self, io: &mut I, slot: Slot, now: Nanos) {
        while self.connections[slot as usize].has_room()
            && let Some(refused) = self.http2().and_then(|http2| http2.refused.pop_front())
        {
            self.send_stream(io, slot, refused, now);
        }
    }

    /// An open connection with room for a request, whatever the pace; for [`Self::give_back`].
    pub(crate) fn take_roomy(&mut self) -> Option<Slot> {
        if !matches!(self.pace, Pace::Closed { .. }) {
            return self.free.pop_front();
        }
        let has_room = |slot: &Slot| {
            let connection = &self.connections[*slot as usize];
            connection.state == State::Open && connection.has_room()
        };
        (0..self.plan.slots).find(has_room)
    }

    /// `slot` has got a request: others can have it if it has room left.
    pub(crate) fn give_back(&mut self, slot: Slot) {
        let connection = &self.connections[slot as usize];
        let is_listed = !matches!(self.pace, Pace::Closed { .. });
        if is_listed && connection.state == State::Open && connection.has_room() {
            self.free.push_back(slot);
        }
    }

    /// There was no connection for the request that has waited the longest to be sent again; false if there is none.
    pub(crate) fn fail_refused(
        &mut self,
        slot: Slot,
        began: Nanos,
        kind: ErrorKind,
        detail: Detail,
        now: Nanos,
    ) -> bool {
        let Some(refused) = self.http2().and_then(|http2| http2.refused.pop_front()) else { return false };
        let sample = Sample::unsent(refused.intended, began, now);
        let again = self.settle_unconnected(refused.attempt, slot, refused.place, sample, kind, detail);
        if let Pace::Sessions(sessions) = &mut self.pace
            && !again
        {
            sessions.not_sent(refused.place, &sample, StepFault::Connection);
        }
        true
    }
}
