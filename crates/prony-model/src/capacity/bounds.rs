//! What a capacity lies between, as far as that is known.

use super::{CapacityOutcome, CapacityResult};
use crate::words::{two_digits, whole};
use crate::{Interval, QuantileNote, Reading, TrialOutcome};

/// What a capacity lies between, per second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CapacityBounds {
    /// The capacity, where both bounds are known.
    pub estimate: Option<f64>,
    /// It is no less; absent where nothing was carried.
    pub low: Option<f64>,
    /// It is no more; absent where nothing failed.
    pub high: Option<f64>,
}

impl CapacityBounds {
    /// Those of `outcome`; `None` where nothing is known of a rate.
    pub fn of(outcome: &CapacityOutcome) -> Option<Self> {
        Some(match *outcome {
            CapacityOutcome::Between { estimate_per_s, lower_per_s, upper_per_s, .. } => {
                Self { estimate: Some(estimate_per_s), low: Some(lower_per_s), high: Some(upper_per_s) }
            }
            CapacityOutcome::AtLeast { lower_per_s, .. } => {
                Self { low: Some(lower_per_s), ..Self::default() }
            }
            CapacityOutcome::Below { upper_per_s } => Self { high: Some(upper_per_s), ..Self::default() },
            CapacityOutcome::Unknown { .. } | CapacityOutcome::Users => return None,
        })
    }

    /// Those of a capacity as a figure.
    pub fn of_reading(reading: &Reading) -> Self {
        Self {
            estimate: reading.value,
            low: reading.interval.map(|interval| interval.low).or(reading.above),
            high: reading.interval.map(|interval| interval.high).or(reading.below),
        }
    }

    /// Bounds that hold those of all searches; `None` without any. The estimate is the median, where each has one.
    pub fn around(all: &[Self]) -> Option<Self> {
        let (first, others) = all.split_first()?;
        let wider = |of: fn(&Self) -> Option<f64>, wider: fn(f64, f64) -> f64| {
            others.iter().map(of).try_fold(of(first)?, |bound, other| Some(wider(bound, other?)))
        };
        let estimates: Option<Vec<f64>> = all.iter().map(|bounds| bounds.estimate).collect();
        Some(Self {
            estimate: estimates.map(median),
            low: wider(|bounds| bounds.low, f64::min),
            high: wider(|bounds| bounds.high, f64::max),
        })
    }

    /// Whether every value of these is below every value of `other`.
    pub fn are_below(&self, other: &Self) -> bool {
        matches!((self.high, other.low), (Some(high), Some(low)) if high < low)
    }
}

fn per_s(rate: f64) -> String {
    if rate < 10.0 { two_digits(rate).to_string() } else { whole(rate) }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    if values.len() % 2 == 1 { values[half] } else { f64::midpoint(values[half - 1], values[half]) }
}

impl CapacityResult {
    /// Trials that say something about the server.
    pub fn counted_trials(&self) -> u64 {
        self.trials.iter().filter(|trial| trial.outcome != TrialOutcome::Void).count() as u64
    }

    /// The capacity as a figure: its value with its bounds, or what it is at least or below, and why no more is known.
    pub fn reading(&self) -> Reading {
        let bounds = CapacityBounds::of(&self.outcome).unwrap_or_default();
        let interval = bounds.low.zip(bounds.high);
        let reason = match &self.outcome {
            CapacityOutcome::Between { .. } => None,
            CapacityOutcome::AtLeast { lower_per_s, reason, .. } => {
                Some(format!("at least {} /s: {reason}", per_s(*lower_per_s)))
            }
            CapacityOutcome::Below { upper_per_s } => {
                Some(format!("not even {} /s is carried", per_s(*upper_per_s)))
            }
            CapacityOutcome::Unknown { reason } => Some(reason.clone()),
            CapacityOutcome::Users => Some("users were varied, not the rate".to_owned()),
        };
        Reading {
            value: bounds.estimate,
            interval: interval.map(|(low, high)| Interval { low, high, indicative: false }),
            samples: self.counted_trials(),
            withheld: reason.map(|reason| QuantileNote { reason, above_ms: None }),
            above: bounds.low.filter(|_| bounds.high.is_none()),
            below: bounds.high.filter(|_| bounds.low.is_none()),
            is_of_client: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(low: f64, high: f64) -> CapacityBounds {
        CapacityBounds { estimate: Some(f64::midpoint(low, high)), low: Some(low), high: Some(high) }
    }

    #[test]
    fn bounds_that_hold_several() {
        let check = |all: &[CapacityBounds], expected: CapacityBounds| {
            assert_eq!(CapacityBounds::around(all), Some(expected));
        };
        assert_eq!(CapacityBounds::around(&[]), None);
        check(&[between(90.0, 110.0)], between(90.0, 110.0));
        let (low, high) = (Some(80.0), Some(130.0));
        let three = [between(90.0, 110.0), between(80.0, 100.0), between(90.0, 130.0)];
        check(&three, CapacityBounds { estimate: Some(100.0), low, high });
        let at_least = CapacityBounds { low: Some(50.0), ..CapacityBounds::default() };
        check(&[at_least, between(90.0, 110.0)], at_least);
        let below = CapacityBounds { high: Some(10.0), ..CapacityBounds::default() };
        check(&[at_least, below], CapacityBounds::default());
    }

    #[test]
    fn only_what_is_apart_is_below() {
        let at_least = CapacityBounds { low: Some(111.0), ..CapacityBounds::default() };
        assert!(between(90.0, 110.0).are_below(&at_least));
        assert!(between(90.0, 110.0).are_below(&between(111.0, 120.0)));
        assert!(!between(90.0, 110.0).are_below(&between(110.0, 120.0)));
        assert!(!at_least.are_below(&between(500.0, 600.0)), "nothing is known of its upper end");
    }
}
