//! What became of the requests of each stage, by the stage in which they were due. Handed over when the worker has ended.

use std::collections::BTreeMap;

use prony_model::{ErrorKind, Outcome, Requests, RunPlan, StageResult, Stages};
use prony_stats::Histogram;
use prony_summary::{StageRecords, stage};

use crate::clock::{Nanos, span};
use crate::record::sample::Sample;

/// The records of one worker. Its memory is there from the beginning, so that the worker never allocates.
pub(crate) struct StageRecord {
    /// The end of each stage.
    ends: Box<[Nanos]>,
    tallies: Box<[Tally]>,
    /// The stage of the request before, which is mostly that of the next one.
    last: usize,
}

/// One stage.
#[derive(Default)]
struct Tally {
    answered: u64,
    done: u64,
    failed: [u64; ErrorKind::ALL.len()],
    censored: u64,
    never_sent: u64,
    response: Histogram,
    service: Histogram,
    cut_off: Histogram,
}

impl StageRecord {
    /// Of `stages` that begin at `from`.
    pub(crate) fn new(stages: &Stages, from: Nanos) -> Self {
        let ends = stages.0.iter().scan(from, |end, stage| {
            *end = end.saturating_add(span(stage.duration));
            Some(*end)
        });
        Self { ends: ends.collect(), tallies: stages.0.iter().map(|_| Tally::default()).collect(), last: 0 }
    }

    /// The stage in which a request was due at `intended`. What a session does after the end belongs to the last one.
    #[inline]
    fn at(&mut self, intended: Nanos) -> &mut Tally {
        let begins = self.last.checked_sub(1).map_or(0, |before| self.ends[before]);
        if intended < begins || intended >= self.ends[self.last] {
            let found = self.ends.partition_point(|end| *end <= intended);
            self.last = found.min(self.ends.len() - 1);
        }
        &mut self.tallies[self.last]
    }

    /// A complete response of any status.
    #[inline]
    pub(super) fn answered(&mut self, intended: Nanos) {
        self.at(intended).answered += 1;
    }

    /// A request ended.
    #[inline]
    pub(super) fn ended(&mut self, sample: &Sample, outcome: Outcome) {
        let response = sample.done.saturating_sub(sample.intended);
        let tally = self.at(sample.intended);
        match outcome.error_kind() {
            None => {
                tally.done += 1;
                tally.response.record(response);
                tally.service.record(sample.done.saturating_sub(sample.sent));
            }
            Some(kind) => {
                tally.failed[kind as usize] += 1;
                if kind.is_censoring() {
                    tally.cut_off.record(response);
                }
            }
        }
    }

    /// A request was outstanding at the end, and had waited so long.
    pub(super) fn unfinished(&mut self, intended: Nanos, waited: Nanos) {
        let tally = self.at(intended);
        tally.censored += 1;
        tally.cut_off.record(waited);
    }

    /// A request was never sent, and had waited so long.
    pub(super) fn never_sent(&mut self, intended: Nanos, waited: Nanos) {
        let tally = self.at(intended);
        tally.never_sent += 1;
        tally.cut_off.record(waited);
    }

    /// Adds what another worker recorded.
    pub(crate) fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.tallies.iter_mut().zip(&other.tallies) {
            mine.answered += theirs.answered;
            mine.done += theirs.done;
            mine.censored += theirs.censored;
            mine.never_sent += theirs.never_sent;
            for (mine, theirs) in mine.failed.iter_mut().zip(&theirs.failed) {
                *mine += theirs;
            }
            mine.response.add(&theirs.response);
            mine.service.add(&theirs.service);
            mine.cut_off.add(&theirs.cut_off);
        }
    }

    /// For the result of a run of `plan` that measured so long.
    pub(crate) fn summary(&self, plan: &RunPlan, measured_s: f64) -> Vec<StageResult> {
        let of = |(index, tally): (usize, &Tally)| {
            let records = StageRecords {
                requests: tally.requests(),
                response: &tally.response,
                service: &tally.service,
                cut_off: &tally.cut_off,
            };
            stage(plan, index, measured_s, records)
        };
        self.tallies.iter().enumerate().filter_map(of).collect()
    }
}

impl Tally {
    fn requests(&self) -> Requests {
        let by_kind = ErrorKind::ALL.into_iter().zip(self.failed);
        let failed_by_kind: BTreeMap<_, _> = by_kind.filter(|(_, count)| *count > 0).collect();
        let failed = self.failed.iter().sum();
        let sent = self.done + failed + self.censored;
        Requests {
            intended: sent + self.never_sent,
            sent,
            answered: self.answered,
            done: self.done,
            failed,
            censored: self.censored,
            never_sent: self.never_sent,
            failed_by_kind,
        }
    }
}

#[cfg(test)]
mod tests {
    use prony_model::{Rate, RunOptions, StatusClass, Target};

    use super::*;

    const SECOND: Nanos = 1_000_000_000;

    #[test]
    fn a_request_belongs_to_the_stage_in_which_it_was_due() {
        let stages = Stages::parse("100/s:1s,peak=300/s:2s,100/s:1s").expect("stages");
        let options = RunOptions { stages: Some(stages.clone()), ..RunOptions::default() };
        let target = Target::parse("http://127.0.0.1:1/").expect("a target");
        let plan = options.plan(target, 1).expect("a plan");
        assert_eq!(plan.load.rate(), Rate::per_second(300.0), "the highest");
        let from = 5 * SECOND;
        let mut record = StageRecord::new(&stages, from);
        let good = Outcome::Done(StatusClass::Success);
        // On its first moment and on its last; long after its stage; back and forth.
        for (intended, response) in [
            (from, 3 * SECOND),
            (from + SECOND - 1, 1_000_000),
            (from + SECOND, 2_000_000),
            (from + 10, 5_000_000),
        ] {
            record.answered(intended);
            record.ended(&Sample::unsent(intended, 0, intended + response), good);
        }
        let timed_out = Outcome::Failed(ErrorKind::RequestTimeout);
        record.ended(&Sample::unsent(from + 2 * SECOND, 0, from + 32 * SECOND), timed_out);
        record.unfinished(from + 3 * SECOND - 1, 7_000_000);
        record.never_sent(from + 3 * SECOND, 8_000_000);
        record.never_sent(from + 9 * SECOND, 8_000_000);
        let mut both = StageRecord::new(&stages, from);
        both.add(&record);
        both.add(&record);

        let whole = both.summary(&plan, 4.0);
        let found: Vec<_> =
            whole.iter().map(|stage| (stage.name.as_str(), stage.from_s, stage.measured_s)).collect();
        assert_eq!(found, [("1", 0.0, 1.0), ("peak", 1.0, 2.0), ("3", 3.0, 1.0)]);
        assert_eq!(
            whole.iter().map(|stage| stage.asked_per_s).collect::<Vec<_>>(),
            [Some(100.0), Some(300.0), Some(100.0)]
        );
        let requests = |index: usize| &whole[index].requests;
        assert_eq!((requests(0).done, requests(0).answered, requests(0).intended), (6, 6, 6));
        assert_eq!(
            (requests(1).done, requests(1).failed, requests(1).censored, requests(1).intended),
            (2, 2, 2, 6)
        );
        assert_eq!((requests(2).never_sent, requests(2).intended, requests(2).sent), (4, 4, 0));
        assert_eq!((whole[0].response.count, whole[0].response.max_ms), (6, Some(3000.0)));
        assert_eq!(whole[1].censored_histogram.count, 4);
        // Ended early: the stage that was cut is as long as it was measured, and the last one never began.
        let early = both.summary(&plan, 2.5);
        assert_eq!(early.iter().map(|stage| stage.measured_s).collect::<Vec<_>>(), [1.0, 1.5]);
    }
}
