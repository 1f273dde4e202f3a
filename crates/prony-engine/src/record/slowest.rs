//! The slowest requests, one by one: when each was due, on which connection it went, and where its time went.
//!
//! A worker keeps its own, in memory that is there from the beginning; a request that is not among them costs one comparison.
//! They are handed over when the worker has ended.

use std::time::Duration;

use prony_model::{Outcome, RequestConnection, RequestPhases, RunPlan, SlowRequest, rfc3339};

use crate::clock::Nanos;
use crate::record::collect::Window;
use crate::record::recorder::Recorder;
use crate::record::sample::{Answer, Sample};

/// A request with what is reported of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlowSample {
    /// Its moments.
    pub sample: Sample,
    /// None where it was outstanding at the end.
    pub outcome: Option<Outcome>,
    /// 0 for none.
    pub status: u16,
    /// The thread that sent it.
    pub thread: u32,
    /// The id of its trace, and whether the server was asked to record that.
    pub trace: Option<(u128, bool)>,
}

/// The slowest requests of one worker, or of several, by response time.
pub(crate) struct Slowest {
    /// In any order; [`SlowRequest::LISTED_MAX`] at most.
    listed: Vec<SlowSample>,
    /// None is listed from here on that took no longer; 0 while there is room.
    least: Nanos,
}

impl Default for Slowest {
    fn default() -> Self {
        Self { listed: Vec::with_capacity(SlowRequest::LISTED_MAX), least: 0 }
    }
}

impl Slowest {
    /// Whether the request of `sample` is one of the slowest so far.
    #[inline]
    pub(crate) fn takes(&self, sample: &Sample) -> bool {
        response(sample) > self.least
    }

    /// Adds `slow` if it is one of the slowest, in the place of the fastest one if there are enough.
    pub(crate) fn add(&mut self, slow: SlowSample) {
        if !self.takes(&slow.sample) {
            return;
        }
        if self.listed.len() < SlowRequest::LISTED_MAX {
            self.listed.push(slow);
        } else if let Some(fastest) = self.listed.iter_mut().min_by_key(|listed| response(&listed.sample)) {
            *fastest = slow;
        }
        if self.listed.len() == SlowRequest::LISTED_MAX {
            self.least = self.listed.iter().map(|listed| response(&listed.sample)).min().unwrap_or_default();
        }
    }

    /// Adds those of another worker.
    pub(crate) fn add_all(&mut self, other: &Self) {
        other.listed.iter().for_each(|slow| self.add(*slow));
    }

    /// For the result of a run, the slowest first.
    pub(crate) fn summary(&self, moments: &Moments<'_>) -> Vec<SlowRequest> {
        let mut listed = self.listed.clone();
        listed.sort_by_key(|slow| (std::cmp::Reverse(response(&slow.sample)), slow.sample.intended));
        listed.iter().map(|slow| moments.request(slow)).collect()
    }
}

impl Recorder {
    /// A request is one of the slowest so far, of all or of those that are traced. None for an `outcome`: it was outstanding when
    /// the run ended.
    #[cold]
    pub(super) fn list(&mut self, sample: &Sample, outcome: Option<Outcome>, answer: Option<Answer>) {
        let trace = self.traces.as_ref().and_then(|traces| traces.trace_of(sample));
        let slow = SlowSample {
            sample: *sample,
            outcome,
            status: answer.map_or(0, |answer| answer.status),
            thread: self.current.thread,
            trace,
        };
        self.slowest.add(slow);
        if let Some(traces) = &mut self.traces {
            traces.add_slow(slow);
        }
    }
}

/// What moments and numbers of a run mean.
#[derive(Clone, Copy)]
pub(crate) struct Moments<'a> {
    /// The run's.
    pub plan: &'a RunPlan,
    /// When its load began, and its measured part.
    pub window: Window,
    /// The time since 1970 when its load began.
    pub started_at: Duration,
}

impl Moments<'_> {
    fn request(&self, slow: &SlowSample) -> SlowRequest {
        let SlowSample { sample, outcome, status, thread, trace } = *slow;
        let since_start = sample.sent.saturating_sub(self.window.start);
        let connection =
            RequestConnection { thread, port: sample.port, is_new: sample.trace.is_first_on_connection() };
        SlowRequest {
            trace_id: trace.map(|(id, _)| format!("{id:032x}")),
            is_sampled: trace.is_some_and(|(_, is_sampled)| is_sampled),
            agent: None,
            due_s: sample.intended.saturating_sub(self.window.measure_from) as f64 / 1e9,
            sent_at: rfc3339(self.started_at + Duration::from_nanos(since_start)),
            response_ms: ms(response(&sample)),
            service_ms: ms(sample.done.saturating_sub(sample.sent)),
            phases: Some(phases(&sample)),
            outcome: outcome.map_or_else(|| SlowRequest::UNFINISHED.to_owned(), Outcome::name),
            status: (status != 0).then_some(status),
            attempts: sample.trace.retries() + u32::from(!sample.is_unsent),
            step: self.step(sample.trace.step()),
            connection: (!sample.is_unsent).then_some(connection),
        }
    }

    fn step(&self, number: usize) -> Option<String> {
        let (flow, step) = self.plan.scenario.as_ref()?.steps().nth(number)?;
        Some(format!("{}/{}", flow.name, step.name))
    }
}

fn response(sample: &Sample) -> Nanos {
    sample.done.saturating_sub(sample.intended)
}

/// Where the response time of `sample` went: parts that add up to it.
fn phases(sample: &Sample) -> RequestPhases {
    let (due, done) = (sample.intended, sample.done);
    let ready = sample.ready.clamp(due, done.max(due));
    // A connection that was opened before has nothing to do with it.
    let opening = sample.connect.min(ready - due);
    let tls = sample.tls.min(opening);
    let waited = ready - due - opening;
    let left = done.max(ready);
    if sample.is_unsent {
        let connect_ms = ms(left - ready);
        return RequestPhases { waited_ms: ms(waited), connect_ms, ..RequestPhases::default() };
    }
    let sent = sample.sent.clamp(ready, left);
    // What the kernel had, and we had not read yet, is our own delay.
    let arrived = if (sent..left).contains(&sample.arrived) { sample.arrived } else { left };
    let first = if sample.first_byte == 0 { arrived } else { sample.first_byte.clamp(sent, arrived) };
    RequestPhases {
        waited_ms: ms(waited),
        connect_ms: ms(opening - tls),
        tls_ms: ms(tls),
        client_ms: ms(sent - ready + left - arrived),
        first_byte_ms: ms(first - sent),
        rest_ms: ms(arrived - first),
    }
}

fn ms(nanos: Nanos) -> f64 {
    nanos as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::trace::Trace;

    const MS: Nanos = 1_000_000;

    /// A request that was due at 10 ms and sent at once on a connection that was there.
    fn sample(first_byte: Nanos, done: Nanos) -> Sample {
        Sample { first_byte: first_byte * MS, ..Sample::stamped(10 * MS, 0, 0, done * MS) }
    }

    fn slow(sample: Sample) -> SlowSample {
        SlowSample { sample, outcome: None, status: 0, thread: 0, trace: None }
    }

    fn listed(slowest: &Slowest) -> Vec<Nanos> {
        let mut times: Vec<Nanos> = slowest.listed.iter().map(|slow| response(&slow.sample) / MS).collect();
        times.sort_unstable_by(|one, other| other.cmp(one));
        times
    }

    #[test]
    fn the_slowest_stay_in_any_order_and_from_any_worker() {
        let orders: [fn(u64) -> u64; 3] = [|n| n, |n| 999 - n, |n| n * 617 % 1000];
        for order in orders {
            let mut workers = [Slowest::default(), Slowest::default(), Slowest::default()];
            for n in 0..1000 {
                let one = sample(11, 10 + order(n));
                let worker = &mut workers[(n % 3) as usize];
                let was_full = worker.listed.len() == SlowRequest::LISTED_MAX;
                let slower =
                    worker.listed.iter().filter(|slow| response(&slow.sample) >= response(&one)).count();
                assert_eq!(worker.takes(&one), response(&one) > 0 && (!was_full || slower < 10));
                worker.add(slow(one));
            }
            let mut all = Slowest::default();
            for worker in &workers {
                all.add_all(worker);
            }
            assert_eq!(listed(&all), (990..1000).rev().collect::<Vec<_>>());
            assert_eq!(all.listed.capacity(), SlowRequest::LISTED_MAX, "the memory of the beginning");
        }
    }

    #[test]
    fn of_equals_the_first_stay() {
        let mut slowest = Slowest::default();
        for thread in 0..20 {
            slowest.add(SlowSample { thread, ..slow(sample(11, 20)) });
        }
        assert!(slowest.listed.iter().all(|slow| slow.thread < 10));
    }

    #[track_caller]
    fn check(sample: Sample, expected: [f64; 6]) {
        let phases = phases(&sample);
        let RequestPhases { waited_ms, connect_ms, tls_ms, client_ms, first_byte_ms, rest_ms } = phases;
        let found = [waited_ms, connect_ms, tls_ms, client_ms, first_byte_ms, rest_ms];
        assert!(
            found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-9),
            "{found:?}"
        );
        let sum: f64 = expected.iter().sum();
        assert!((sum - ms(response(&sample))).abs() < 1e-9, "they add up to the response time");
    }

    #[test]
    fn the_phases_of_a_request() {
        // Held back by the server, first before and then within the answer.
        check(sample(310, 311), [0.0, 0.0, 0.0, 0.0, 300.0, 1.0]);
        check(sample(11, 311), [0.0, 0.0, 0.0, 0.0, 1.0, 300.0]);
        // Waited 5 ms for a connection that was there, then 2 ms for us.
        let late = |ready: Nanos, sent: Nanos, sample: Sample| Sample {
            ready: ready * MS,
            sent: sent * MS,
            ..sample
        };
        check(late(15, 17, sample(20, 21)), [5.0, 0.0, 0.0, 2.0, 3.0, 1.0]);
        // The same wait ended with a connection that took 4 ms to open, 3 of them TLS; or 9, most of them before.
        let opened = |connect: Nanos, tls: Nanos| Sample {
            connect: connect * MS,
            tls: tls * MS,
            ..late(15, 17, sample(20, 21))
        };
        check(opened(4, 3), [1.0, 1.0, 3.0, 2.0, 3.0, 1.0]);
        check(opened(9, 3), [0.0, 2.0, 3.0, 2.0, 3.0, 1.0]);
        // It was open before the request was due.
        check(Sample { connect: 4 * MS, ..sample(20, 21) }, [0.0, 0.0, 0.0, 0.0, 10.0, 1.0]);
        // The answer had arrived 6 ms before we read it.
        check(Sample { arrived: 20 * MS, ..sample(26, 26) }, [0.0, 0.0, 0.0, 6.0, 10.0, 0.0]);
        // No answer.
        check(sample(0, 40), [0.0, 0.0, 0.0, 0.0, 30.0, 0.0]);
    }

    #[test]
    fn the_phases_of_a_request_without_a_connection() {
        check(Sample::unsent(10 * MS, 12 * MS, 40 * MS), [2.0, 28.0, 0.0, 0.0, 0.0, 0.0]);
        check(Sample::unsent(10 * MS, 3 * MS, 40 * MS), [0.0, 30.0, 0.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn a_clock_that_contradicts_itself_makes_no_negative_phase() {
        for moments in 0..4_u64.pow(6) {
            let moment = |index: u32| moments / 4_u64.pow(index) % 4 * MS;
            let sample = Sample {
                intended: moment(0),
                ready: moment(1),
                sent: moment(2),
                first_byte: moment(3),
                arrived: moment(4),
                done: moment(5),
                trace: Trace::NONE,
                ..sample(0, 0)
            };
            let RequestPhases { waited_ms, connect_ms, tls_ms, client_ms, first_byte_ms, rest_ms } =
                phases(&sample);
            let all = [waited_ms, connect_ms, tls_ms, client_ms, first_byte_ms, rest_ms];
            assert!(all.iter().all(|phase| *phase >= 0.0), "{sample:?}: {all:?}");
            assert!((all.iter().sum::<f64>() - ms(response(&sample))).abs() < 1e-9, "{sample:?}: {all:?}");
        }
    }
}
