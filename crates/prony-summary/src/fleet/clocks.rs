//! Distributions of several agents, added bucket by bucket.

use prony_model::{HistogramData, LatencySummary, RunResult};
use prony_stats::{Histogram, Sparse};

use crate::stored::{DistributionError, check_distributions, decoded};

/// Whether every distribution of `result` that a merge reads can be read.
pub(super) fn check(result: &RunResult) -> Result<(), DistributionError> {
    check_distributions(result)?;
    if let Some(tls) = &result.tls {
        decoded("full handshakes", &tls.handshakes.full_histogram)?;
        decoded("resumed handshakes", &tls.handshakes.resumed_histogram)?;
    }
    for step in result.scenario.iter().flat_map(|scenario| &scenario.steps) {
        decoded(&format!("response of step {}", step.name), &step.response_histogram)?;
        decoded(&format!("service of step {}", step.name), &step.service_histogram)?;
    }
    for flow in result.scenario.iter().flat_map(|scenario| &scenario.flows) {
        decoded(&format!("time of flow {}", flow.name), &flow.time_histogram)?;
        let without_think = &flow.time_without_think_histogram;
        decoded(&format!("time without think of flow {}", flow.name), without_think)?;
    }
    Ok(())
}

/// Adds `stored` to `sum`. Extremes and the sum of the values, which its encoding lacks, are those of `summary`.
pub(super) fn add(sum: &mut Histogram, stored: &HistogramData, summary: Option<&LatencySummary>) {
    let found = decoded("a distribution", stored).ok().flatten();
    let Some(found) = found else { return };
    match summary.and_then(|summary| exact(&found, summary)) {
        Some(exact) => sum.add_sparse(&exact),
        None => sum.add(&found),
    }
}

/// `found` with the exact extremes and the exact sum of `summary`; `None` where they don't belong together.
fn exact(found: &Histogram, summary: &LatencySummary) -> Option<Sparse> {
    if summary.count != found.count() {
        return None;
    }
    let buckets = found.to_sparse().buckets().collect();
    let (min, max) = (nanos(summary.min_ms?), nanos(summary.max_ms?));
    let total = summary.mean_ms? * 1e6 * summary.count as f64;
    Sparse::from_parts(buckets, min, max, whole(total), 0).ok()
}

/// Milliseconds as whole nanoseconds.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn nanos(ms: f64) -> u64 {
    (ms * 1e6).round() as u64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn whole(nanos: f64) -> u128 {
    nanos.round() as u128
}

/// The sum of what `choose` finds in each of `results`.
pub(super) fn total<'a>(
    results: &[&'a RunResult],
    choose: impl Fn(&'a RunResult) -> Option<(&'a HistogramData, Option<&'a LatencySummary>)>,
) -> Histogram {
    let mut sum = Histogram::new();
    for result in results {
        if let Some((stored, summary)) = choose(result) {
            add(&mut sum, stored, summary);
        }
    }
    sum
}
