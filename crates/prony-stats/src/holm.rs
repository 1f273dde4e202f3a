//! Looking at several metrics without finding one by chance: Holm's adjustment.

/// Adjusts probabilities for having looked at all of them: each may be compared with the level a single
/// one would be. In the order given; NaN has no place here.
///
/// The k-th least of m is multiplied by m − k + 1, and none falls below a lesser one. Source: Holm,
/// Scandinavian Journal of Statistics 6 (1979). It holds whatever the dependence between the metrics.
pub fn holm(probabilities: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|&a, &b| probabilities[a].total_cmp(&probabilities[b]));
    let mut adjusted = vec![0.0; probabilities.len()];
    let mut least = 0.0_f64;
    for (k, &index) in order.iter().enumerate() {
        let factor = (probabilities.len() - k) as f64;
        least = least.max((factor * probabilities[index]).min(1.0));
        adjusted[index] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(probabilities: &[f64], expected: &[f64]) {
        let adjusted = holm(probabilities);
        assert_eq!(adjusted.len(), expected.len());
        assert!(
            adjusted.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12),
            "{adjusted:?} is not {expected:?}"
        );
    }

    #[test]
    fn probabilities_grow_with_how_many_there_are() {
        check(&[], &[]);
        check(&[0.03], &[0.03]);
        check(&[0.04, 0.01, 0.03], &[0.06, 0.03, 0.06]);
        check(&[0.6, 0.5], &[1.0, 1.0]);
    }
}
