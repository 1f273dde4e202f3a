//! The distributions of several agents, added bucket by bucket, one agent after another.

use std::collections::BTreeMap;

use prony_model::{LatencySummary, RunResult};
use prony_stats::{DecodeError, Histogram, Sparse};

use crate::stored::{self, DistributionError, Place};

/// Samples that one distribution of an agent may have, so that no sum of those of a thousand agents overflows: at a
/// million a second, 285 years.
pub(super) const SAMPLES_MAX: u64 = 1 << 53;

/// Every distribution of one agent.
pub(super) struct OfAgent(Vec<(Place, Sparse)>);

/// Every distribution of `result`; `scratch` is used for decoding.
pub(super) fn read(result: &RunResult, scratch: &mut Histogram) -> Result<OfAgent, DistributionError> {
    let mut found = Vec::new();
    for stored in stored::all(result) {
        stored.read(scratch)?;
        if scratch.count() > SAMPLES_MAX {
            let name = format!("{:?}", stored.place);
            return Err(DistributionError::Damaged { name, source: DecodeError::Counts });
        }
        if !scratch.is_empty() {
            let buckets = scratch.to_sparse();
            let exact = stored.summary.and_then(|summary| exact(&buckets, summary));
            found.push((stored.place, exact.unwrap_or(buckets)));
        }
    }
    Ok(OfAgent(found))
}

/// The sums.
#[derive(Default)]
pub(super) struct Totals(BTreeMap<Place, Histogram>);

impl Totals {
    pub(super) fn add(&mut self, agent: &OfAgent) {
        for (place, values) in &agent.0 {
            self.0.entry(*place).or_default().add_sparse(values);
        }
    }

    /// The sum at `place`; empty where no agent has values.
    pub(super) fn take(&mut self, place: Place) -> Histogram {
        self.0.remove(&place).unwrap_or_default()
    }
}

/// `found` with the extremes and the sum of `summary`, which are exact and which the encoding lacks; `None` where they
/// don't belong together.
fn exact(found: &Sparse, summary: &LatencySummary) -> Option<Sparse> {
    if summary.count != found.count() {
        return None;
    }
    let (min, max) = (nanos(summary.min_ms?), nanos(summary.max_ms?));
    let total = summary.mean_ms? * 1e6 * summary.count as f64;
    Sparse::from_parts(found.buckets().collect(), min, max, whole(total), 0).ok()
}

/// Milliseconds as whole nanoseconds.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn nanos(ms: f64) -> u64 {
    (ms * 1e6).round() as u64
}

/// At most what so many samples of 64 bits add up to.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn whole(nanos: f64) -> u128 {
    (nanos.round() as u128).min(u128::from(SAMPLES_MAX) * u128::from(u64::MAX))
}
