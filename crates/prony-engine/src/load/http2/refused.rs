//! Requests that the server has refused before it processed them: they are sent again, timed from when they were due.

use prony_model::ErrorKind;

use super::Http2;
use crate::clock::Nanos;
use crate::load::conn::State;
use crate::load::driver::{Io, Slot};
use crate::load::worker::{Pace, Worker};
use crate::record::failure_detail::Detail;

/// A request that is refused so often has failed: the server refuses whatever comes.
pub(super) const REFUSALS_MAX: u8 = 16;

/// A request that is to be sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refused {
    /// When it was due.
    pub intended: Nanos,
    /// When it was refused last; 0 for never.
    pub at: Nanos,
    /// How often.
    pub times: u8,
}

impl Refused {
    /// One that was never refused.
    pub(super) fn never(intended: Nanos) -> Self {
        Self { intended, at: 0, times: 0 }
    }
}

impl Http2 {
    /// Takes all that still wait, at the end of a run: when each was due.
    pub(crate) fn take_refused(&mut self) -> impl Iterator<Item = Nanos> {
        self.refused.drain(..).map(|refused| refused.intended)
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
            let slot = match self.pace {
                Pace::Open(_) | Pace::Sessions(_) => self.free.pop_front(),
                Pace::Closed { .. } => self.roomy(),
            };
            let Some(slot) = slot else { break };
            self.send_refused_on(io, slot, now);
            if matches!(self.pace, Pace::Open(_)) && self.connections[slot as usize].has_room() {
                self.free.push_back(slot);
            }
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
            self.send_one(io, slot, refused, now);
        }
    }

    /// An open connection with room for a request.
    fn roomy(&self) -> Option<Slot> {
        let has_room = |slot: &Slot| {
            let connection = &self.connections[*slot as usize];
            connection.state == State::Open && connection.has_room()
        };
        (0..self.plan.slots).find(has_room)
    }

    /// There was no connection for the request that has waited the longest to be sent again; false if there is none.
    pub(crate) fn fail_refused(&mut self, began: Nanos, kind: ErrorKind, detail: Detail, now: Nanos) -> bool {
        let Some(refused) = self.http2().and_then(|http2| http2.refused.pop_front()) else { return false };
        self.record_unconnected(refused.intended, began, kind, detail, now);
        true
    }
}
