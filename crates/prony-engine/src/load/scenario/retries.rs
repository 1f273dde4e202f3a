//! Sessions whose request is sent again: each waits with it, and with nothing else.

use super::agenda::{Entry, Place};
use super::response;
use super::sessions::{NOBODY, Sessions};
use crate::clock::Nanos;
use crate::load::driver::Slot;
use crate::load::retry::Retry;

impl Sessions {
    /// Whose request is in flight on `slot`; [`NOBODY`] for none.
    pub(crate) fn on(&self, slot: Slot) -> Place {
        self.by_slot[slot as usize]
    }

    /// The request on `slot` is in flight no more, and is sent again: whose it is.
    pub(crate) fn forget_attempt(&mut self, slot: Slot) -> Place {
        let place = std::mem::replace(&mut self.by_slot[slot as usize], NOBODY);
        self.bodies[slot as usize].clear();
        if place != NOBODY {
            self.scenario.shared.end_request();
        }
        place
    }

    /// The request of `place` is sent again as `retry` says. Nothing of the response that it got is kept.
    pub(crate) fn try_again(&mut self, place: Place, retry: Retry) {
        let Some(session) = self.places.get_mut(place as usize) else { return };
        response::forget(session, &self.scenario);
        session.retry = Some(retry);
        self.agenda.add(retry.due, Entry::Retry(place));
    }

    /// Whether a request waits to be sent again.
    pub(crate) fn has_retries(&self) -> bool {
        self.agenda.has_retries()
    }

    /// When the request of each session was due that waits to be sent again.
    pub(crate) fn retries(&self) -> impl Iterator<Item = Nanos> {
        let waiting = self.places.iter().filter(|session| session.in_use);
        waiting.filter_map(|session| Some(session.retry?.intended))
    }

    /// The retry of `place` begins: it waits no more.
    pub(crate) fn begin_retry(&mut self, place: Place) {
        let session = &mut self.places[place as usize];
        session.retry = None;
        session.retries += 1;
        if session.due >= self.measure_from {
            let step = self.scenario.flows[session.flow].steps[session.step].number;
            self.record.steps[step].retries += 1;
        }
    }
}
