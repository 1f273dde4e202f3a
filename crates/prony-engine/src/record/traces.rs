//! The requests that have traces: how many the server was asked to record, and the slowest of those. Handed over when the worker
//! has ended.

use prony_model::Traces;

use crate::load::trace::TraceIds;
use crate::record::sample::Sample;
use crate::record::slowest::{Moments, SlowSample, Slowest};

/// The records of one worker, or of several.
pub(crate) struct TraceRecord {
    ids: TraceIds,
    requests: u64,
    sampled: u64,
    /// Of those that are sampled.
    slowest: Slowest,
}

impl TraceRecord {
    /// Of requests whose ids are made of `ids`.
    pub(crate) fn new(ids: TraceIds) -> Self {
        Self { ids, requests: 0, sampled: 0, slowest: Slowest::default() }
    }

    /// A request of the measured part has ended, or was outstanding when the run ended. Returns whether it was sampled and is one
    /// of the slowest of those.
    #[inline]
    pub(super) fn ended(&mut self, sample: &Sample) -> bool {
        // What got no connection has none.
        if !sample.trace.is_some() {
            return false;
        }
        let is_sampled = self.ids.is_sampled(sample.trace);
        self.requests += 1;
        self.sampled += u64::from(is_sampled);
        is_sampled && self.slowest.takes(sample)
    }

    /// The id of the trace of `sample`, and whether it was sampled.
    pub(super) fn trace_of(&self, sample: &Sample) -> Option<(u128, bool)> {
        let trace = sample.trace;
        trace.is_some().then(|| (self.ids.id(trace), self.ids.is_sampled(trace)))
    }

    /// Adds `slow` if it was sampled and is one of the slowest of those.
    pub(super) fn add_slow(&mut self, slow: SlowSample) {
        if slow.trace.is_some_and(|(_, is_sampled)| is_sampled) {
            self.slowest.add(slow);
        }
    }

    /// Adds what another worker recorded.
    pub(crate) fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.sampled += other.sampled;
        self.slowest.add_all(&other.slowest);
    }

    /// For the result of a run.
    pub(crate) fn summary(&self, moments: &Moments<'_>) -> Traces {
        Traces { requests: self.requests, sampled: self.sampled, slowest: self.slowest.summary(moments) }
    }
}
