//! The traces of sessions: one for each request of a session, and a span of it for each attempt.

use super::fault::StepFault;
use super::sessions::{Due, Place, Sessions};
use crate::load::trace::{Trace, Tracer};

impl Sessions {
    /// Makes the request of `due`, for [`Self::send`], or says why that can't be. A retry is the request that was made before.
    /// `tracer` gives it a trace of its own, or another span in that of the attempt before.
    pub(crate) fn prepare(&mut self, due: Due, tracer: Option<&mut Tracer>) -> Result<(), StepFault> {
        let made = self.make(due);
        let Some(tracer) = tracer.filter(|_| made.is_ok()) else { return made };
        let Self { scenario, places, rendered, .. } = self;
        let session = &mut places[due.place as usize];
        session.trace = match due.retry {
            Some(retry) => retry.attempt.trace().or(session.trace),
            None => tracer.begin(scenario.flows[session.flow].steps[session.step].number),
        };
        let lines = rendered.bytes_mut();
        let request = if scenario.is_http2 { session.request.block_mut() } else { lines };
        tracer.stamp(session.trace, request, session.trace_at);
        made
    }

    /// The trace of the request of `place`.
    #[inline]
    pub(crate) fn trace(&self, place: Place) -> Trace {
        self.places.get(place as usize).map_or(Trace::NONE, |session| session.trace)
    }
}
