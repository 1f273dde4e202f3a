//! What a search is worth: bounds that allow for how far the trials scatter.

use std::time::Duration;

use prony_model::{CapacityLimit, CapacityOutcome, Confirmation, TrialOutcome};
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

/// The 95 % interval of the capacity by all trials that are not void.
pub(super) fn interval(trials: &[Tried]) -> Option<Capacity> {
    let counted = trials.iter().filter(|trial| trial.outcome != TrialOutcome::Void);
    let counted: Vec<Trial> = counted
        .map(|trial| Trial { load: trial.plan.rate_per_s, passed: trial.outcome == TrialOutcome::Passed })
        .collect();
    prony_stats::capacity(&counted)
}
