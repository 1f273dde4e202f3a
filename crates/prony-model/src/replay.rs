//! Recorded traffic as a load: when requests are due by a file, which ones they are, and what came of that. Decision 030
//! has the reasons, docs/replay.md what people write.
//!
//! A replay is an open loop whose moments come from a file ([`RecordedArrivals`]). What is sent at each of them comes from
//! the same file ([`Replay`]), through a scenario of one flow for each route, whose only feed ([`Replay::FEED`]) holds the
//! distinct requests.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{HistogramData, LatencySummary, Rate};

/// Moments at which requests are due, from a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedArrivals {
    /// The file, as it was named.
    pub file: String,
    /// SHA-256 of its content, in hexadecimal.
    pub sha256: String,
    /// How many moments there are.
    pub count: u64,
    /// From the first request to the last one, seconds.
    pub span_s: f64,
    /// The moments themselves: not part of a result.
    #[serde(skip)]
    pub moments: Moments,
}

/// Ascending moments, nanoseconds from the start of the load; shared by all threads.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Moments(Arc<Vec<u64>>);

impl Moments {
    /// `moments` in ascending order, whatever theirs is.
    pub fn new(mut moments: Vec<u64>) -> Self {
        if !moments.is_sorted() {
            moments.sort_unstable();
        }
        Self(Arc::new(moments))
    }

    /// All of them.
    pub fn as_slice(&self) -> &[u64] {
        &self.0
    }
}

impl fmt::Debug for Moments {
    /// Only their number: there are millions.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} moments", self.0.len())
    }
}

impl RecordedArrivals {
    /// Moments in one file at most: 160 MB of them.
    pub const COUNT_MAX: usize = 20_000_000;

    /// `moments`, nanoseconds from the start of the load, of `file`.
    pub fn new(file: String, sha256: String, moments: Vec<u64>) -> Self {
        let moments = Moments::new(moments);
        let all = moments.as_slice();
        let span = all.last().copied().unwrap_or_default() - all.first().copied().unwrap_or_default();
        Self { file, sha256, count: all.len() as u64, span_s: span as f64 / 1e9, moments }
    }

    /// When the last request is due, nanoseconds from the start of the load.
    pub fn last_ns(&self) -> u64 {
        self.moments.as_slice().last().copied().unwrap_or_default()
    }

    /// Requests per second on average. Of less than a second it is their number.
    pub fn mean_rate(&self) -> Rate {
        let per_s = self.count as f64 / (self.last_ns() as f64 / 1e9).max(1.0);
        let known = Rate::per_second(per_s).or_else(|| Rate::per_second(1.0));
        known.expect("invariant: 1 per second is a rate")
    }
}

/// Recorded requests, which a run sends again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Replay {
    /// What the file was read as: `combined`, `common`, `json`, `har`, or nginx's `log_format`.
    pub format: String,
    /// Time in the file passes so many times as fast.
    pub speed: f64,
    /// The earliest stamp of the replayed requests, RFC 3339 in UTC.
    pub from: String,
    /// The latest one.
    pub to: String,
    /// Lines or entries of the file.
    pub lines: u64,
    /// Those that are not replayed, by reason: `lines = requests + left out`.
    pub left_out: BTreeMap<String, u64>,
    /// The numbers of the first lines that could not be read, from 1.
    pub unreadable_lines: Vec<u64>,
    /// Lines with an earlier stamp than the line before them: the file was sorted.
    pub out_of_order: u64,
    /// The furthest that a stamp jumped back, seconds.
    pub jump_back_s: f64,
    /// Requests whose moment within a second is made up, because their stamps are whole seconds.
    pub made_up_moments: u64,
    /// Each route: method and pattern of the path, in the order of the scenario's flows.
    pub routes: Vec<String>,
    /// Which requests they are: not part of a result.
    #[serde(skip)]
    pub rows: Arc<ReplayRows>,
}

impl Replay {
    /// The scenario's feed with the distinct requests.
    pub const FEED: &'static str = "log";
    /// Routes that are measured one by one, each with histograms in every worker; the rarer ones share one by method.
    pub const ROUTES_MAX: usize = 48;
    /// Numbers of unreadable lines that are kept.
    pub const UNREADABLE_MAX: usize = 5;
}

/// What is due at each moment of a replay.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ReplayRows {
    /// By moment: the row of the feed.
    pub requests: Vec<u32>,
    /// By moment: the status that was recorded; 0 for none.
    pub statuses: Vec<u16>,
    /// By row of the feed: the flow of the scenario.
    pub flows: Vec<u16>,
}

impl ReplayRows {
    /// The row of the feed, its flow and the recorded status of the request with this number.
    #[inline]
    pub fn at(&self, number: usize) -> Option<(usize, usize, u16)> {
        let request = *self.requests.get(number)? as usize;
        Some((request, (*self.flows.get(request)?).into(), *self.statuses.get(number)?))
    }
}

impl fmt::Debug for ReplayRows {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} requests", self.requests.len())
    }
}

/// What came of a replay, beside the figures of every run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReplayResult {
    /// From when a request was due by the file to when it was sent, by the client's clock; of all that were sent.
    pub lateness: LatencySummary,
    /// The distribution of `lateness`.
    #[serde(default)]
    pub lateness_histogram: HistogramData,
    /// How many requests each pair of recorded and new status has, the most frequent first.
    pub statuses: Vec<StatusPair>,
    /// Requests that were due in each second of the load.
    pub due_per_second: Vec<u64>,
}

/// Requests with the same recorded status and the same new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StatusPair {
    /// The status in the file; absent where it has none.
    pub recorded: Option<u16>,
    /// The status of this server; absent where no complete response came.
    pub answered: Option<u16>,
    /// How many.
    pub count: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_rate_is_that_of_the_moments() {
        let arrivals =
            |moments: &[u64]| RecordedArrivals::new(String::new(), String::new(), moments.to_vec());
        let check = |moments: &[u64], span_s: f64, per_s: f64| {
            let found = arrivals(moments);
            assert!((found.span_s - span_s).abs() < 1e-12, "{}", found.span_s);
            assert!((found.mean_rate().as_per_second() - per_s).abs() < 1e-9, "{:?}", found.mean_rate());
        };
        check(&[], 0.0, 1.0);
        check(&[0], 0.0, 1.0);
        check(&[0, 0, 0], 0.0, 3.0);
        check(&[4_000_000_000, 0, 1_000_000_000], 4.0, 0.75);
        assert_eq!(arrivals(&[3, 1, 2]).moments.as_slice(), [1, 2, 3], "they are sorted");
    }
}
