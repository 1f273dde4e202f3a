//! The seconds of all agents.

use std::collections::BTreeMap;

use prony_model::{RunResult, SecondPoint};
use prony_stats::{Histogram, Sparse};

use super::pieces::Pieces;
use crate::second::second_quantiles;

const SECOND_NS: u64 = 1_000_000_000;

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
            sum.answered = match (sum.answered, point.answered) {
                (sum, Some(more)) => Some(sum.unwrap_or_default().saturating_add(more)),
                (sum, None) => sum,
            };
            sum.done = sum.done.saturating_add(point.done);
            sum.failed = sum.failed.saturating_add(point.failed);
            sum.received_bytes = sum.received_bytes.saturating_add(point.received_bytes);
            let greatest =
                |own: Option<f64>, other: Option<f64>| [own, other].into_iter().flatten().reduce(f64::max);
            sum.max_ms = greatest(sum.max_ms, point.max_ms);
            sum.service_max_ms = greatest(sum.service_max_ms, point.service_max_ms);
        }
    }
    if let Some(pieces) = pieces {
        for point in seconds.values_mut() {
            let of = |pieces_of: &[Sparse], max_ms| {
                of_second(pieces.length_ns, pieces_of, point.second)
                    .map_or([None; 2], |values| times(&values, max_ms))
            };
            let response = of(&pieces.response, point.max_ms);
            let service = of(&pieces.service, point.service_max_ms);
            [point.p50_ms, point.p99_ms] = response;
            [point.service_p50_ms, point.service_p99_ms] = service;
        }
    }
    seconds.into_values().collect()
}

/// Median and p99 of a second, milliseconds; none is above `max_ms`, which is exact where the histogram is not.
fn times(values: &Histogram, max_ms: Option<f64>) -> [Option<f64>; 2] {
    second_quantiles(values).map(|quantile| Some(quantile?.min(max_ms?)))
}

/// What the pieces of a second hold, each `length_ns` long.
fn of_second(length_ns: u64, pieces: &[Sparse], second: u64) -> Option<Histogram> {
    if length_ns == 0 || !SECOND_NS.is_multiple_of(length_ns) {
        return None;
    }
    let each = usize::try_from(SECOND_NS / length_ns).ok()?;
    let from = usize::try_from(second).ok()?.checked_mul(each)?;
    let mut sum = Histogram::new();
    pieces.get(from..)?.iter().take(each).for_each(|piece| sum.add_sparse(piece));
    Some(sum)
}
