//! Two servers against each other: what `prony compare` measured of both, pair by pair, and what follows from it.

mod outcome;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::outcome::ComparisonOutcome;
use crate::{
    Environment, ErrorKind, Finding, FindingCode, FormatError, HistogramData, RunPlan, Verdict, format,
};

/// The value of `format` in every stored comparison.
pub const COMPARISON_FORMAT: &str = "prony.compare";
/// The version of [`ComparisonResult`] that this crate writes; it reads this one only.
pub const COMPARISON_VERSION: u32 = 1;

/// A comparison of B against A, whole: enough to compute every number of its report again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ComparisonResult {
    /// Always `prony.compare`.
    pub format: String,
    /// Version of this format.
    pub version: u32,
    /// Whether the numbers can be defended; what they say of A and B stands in `metrics`.
    pub verdict: Verdict,
    /// How both were measured.
    pub kind: ComparisonKind,
    /// Start of the first load, RFC 3339 in UTC.
    pub started_at: String,
    /// Ended by hand before its time.
    pub interrupted: bool,
    /// What B is compared with.
    pub a: ComparedSide,
    /// What is compared.
    pub b: ComparedSide,
    /// The change that is taken as none: 0.02 is 2 %.
    pub margin: f64,
    /// When the comparison was looked at.
    pub looks: LookPlan,
    /// Seed of the orders, of the load and of the label swaps; absent for stored results.
    pub seed: Option<u64>,
    /// The measured part of each block, seconds; absent for stored results.
    pub block_s: Option<f64>,
    /// Every pair, in the order of time.
    pub pairs: Vec<ComparedPair>,
    /// The primary metric at each look.
    pub looks_taken: Vec<Look>,
    /// The primary metric first.
    pub metrics: Vec<MetricComparison>,
    /// What else is to be known of it, a sentence each.
    pub notes: Vec<String>,
    /// Reasons to doubt, the worst first.
    pub findings: Vec<Finding>,
    /// The machine.
    pub environment: Environment,
}

/// How both sides of a comparison were measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ComparisonKind {
    /// In turn, in short blocks.
    Interleaved,
    /// In whole runs, which are paired in the order of time.
    Stored,
    /// In too few whole runs for a verdict.
    TooFewRuns,
    /// By searches for the capacity of each.
    Searches,
}

/// When a comparison was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LookPlan {
    /// At its end only, after a number of pairs fixed beforehand.
    Once,
    /// After 10, 16, 24 and 40 pairs, until it had its answer.
    Sequential,
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ComparedSide {
    /// What was loaded, as it was named: a URL, a commit, a file.
    pub name: String,
    /// What each block was asked to do; for stored results, the plan of the first.
    pub plan: RunPlan,
    /// The addresses that the target's name stood for.
    pub addresses: Vec<String>,
    /// The driver that did it.
    pub driver: String,
    /// Requests that were due in all blocks of the pairs that count.
    pub requests: u64,
    /// Those of them that failed. An answer that came after its block is none of them.
    pub failed: u64,
    /// `failed` by kind; kinds that did not occur are absent.
    #[serde(default)]
    pub failed_by_kind: BTreeMap<ErrorKind, u64>,
    /// Those without an answer when the drain of their block ended; with a rate also those never sent.
    #[serde(default)]
    pub unanswered: u64,
}

/// Two blocks, one of each side, next to each other in time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ComparedPair {
    /// Which came first.
    pub order: BlockOrder,
    /// Why it does not count, if it does not.
    pub dropped: Option<String>,
    /// The block of A.
    pub a: ComparedBlock,
    /// The block of B.
    pub b: ComparedBlock,
}

/// The order of the blocks of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BlockOrder {
    /// A, then B.
    AFirst,
    /// B, then A.
    BFirst,
}

/// One load on one side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ComparedBlock {
    /// The file of a stored result.
    #[serde(default)]
    pub file: Option<String>,
    /// Start of the load, RFC 3339 in UTC.
    pub started_at: String,
    /// The measured part, seconds.
    pub measured_s: f64,
    /// Requests that were due.
    pub requests: u64,
    /// Those of them that failed. An answer that came after the block is none of them.
    pub failed: u64,
    /// `failed` by kind; kinds that did not occur are absent.
    #[serde(default)]
    pub failed_by_kind: BTreeMap<ErrorKind, u64>,
    /// Those without an answer when the drain ended; with a rate also those never sent.
    #[serde(default)]
    pub unanswered: u64,
    /// Good responses per second, by counting.
    pub rate_per_s: f64,
    /// The same from whole rounds, which is what closed loops are compared by.
    #[serde(default)]
    pub whole_rounds_per_s: Option<f64>,
    /// Mean response time of the good responses, milliseconds.
    #[serde(default)]
    pub mean_response_ms: Option<f64>,
    /// CPU time of the server for each request, microseconds; null where it is not known.
    #[serde(default)]
    pub cpu_per_request_us: Option<f64>,
    /// Response times of the good responses by quantile ("0.5", …), milliseconds, also where few support them.
    pub response_ms: BTreeMap<String, f64>,
    /// Greatest share of a core that a worker thread of the client used (0..1).
    pub client_cpu_share: f64,
    /// Longest time that a worker thread of the client waited for a core, seconds; null where the kernel does not say.
    pub run_queue_wait_s: Option<f64>,
    /// Share of the machine's CPU time that the hypervisor gave to others (0..1); null where it does not say.
    pub steal_share: Option<f64>,
    /// What makes this block invalid by itself.
    pub invalid: Vec<FindingCode>,
    /// The distribution of the response times.
    pub histogram: HistogramData,
}

/// What can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Metric {
    /// Good responses per second.
    #[serde(rename = "rate")]
    Rate,
    /// Median of the response time.
    #[serde(rename = "p50")]
    P50,
    /// Its 90th percentile.
    #[serde(rename = "p90")]
    P90,
    /// Its 99th percentile.
    #[serde(rename = "p99")]
    P99,
    /// Its 99.9th percentile.
    #[serde(rename = "p99.9")]
    P999,
    /// CPU time of the server for each request.
    #[serde(rename = "cpu")]
    Cpu,
    /// The rate that a server carries, by searches.
    #[serde(rename = "capacity")]
    Capacity,
}

impl Metric {
    /// Every metric of a load, in the order of reports.
    pub const ALL: [Self; 6] = [Self::Rate, Self::P50, Self::P90, Self::P99, Self::P999, Self::Cpu];

    /// The stable name, as in JSON and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P99 => "p99",
            Self::P999 => "p99.9",
            Self::Cpu => "cpu",
            Self::Capacity => "capacity",
        }
    }

    /// The key of [`ComparedBlock::response_ms`] and the quantile in 0..1; `None` for a rate, a capacity and CPU time.
    pub fn quantile(self) -> Option<(&'static str, f64)> {
        match self {
            Self::Rate | Self::Cpu | Self::Capacity => None,
            Self::P50 => Some(("0.5", 0.5)),
            Self::P90 => Some(("0.9", 0.9)),
            Self::P99 => Some(("0.99", 0.99)),
            Self::P999 => Some(("0.999", 0.999)),
        }
    }

    /// Whether a few requests in a hundred decide on it.
    pub fn is_tail(self) -> bool {
        self.quantile().is_some_and(|(_, q)| q >= 0.99)
    }
}

/// The primary metric at one look.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Look {
    /// Pairs by then.
    pub pairs: u64,
    /// B over A, less one.
    pub change: Option<f64>,
    /// The interval of `change`, 95 % over all looks.
    pub interval: Option<ChangeInterval>,
    /// The outcome if it had ended then.
    pub outcome: ComparisonOutcome,
}

/// A range of changes that holds the true one in 95 of 100 comparisons like this one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeInterval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// B against A in one metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricComparison {
    /// Which metric.
    pub metric: Metric,
    /// Whether it is the one that was declared beforehand.
    pub primary: bool,
    /// How it was evaluated.
    pub method: ComparisonMethod,
    /// Pairs it rests on.
    pub pairs: u64,
    /// A's median over the blocks: milliseconds, responses per second, or microseconds of CPU time per request.
    pub a: Option<f64>,
    /// B's.
    pub b: Option<f64>,
    /// B over A, less one: 0.05 is 5 % more, whichever way is good.
    pub change: Option<f64>,
    /// The interval of `change`.
    pub interval: Option<ChangeInterval>,
    /// Standard deviation of ln(B/A) over the pairs.
    pub spread: Option<f64>,
    /// The probability of such a difference by chance; for all but the primary metric with Holm's adjustment.
    pub p: Option<f64>,
    /// Whether a difference in either direction may be claimed.
    pub differs: bool,
    /// The outcome.
    pub outcome: ComparisonOutcome,
}

/// How a metric was evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ComparisonMethod {
    /// Ratios within pairs, by signed ranks.
    SignedRanks,
    /// Merged distributions, by exchanging labels within pairs: no block alone reaches so far into the tail.
    LabelSwaps,
    /// Not at all: the intervals are those of single runs.
    SingleRuns,
    /// By whether the bounds of both are apart; the interval is what those bounds allow.
    Bounds,
}

/// `result` as JSON text, with a line feed at the end.
pub fn comparison_to_json(result: &ComparisonResult) -> String {
    format::write(result)
}

/// Reads what [`comparison_to_json`] wrote.
pub fn comparison_from_json(text: &str) -> Result<ComparisonResult, FormatError> {
    format::read(text, COMPARISON_FORMAT, COMPARISON_VERSION, FormatError::ForeignComparison)
}

/// The JSON Schema of a stored comparison, as in docs/schema/compare-v1.json.
#[cfg(test)]
fn comparison_json_schema() -> String {
    format::write(&schemars::schema_for!(ComparisonResult))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After a change of the model: `PRONY_WRITE_SCHEMA=1 cargo test -p prony-model`, and read the difference.
    #[test]
    fn the_published_schema_is_the_one_of_the_code() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/compare-v1.json");
        if std::env::var_os("PRONY_WRITE_SCHEMA").is_some() {
            std::fs::write(path, comparison_json_schema()).expect("docs/schema can be written");
        }
        let published = std::fs::read_to_string(path).expect("docs/schema/compare-v1.json can be read");
        assert!(
            published == comparison_json_schema(),
            "docs/schema/compare-v1.json is out of date: see this test"
        );
    }

    #[test]
    fn names_are_those_of_json() {
        for metric in Metric::ALL.into_iter().chain([Metric::Capacity]) {
            assert_eq!(serde_json::to_value(metric).expect("a metric is a string"), metric.name());
        }
    }
}
