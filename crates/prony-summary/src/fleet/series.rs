//! The seconds of all agents.

use std::collections::BTreeMap;

use prony_model::{RunResult, SecondPoint};
use prony_stats::Histogram;

use super::pieces::Pieces;

const SECOND_NS: u64 = 1_000_000_000;
/// Quantiles of a second need so many samples: ten beyond the 99th percentile.
const P99_SAMPLES: u64 = 1000;

/// One point per second. Quantiles come from the pieces of that second, and are absent where a piece is longer than it, or
/// does not end with it.
pub(super) fn series(results: &[&RunResult], pieces: Option<&Pieces>) -> Vec<SecondPoint> {
    let threads: f64 = results.iter().map(|result| f64::from(result.plan.threads)).sum();
    let mut seconds: BTreeMap<u64, SecondPoint> = BTreeMap::new();
    for result in results {
        for point in &result.series {
            let sum = seconds.entry(point.second).or_default();
            sum.second = point.second;
            sum.covered_s += point.covered_s * f64::from(result.plan.threads) / threads;
            sum.sent = sum.sent.saturating_add(point.sent);
            sum.done = sum.done.saturating_add(point.done);
            sum.failed = sum.failed.saturating_add(point.failed);
            sum.received_bytes = sum.received_bytes.saturating_add(point.received_bytes);
            sum.max_ms = [sum.max_ms, point.max_ms].into_iter().flatten().reduce(f64::max);
        }
    }
    for point in seconds.values_mut() {
        if let Some(responses) = pieces.and_then(|pieces| of_second(pieces, point.second)) {
            let milliseconds = |q: f64| {
                let nanos = responses.value_at_quantile(q)?;
                // Exact where the histogram is not.
                Some((nanos as f64 / 1e6).min(point.max_ms?))
            };
            point.p50_ms = milliseconds(0.5);
            point.p99_ms = milliseconds(0.99).filter(|_| responses.count() >= P99_SAMPLES);
        }
    }
    seconds.into_values().collect()
}

/// The response times of a second.
fn of_second(pieces: &Pieces, second: u64) -> Option<Histogram> {
    if pieces.length_ns == 0 || !SECOND_NS.is_multiple_of(pieces.length_ns) {
        return None;
    }
    let each = usize::try_from(SECOND_NS / pieces.length_ns).ok()?;
    let from = usize::try_from(second).ok()?.checked_mul(each)?;
    let mut sum = Histogram::new();
    pieces.response.get(from..)?.iter().take(each).for_each(|piece| sum.add_sparse(piece));
    Some(sum)
}
