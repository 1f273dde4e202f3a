//! What came of the retries of a worker's requests, of its measured part. Handed over when it has ended.

use std::collections::BTreeMap;

use prony_model::{ErrorKind, Outcome, RetryPlan, RetryUse};
use prony_stats::{Censored, Histogram};
use prony_summary::summary;

use crate::clock::Nanos;
use crate::load::retry::{Reason, Refusal};
use crate::record::failure_detail::Detail;
use crate::record::recorder::Recorder;
use crate::record::sample::{Answer, Sample};

/// Room for a request's attempts.
const ATTEMPTS_MAX: usize = RetryPlan::RETRIES_MAX as usize + 1;

/// The records of one worker.
pub(crate) struct RetryRecord {
    connect: u64,
    reset: u64,
    timeout: u64,
    statuses: Box<[u64; 600]>,
    retried: u64,
    exhausted: u64,
    by_budget: u64,
    by_timeout: u64,
    for_room: u64,
    waiting_at_end: u64,
    answers: u64,
    /// Requests that have ended, by attempts; of none, of one, of two, …
    attempts: Box<[u64; ATTEMPTS_MAX + 1]>,
    recovered: Histogram,
}

impl Default for RetryRecord {
    fn default() -> Self {
        Self {
            connect: 0,
            reset: 0,
            timeout: 0,
            statuses: Box::new([0; 600]),
            retried: 0,
            exhausted: 0,
            by_budget: 0,
            by_timeout: 0,
            for_room: 0,
            waiting_at_end: 0,
            answers: 0,
            attempts: Box::new([0; ATTEMPTS_MAX + 1]),
            recovered: Histogram::new(),
        }
    }
}

impl RetryRecord {
    /// Adds what another worker recorded.
    pub(crate) fn add(&mut self, other: &Self) {
        self.connect += other.connect;
        self.reset += other.reset;
        self.timeout += other.timeout;
        self.retried += other.retried;
        self.exhausted += other.exhausted;
        self.by_budget += other.by_budget;
        self.by_timeout += other.by_timeout;
        self.for_room += other.for_room;
        self.waiting_at_end += other.waiting_at_end;
        self.answers += other.answers;
        for (mine, theirs) in self.statuses.iter_mut().zip(other.statuses.iter()) {
            *mine += theirs;
        }
        for (mine, theirs) in self.attempts.iter_mut().zip(other.attempts.iter()) {
            *mine += theirs;
        }
        self.recovered.add(&other.recovered);
    }

    /// For the result of a run that sent so many requests.
    pub(crate) fn summary(&self, sent: u64) -> RetryUse {
        let kinds = [("connect", self.connect), ("reset", self.reset), ("timeout", self.timeout)];
        let kinds = kinds.into_iter().map(|(name, count)| (name.to_owned(), count));
        let statuses = self.statuses.iter().enumerate();
        let statuses = statuses.map(|(status, count)| (status.to_string(), *count));
        let by_reason: BTreeMap<String, u64> =
            kinds.chain(statuses).filter(|(_, count)| *count > 0).collect();
        let retries = by_reason.values().sum();
        let attempts = sent + retries;
        RetryUse {
            attempts,
            amplification: if sent > 0 { attempts as f64 / sent as f64 } else { 1.0 },
            retries,
            by_reason,
            retried: self.retried,
            recovered: self.recovered.count(),
            exhausted: self.exhausted,
            refused_by_budget: self.by_budget,
            refused_by_timeout: self.by_timeout,
            refused_for_room: self.for_room,
            waiting_at_end: self.waiting_at_end,
            answers_retried: self.answers,
            by_attempts: (0_u32..)
                .zip(self.attempts.iter().copied())
                .filter(|(_, count)| *count > 0)
                .collect(),
            recovered_response: summary(&self.recovered, Censored::NONE),
        }
    }
}

impl Recorder {
    /// A request was handed over once more.
    pub(crate) fn sent_again(&mut self, intended: Nanos, bytes: u64, reused: bool, now: Nanos) {
        self.weigh(now);
        self.in_flight += 1;
        let counts = self.counts(intended);
        self.current.tally.traffic[usize::from(counts)].sent += 1;
        let counters = &mut self.current.counters;
        counters.reused += u64::from(reused);
        counters.sent_bytes += bytes;
    }

    /// A retry began: the `number`th of its request.
    pub(crate) fn retried(&mut self, intended: Nanos, reason: Reason, number: u32) {
        if !self.counts(intended) {
            return;
        }
        let record = &mut *self.retries;
        record.retried += u64::from(number == 1);
        match reason {
            Reason::Connect => record.connect += 1,
            Reason::Reset => record.reset += 1,
            Reason::Timeout => record.timeout += 1,
            Reason::Status(status) => record.statuses[usize::from(status.min(599))] += 1,
        }
    }

    /// A request that failed in a way that is retried is not.
    pub(crate) fn not_retried(&mut self, intended: Nanos, refusal: Refusal) {
        if self.counts(intended) {
            let record = &mut *self.retries;
            match refusal {
                Refusal::Exhausted => record.exhausted += 1,
                Refusal::Timeout => record.by_timeout += 1,
                Refusal::Room => record.for_room += 1,
                Refusal::Budget => record.by_budget += 1,
            }
        }
    }

    /// A request in flight has got an answer, and will be sent again.
    pub(crate) fn answer_retried(&mut self, sample: &Sample, answer: Answer) {
        self.leave_flight(sample.done);
        let in_time = sample.done < self.measure_to;
        let counts = self.counts(sample.intended);
        let counters = &mut self.current.counters;
        counters.body_bytes += answer.body_bytes;
        counters.retried_now += u64::from(in_time);
        let traffic = &mut self.current.tally.traffic[usize::from(counts)];
        traffic.answered += 1;
        traffic.answered_in_drain += u64::from(!in_time);
        self.retries.answers += u64::from(counts);
    }

    /// A request in flight got no answer, and will be sent again.
    pub(crate) fn loss_retried(&mut self, sample: &Sample) {
        self.leave_flight(sample.done);
    }

    /// A request that got no connection in its first attempt will be sent again.
    pub(crate) fn unconnected_retried(&mut self, sample: &Sample) {
        self.current.tally.sent += u64::from(self.counts(sample.intended));
    }

    /// A request got no connection for its last attempt.
    pub(crate) fn unconnected_again(&mut self, sample: Sample, kind: ErrorKind, detail: Detail) {
        self.without_blocked(|recorder| recorder.ended(sample, Outcome::Failed(kind), None, detail));
    }

    /// Records the end of a request's last attempt, which was not its first: between its due moment and this attempt lie
    /// others and backoffs, which are no wait for a connection.
    pub(crate) fn without_blocked(&mut self, record: impl FnOnce(&mut Self)) {
        let open_loop = std::mem::replace(&mut self.open_loop, false);
        record(self);
        self.open_loop = open_loop;
    }

    /// A request has ended in `outcome` after so many attempts.
    pub(crate) fn ended_after(&mut self, sample: &Sample, outcome: Outcome, attempts: u32) {
        if !self.counts(sample.intended) {
            return;
        }
        let place = usize::try_from(attempts).unwrap_or(ATTEMPTS_MAX).min(ATTEMPTS_MAX);
        self.retries.attempts[place] += 1;
        if attempts > 1 && matches!(outcome, Outcome::Done(_)) {
            self.retries.recovered.record(sample.done.saturating_sub(sample.intended));
        }
    }

    /// A request waited for a retry, or for a connection for it, when the run ended.
    pub(crate) fn unfinished_retry(&mut self, intended: Nanos, now: Nanos) {
        if self.counts(intended) {
            self.current.tally.unfinished += 1;
            self.current.censored.record(now.saturating_sub(intended));
            if let Some(stages) = &mut self.stages {
                stages.unfinished(intended, now.saturating_sub(intended));
            }
            self.retries.waiting_at_end += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use prony_model::LatencySummary;
    use rand::RngExt as _;

    use super::*;
    use crate::record::shared::{merged, nanos, shared};

    #[test]
    fn retries_of_agents_are_those_of_one_recorder() {
        #[derive(Default)]
        struct Counted {
            record: RetryRecord,
            sent: u64,
        }
        let (one, agents) = shared(20_000, |counted: &mut Counted, generator| {
            counted.sent += 1;
            let record = &mut counted.record;
            let attempts = generator.random_range(1..4_usize);
            record.attempts[attempts] += 1;
            if attempts == 1 {
                return;
            }
            record.retried += 1;
            record.statuses[503] += attempts as u64 - 2;
            match generator.random_range(0..3) {
                0 => record.connect += 1,
                1 => record.reset += 1,
                _ => record.timeout += 1,
            }
            match generator.random_range(0..6) {
                0 => record.exhausted += 1,
                1 => record.by_budget += 1,
                2 => record.by_timeout += 1,
                3 => record.for_room += 1,
                4 => record.waiting_at_end += 1,
                _ => record.recovered.record(nanos(generator)),
            }
            record.answers += generator.random_range(0..2);
        });
        let result = merged(&agents, |result, counted| {
            result.retries = Some(counted.record.summary(counted.sent));
        });
        let (found, expected) = (result.retries.expect("there were"), one.record.summary(one.sent));
        let (times, true_times) = (&found.recovered_response, &expected.recovered_response);
        assert_eq!(
            (times.count, times.min_ms, times.max_ms),
            (true_times.count, true_times.min_ms, true_times.max_ms)
        );
        let mean = |times: &LatencySummary| times.mean_ms.expect("some recovered");
        assert!((mean(times) / mean(true_times) - 1.0).abs() < 1e-9);
        assert!(times.quantiles_ms.values().all(Option::is_none), "results don't hold the distribution");
        assert_eq!(RetryUse { recovered_response: expected.recovered_response.clone(), ..found }, expected);
    }

    #[test]
    fn records_of_workers_add_up() {
        let mut one = RetryRecord { connect: 2, exhausted: 1, answers: 3, ..RetryRecord::default() };
        one.statuses[503] = 3;
        one.attempts[1] = 90;
        one.attempts[6] = 1;
        let mut all = RetryRecord::default();
        all.add(&one);
        all.add(&one);
        let found = all.summary(100);
        assert_eq!((found.attempts, found.retries, found.exhausted, found.answers_retried), (110, 10, 2, 6));
        assert_eq!(found.by_reason, BTreeMap::from([("connect".to_owned(), 4), ("503".to_owned(), 6)]));
        assert_eq!(found.by_attempts, BTreeMap::from([(1, 180), (6, 2)]));
        assert!((found.amplification - 1.1).abs() < 1e-9);
        assert!((RetryRecord::default().summary(0).amplification - 1.0).abs() < 1e-9);
    }
}
