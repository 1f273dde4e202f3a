//! How well a worker replayed recorded requests.

use std::collections::BTreeMap;

use prony_model::{RecordedArrivals, ReplayResult, StatusPair};
use prony_stats::{Censored, Histogram};
use prony_summary::{histogram_data, summary};

use crate::clock::Nanos;

/// Pairs of statuses that are kept: a server that makes up statuses gets no more memory.
const PAIRS_MAX: usize = 256;

/// The records of one worker.
#[derive(Default)]
pub(crate) struct ReplayRecord {
    /// Sent, after it was due by the file.
    lateness: Histogram,
    /// Requests by recorded and by new status, 0 for none.
    statuses: BTreeMap<(u16, u16), u64>,
}

impl ReplayRecord {
    /// A request ended: with these statuses, 0 for none, and sent that long after it was due.
    pub(crate) fn ended(&mut self, recorded: u16, answered: u16, lateness: Option<Nanos>) {
        if let Some(lateness) = lateness {
            self.lateness.record(lateness);
        }
        self.count((recorded, answered), 1);
    }

    fn count(&mut self, pair: (u16, u16), number: u64) {
        let is_known = self.statuses.len() < PAIRS_MAX || self.statuses.contains_key(&pair);
        // Beyond the bound, only the kind of the new status is kept.
        let pair = if is_known { pair } else { (0, pair.1 / 100 * 100) };
        *self.statuses.entry(pair).or_default() += number;
    }

    /// Adds what another worker recorded.
    pub(crate) fn add(&mut self, other: &Self) {
        self.lateness.add(&other.lateness);
        for (pair, number) in &other.statuses {
            self.count(*pair, *number);
        }
    }

    /// For the result of a run with these moments.
    pub(crate) fn summary(&self, arrivals: &RecordedArrivals) -> ReplayResult {
        let status = |status: u16| (status != 0).then_some(status);
        let mut statuses: Vec<StatusPair> = self
            .statuses
            .iter()
            .map(|(&(recorded, answered), &count)| StatusPair {
                recorded: status(recorded),
                answered: status(answered),
                count,
            })
            .collect();
        statuses.sort_by_key(|pair| std::cmp::Reverse(pair.count));
        ReplayResult {
            lateness: summary(&self.lateness, Censored::NONE),
            lateness_histogram: histogram_data(&self.lateness),
            statuses,
            due_per_second: due_per_second(arrivals.moments.as_slice()),
        }
    }
}

/// How many of `moments` are in each second.
fn due_per_second(moments: &[u64]) -> Vec<u64> {
    let mut seconds = Vec::new();
    for moment in moments {
        let second = usize::try_from(moment / 1_000_000_000).unwrap_or(usize::MAX);
        if second >= seconds.len() {
            // A run has at most RunPlan::DURATION_MAX of them.
            seconds.resize(second + 1, 0);
        }
        seconds[second] += 1;
    }
    seconds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_add_up_and_the_most_frequent_pair_comes_first() {
        let (mut one, mut other) = (ReplayRecord::default(), ReplayRecord::default());
        one.ended(200, 200, Some(1_000));
        other.ended(200, 500, Some(3_000));
        other.ended(200, 500, Some(2_000));
        other.ended(0, 0, None);
        one.add(&other);
        let moments = vec![0, 999_999_999, 2_000_000_000, 2_500_000_000];
        let found = one.summary(&RecordedArrivals::new(String::new(), String::new(), moments));
        let pairs: Vec<_> =
            found.statuses.iter().map(|pair| (pair.recorded, pair.answered, pair.count)).collect();
        assert_eq!(pairs, [(Some(200), Some(500), 2), (None, None, 1), (Some(200), Some(200), 1)]);
        assert_eq!((found.lateness.count, found.lateness.max_ms), (3, Some(0.003)));
        assert_eq!(found.due_per_second, [2, 0, 2]);
    }

    #[test]
    fn a_server_that_makes_up_statuses_gets_no_more_memory() {
        let mut record = ReplayRecord::default();
        for status in 0..1000 {
            record.ended(200, status, None);
        }
        assert!(record.statuses.len() <= PAIRS_MAX + 10, "{}", record.statuses.len());
        assert_eq!(record.statuses.values().sum::<u64>(), 1000, "none is lost");
    }
}
