//! A result whose figures are known.

use prony_model::{ErrorKind, LatencySummary, OutcomeSummary, RunResult};
use prony_stats::{Censored, Histogram};
use prony_summary::{histogram_data, summary};

const STORED: &str = include_str!("../../../prony/tests/it/stored.json");

/// Good responses: how many took how many nanoseconds.
pub(crate) const GOOD: [(u64, u64); 3] = [(1_000_000, 900), (2_000_000, 90), (50_000_000, 10)];
/// Refused connections.
pub(crate) const REFUSED: (u64, u64) = (100_000, 5);
/// Nanoseconds of all good responses.
pub(crate) const GOOD_SUM_NS: u64 = 900_000_000 + 180_000_000 + 500_000_000;

/// 1,000 good responses and 5 refused connections, after `measured_s`.
pub(crate) fn result(measured_s: f64) -> RunResult {
    let mut result = prony_model::from_json(STORED).expect("a stored result");
    let mut good = Histogram::new();
    for (nanos, count) in GOOD {
        good.record_n(nanos, count);
    }
    let mut refused = Histogram::new();
    refused.record_n(REFUSED.0, REFUSED.1);
    result.timing.measured_s = measured_s;
    "http://127.0.0.1:3000/page?token=geheim".clone_into(&mut result.plan.target.url);
    result.outcomes = vec![entry("2xx", &good), entry("refused", &refused)];
    result.latency.response = of(&good);
    result.requests.intended = 1_005;
    result.requests.sent = 1_005;
    result.requests.answered = 1_000;
    result.requests.done = 1_000;
    result.requests.failed = 5;
    result.requests.failed_by_kind = [(ErrorKind::Refused, 5)].into();
    result.statuses = [(200, 990), (204, 10)].into();
    result
}

fn of(histogram: &Histogram) -> LatencySummary {
    summary(histogram, Censored::NONE)
}

fn entry(name: &str, histogram: &Histogram) -> OutcomeSummary {
    OutcomeSummary {
        outcome: name.to_owned(),
        count: histogram.count(),
        response: of(histogram),
        service: of(histogram),
        response_histogram: histogram_data(histogram),
        service_histogram: histogram_data(histogram),
    }
}
