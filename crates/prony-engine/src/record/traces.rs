//! The slowest of the requests that the server was asked to trace. Handed over when the worker has ended.

use std::time::Duration;

use prony_model::{Outcome, RunPlan, TracePlan, TracedRequest, Traces, rfc3339};

use crate::clock::Nanos;
use crate::load::conn::Flight;
use crate::load::trace::{Trace, TraceIds};
use crate::record::sample::{Answer, Sample};

/// The records of one worker, or of several. Its memory is there from the beginning, so that the worker never allocates.
pub(crate) struct TraceRecord {
    ids: TraceIds,
    requests: u64,
    sampled: u64,
    /// In any order.
    slowest: Vec<Traced>,
    /// No request is listed that took less.
    least: Nanos,
}

/// A request that was sampled.
#[derive(Debug, Clone, Copy)]
struct Traced {
    id: u128,
    trace: Trace,
    sent: Nanos,
    response: Nanos,
    service: Nanos,
    /// None where it was outstanding at the end.
    outcome: Option<Outcome>,
    /// 0 for none.
    status: u16,
}

impl TraceRecord {
    /// Of requests whose ids are made of `ids`.
    pub(crate) fn new(ids: TraceIds) -> Self {
        let slowest = Vec::with_capacity(TracePlan::LISTED_MAX);
        Self { ids, requests: 0, sampled: 0, slowest, least: 0 }
    }

    /// A request of the measured part has ended.
    #[inline]
    pub(super) fn ended(&mut self, sample: &Sample, outcome: Outcome, answer: Option<Answer>) {
        // What got no connection has none.
        if sample.trace.is_some() && self.counts(sample.trace) {
            let response = sample.done.saturating_sub(sample.intended);
            if response >= self.least {
                self.list(Traced {
                    id: self.ids.id(sample.trace),
                    trace: sample.trace,
                    sent: sample.sent,
                    response,
                    service: sample.done.saturating_sub(sample.sent),
                    outcome: Some(outcome),
                    status: answer.map_or(0, |answer| answer.status),
                });
            }
        }
    }

    /// A request of the measured part was outstanding when the run ended.
    pub(super) fn unfinished(&mut self, flight: &Flight, now: Nanos) {
        // What is only queued, the server has not seen.
        if flight.trace.is_some() && flight.sent != 0 && self.counts(flight.trace) {
            self.list(Traced {
                id: self.ids.id(flight.trace),
                trace: flight.trace,
                sent: flight.sent,
                response: now.saturating_sub(flight.intended),
                service: now.saturating_sub(flight.sent),
                outcome: None,
                status: 0,
            });
        }
    }

    /// Counts `trace`; whether it was sampled.
    #[inline]
    fn counts(&mut self, trace: Trace) -> bool {
        let sampled = self.ids.is_sampled(trace);
        self.requests += 1;
        self.sampled += u64::from(sampled);
        sampled
    }

    /// Adds `traced` to the list, in the place of the fastest one if it is full.
    fn list(&mut self, traced: Traced) {
        if self.slowest.len() < TracePlan::LISTED_MAX {
            self.slowest.push(traced);
        } else if let Some(fastest) = self.slowest.iter_mut().min_by_key(|listed| listed.response)
            && fastest.response < traced.response
        {
            *fastest = traced;
        }
        if self.slowest.len() == TracePlan::LISTED_MAX {
            self.least = self.slowest.iter().map(|listed| listed.response).min().unwrap_or_default();
        }
    }

    /// Adds what another worker recorded.
    pub(crate) fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.sampled += other.sampled;
        other.slowest.iter().for_each(|traced| self.list(*traced));
    }

    /// For the result of a run of `plan`; the time since 1970 of a moment is from `since_1970`.
    pub(crate) fn summary(&self, plan: &RunPlan, since_1970: impl Fn(Nanos) -> Duration) -> Traces {
        let step = |step: usize| {
            let (flow, step) = plan.scenario.as_ref()?.steps().nth(step)?;
            Some(format!("{}/{}", flow.name, step.name))
        };
        let mut slowest = self.slowest.clone();
        slowest.sort_by_key(|traced| (std::cmp::Reverse(traced.response), traced.sent));
        let listed = slowest.into_iter().map(|traced| TracedRequest {
            trace_id: format!("{:032x}", traced.id),
            sent_at: rfc3339(since_1970(traced.sent)),
            response_ms: traced.response as f64 / 1e6,
            service_ms: traced.service as f64 / 1e6,
            outcome: traced.outcome.map_or_else(|| TracedRequest::UNFINISHED.to_owned(), Outcome::name),
            status: (traced.status != 0).then_some(traced.status),
            attempts: traced.trace.retries() + 1,
            step: step(traced.trace.step()),
        });
        Traces { requests: self.requests, sampled: self.sampled, slowest: listed.collect() }
    }
}
