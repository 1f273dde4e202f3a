//! The traces of sessions: one for each request of a session, and a span of it for each attempt. Without traces, the step and
//! the attempts are still known.

use super::fault::StepFault;
use super::sessions::{Due, Place, Sessions};
use crate::load::trace::{Trace, Tracer};

impl Sessions {
    /// Makes the request of `due`, for [`Self::send`], or says why that can't be. A retry is the request that was made before.
    /// `tracer` gives it a trace of its own, or another span in that of the attempt before.
    pub(crate) fn prepare(&mut self, due: Due, mut tracer: Option<&mut Tracer>) -> Result<(), StepFault> {
        self.make(due)?;
        let step = self.step_number(due.place);
        let Self { scenario, places, rendered, .. } = self;
        let session = &mut places[due.place as usize];
        session.trace = match (due.retry, &mut tracer) {
            (Some(retry), _) => retry.attempt.trace().or(session.trace),
            (None, Some(tracer)) => tracer.begin(step),
            (None, None) => Trace::of_step(step),
        };
        if let Some(tracer) = tracer {
            let lines = rendered.bytes_mut();
            let request = if scenario.is_http2 { session.request.block_mut() } else { lines };
            tracer.stamp(session.trace, request, session.trace_at);
        }
        Ok(())
    }

    /// What is known of the request of `place`: its trace, its step, its attempts.
    #[inline]
    pub(crate) fn trace(&self, place: Place) -> Trace {
        self.places.get(place as usize).map_or(Trace::NONE, |session| session.trace)
    }
}
