//! Bencher Metric Format: what Bencher and other trackers of benchmarks read. A benchmark for each run, with the measures
//! that can be defended: a run that is INVALID has none.
//!
//! Source of the format: <https://bencher.dev/docs/reference/bencher-metric-format/>. The measures `latency` (nanoseconds)
//! and `throughput` (operations per second) have those units at Bencher; those with longer names are nanoseconds, too.

use std::collections::BTreeMap;

use prony_model::{LatencySummary, RunResult, Verdict};
use serde::Serialize;

use crate::facts;

const NS_PER_MS: f64 = 1e6;
/// The quantiles that are tracked: measure, key.
const TRACKED: [(&str, &str); 3] = [("p50", "0.5"), ("p99", "0.99"), ("p999", "0.999")];

/// A value, and the ends of its interval where it has one.
#[derive(Debug, Serialize)]
struct Metric {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

impl Metric {
    fn alone(value: f64) -> Self {
        Self { value, lower_value: None, upper_value: None }
    }
}

/// Runs, each with the name of its file; none (an empty name) for a run that is just over. Runs of one load have one name:
/// the file is added to tell them apart.
pub fn runs(results: &[(&str, &RunResult)]) -> String {
    let mut benchmarks: BTreeMap<String, BTreeMap<String, Metric>> = BTreeMap::new();
    for (file, result) in results.iter().filter(|(_, result)| result.verdict != Verdict::Invalid) {
        let load = facts::what(&result.plan);
        let name = if results.len() == 1 { load } else { format!("{load} ({file})") };
        benchmarks.insert(name, measures(result));
    }
    serde_json::to_string_pretty(&benchmarks).expect("invariant: names and numbers are JSON") + "\n"
}

fn measures(result: &RunResult) -> BTreeMap<String, Metric> {
    let mut found = BTreeMap::new();
    let rate = &result.rate;
    let interval = rate.interval_per_s;
    let throughput = Metric {
        value: rate.done_per_s,
        lower_value: interval.map(|interval| interval.low),
        upper_value: interval.map(|interval| interval.high),
    };
    found.insert("throughput".to_owned(), throughput);
    found.extend(quantile(&result.latency.response, "0.5").map(|metric| ("latency".to_owned(), metric)));
    for (clock, summary) in
        [("response-time", &result.latency.response), ("service-time", &result.latency.service)]
    {
        for (measure, key) in TRACKED {
            found.extend(quantile(summary, key).map(|metric| (format!("{clock}-{measure}"), metric)));
        }
        found.extend(summary.max_ms.map(|max| (format!("{clock}-max"), Metric::alone(max * NS_PER_MS))));
    }
    let requests = &result.requests;
    if requests.intended > 0 {
        let share = 1.0 - requests.done as f64 / requests.intended as f64;
        found.insert("error-share".to_owned(), Metric::alone(share));
    }
    found
}

/// In nanoseconds; none where it is withheld.
fn quantile(summary: &LatencySummary, key: &str) -> Option<Metric> {
    let value = summary.quantiles_ms.get(key).copied().flatten()?;
    let interval = summary.intervals_ms.get(key);
    Some(Metric {
        value: value * NS_PER_MS,
        lower_value: interval.map(|interval| interval.low * NS_PER_MS),
        upper_value: interval.map(|interval| interval.high * NS_PER_MS),
    })
}
