//! Which slices of a run are unlike the others.
//!
//! Slices are flagged, never removed: a slow second happened. Requests are not looked at here at all.

use crate::layout::SIGNIFICANT_DIGITS;
use crate::sample::{median, median_absolute_deviation};

/// How many median absolute deviations from the median make an outlier: ten standard deviations of a
/// normal (10·1.483). Slices of healthy servers have heavy tails, so the usual three would cry wolf.
pub const OUTLIER_DEVIATIONS: f64 = 14.83;

/// The indices of the slices whose value x has |x − median|/MAD > 14.83, ascending.
///
/// The MAD counts as at least 0.1 % of the median, the resolution of a recorded value: where most
/// slices agree to the last digit, the least difference would be an outlier.
pub fn outliers(values: &[f64]) -> Vec<usize> {
    let (Some(center), Some(spread)) = (median(values), median_absolute_deviation(values)) else {
        return Vec::new();
    };
    let resolution = center.abs() * 0.1_f64.powi(i32::from(SIGNIFICANT_DIGITS));
    let limit = OUTLIER_DEVIATIONS * spread.max(resolution);
    let flagged = values.iter().enumerate().filter(|(_, value)| (*value - center).abs() > limit);
    flagged.map(|(index, _)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[f64], expected: &[usize]) {
        assert_eq!(outliers(values), expected, "{values:?}");
    }

    #[test]
    fn far_slices_are_flagged() {
        check(&[], &[]);
        check(&[1.0, 100.0], &[]);
        check(&[10.0, 11.0, 9.0, 10.5, 9.5, 17.0], &[]);
        check(&[10.0, 11.0, 9.0, 10.5, 30.0, 9.5], &[4]);
        check(&[5.0, 5.0, 5.0, 5.0, 5.07], &[]);
        check(&[5.0, 0.0, 5.0, 5.0, 5.08], &[1, 4]);
    }
}
