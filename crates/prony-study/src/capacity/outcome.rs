//! What a search is worth: bounds that allow for how far the trials scatter.

use std::time::Duration;

use prony_model::{CapacityLimit, CapacityOutcome, Confirmation, TrialOutcome, TrialPurpose};
use prony_stats::{Capacity, Trial};

use super::search::{Found, Tried};

/// The outcome of `found` after `trials`. The bounds are those of the search, widened to the 95 % interval of all trials.
pub(super) fn outcome(
    found: &Found,
    trials: &[Tried],
    reason: impl Fn(CapacityLimit) -> String,
) -> CapacityOutcome {
    let confirmation = found.confirmed.map_or(Confirmation::Missing, confirmed);
    let limit = found.limit.unwrap_or(CapacityLimit::Time);
    match (found.carried, found.exceeded) {
        (Some(carried), Some(exceeded)) => {
            let (low, high) = (carried.rate_per_s, exceeded.rate_per_s);
            let known = interval(trials).unwrap_or(Capacity { estimate: (low * high).sqrt(), low, high });
            let (lower_per_s, upper_per_s) = (known.low.min(low), known.high.max(high));
            CapacityOutcome::Between {
                estimate_per_s: known.estimate.clamp(lower_per_s, upper_per_s),
                lower_per_s,
                upper_per_s,
                carried_per_s: carried.rate_per_s,
                exceeded_per_s: exceeded.rate_per_s,
                is_decided: carried.is_final && exceeded.is_final,
                confirmation,
            }
        }
        (Some(carried), None) => CapacityOutcome::AtLeast {
            lower_per_s: carried.rate_per_s,
            is_decided: carried.is_final,
            limit,
            reason: reason(limit),
            confirmation,
        },
        (None, Some(exceeded)) => CapacityOutcome::Below { upper_per_s: exceeded.rate_per_s },
        (None, None) => CapacityOutcome::Unknown { reason: reason(limit) },
    }
}

fn confirmed((rate_per_s, length): (f64, Duration)) -> Confirmation {
    Confirmation::Confirmed { rate_per_s, measured_s: length.as_secs_f64() }
}

/// The 95 % interval of the capacity by all trials that say something.
///
/// A trial that missed its objectives while client or machine were in the way may have failed for that reason alone. So
/// it counts as failed for the lower end and not at all for the upper one: either end is as far out as such trials allow. Those
/// that were not disturbed have a lower end of their own, and the higher of the two holds.
pub(super) fn interval(trials: &[Tried]) -> Option<Capacity> {
    let has_passed = |tried: &Tried| {
        (tried.outcome != TrialOutcome::Void).then_some(tried.outcome == TrialOutcome::Passed)
    };
    let trials = &trusted(trials);
    let best = of(trials, has_passed)?;
    if !trials.iter().any(|tried| tried.is_disturbed) {
        return Some(best);
    }
    let worst = of(trials, |tried| has_passed(tried).or(tried.is_missed().then_some(false)))?;
    let quiet = of(trials, |tried| has_passed(tried).filter(|_| !tried.is_disturbed));
    let low = quiet.map_or(worst.low, |quiet| quiet.low.max(worst.low));
    let high = best.high.max(low);
    let estimate = quiet.map_or((worst.estimate * best.estimate).sqrt(), |quiet| quiet.estimate);
    Some(Capacity { estimate: estimate.clamp(low, high), low, high })
}

/// Where a long trial failed and did not pass when it was repeated, the short ones before it that passed say nothing: a burst carried
/// them.
fn trusted(trials: &[Tried]) -> Vec<Tried> {
    let is_long = |tried: &Tried| tried.plan.purpose == TrialPurpose::Confirm;
    let is_repeated = |failed: &Tried| {
        let mut others =
            trials.iter().filter(|tried| is_long(tried) && tried.outcome == TrialOutcome::Passed);
        others.any(|passed| passed.plan.rate_per_s >= failed.plan.rate_per_s)
    };
    let failed = trials
        .iter()
        .position(|tried| is_long(tried) && tried.outcome == TrialOutcome::Failed && !is_repeated(tried));
    let (before, after) = trials.split_at(failed.unwrap_or_default());
    let kept = before.iter().filter(|tried| is_long(tried) || tried.outcome == TrialOutcome::Failed);
    kept.chain(after).copied().collect()
}

/// The interval by those of `trials` that `has_passed` knows.
fn of(trials: &[Tried], has_passed: impl Fn(&Tried) -> Option<bool>) -> Option<Capacity> {
    let counted = trials.iter().filter_map(|tried| {
        let passed = has_passed(tried)?;
        Some(Trial { load: tried.plan.rate_per_s, passed })
    });
    prony_stats::capacity(&counted.collect::<Vec<_>>())
}
