//! Median, spread and the like of a few dozen numbers, shared by the modules that evaluate slices.

/// The median; the mean of the two middle values for an even number. `None` when empty.
///
/// NaN has no place in any order, so no caller may pass one; it would be sorted to an end.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    median_of_sorted(&sorted)
}

/// [`median`] of values already in ascending order.
pub(crate) fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let half = sorted.len() / 2;
    let upper = *sorted.get(half)?;
    Some(if sorted.len() % 2 == 1 { upper } else { sorted[half - 1].midpoint(upper) })
}

/// The median distance from the median, not scaled to a standard deviation. `None` when empty.
pub(crate) fn median_absolute_deviation(values: &[f64]) -> Option<f64> {
    let center = median(values)?;
    let distances: Vec<f64> = values.iter().map(|value| (value - center).abs()).collect();
    median(&distances)
}

/// The mean; NaN when empty.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The sample standard deviation (n − 1); 0 for fewer than two values.
pub(crate) fn std_dev(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let center = mean(values);
    let squares: f64 = values.iter().map(|value| (value - center).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_deviations() {
        let check = |values: &[f64], center: Option<f64>, deviation: Option<f64>| {
            assert_eq!(
                (median(values), median_absolute_deviation(values)),
                (center, deviation),
                "{values:?}"
            );
        };
        check(&[], None, None);
        check(&[3.0], Some(3.0), Some(0.0));
        check(&[4.0, 1.0], Some(2.5), Some(1.5));
        check(&[9.0, 1.0, 2.0, 4.0, 6.0], Some(4.0), Some(2.0));
        assert!((std_dev(&[1.0, 2.0, 3.0, 4.0]) - (5.0_f64 / 3.0).sqrt()).abs() < 1e-15);
    }
}
