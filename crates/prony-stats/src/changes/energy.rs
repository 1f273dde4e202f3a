//! The energy statistic: how far two adjacent parts of a segment diverge, and where to cut for the most of it.

/// Where a segment is cut, and how much its parts diverge there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Split {
    /// The first point of the right part, from the segment's start.
    pub(super) at: usize,
    /// Q of Matteson and James (2014), equation 6, with the exponent 1.
    pub(super) divergence: f64,
}

/// Finds the cut τ, and the end κ of its right part, for which the parts `[0, τ)` and `[τ, κ)` diverge the most;
/// both have at least `least` points. `None` if the segment is too short or all its points are the same.
///
/// κ is free so that a step up is found before the step down that follows it. With n and m points and the
/// distances |x − y|,
///
/// Q = 2/(m+n) · (Σ between − m/(n−1) · Σ within the left − n/(m−1) · Σ within the right),
///
/// where each pair within counts once. Takes time in the square of the points, and their number in memory.
pub(super) fn best_split(values: &[f64], least: usize) -> Option<Split> {
    let length = values.len();
    if length < 2 * least.max(1) {
        return None;
    }
    let share: Vec<f64> = (0..=length).map(|k| 1.0 / k.max(1) as f64).collect();
    // The sum of the distances within the first k points.
    let mut first = vec![0.0; length + 1];
    for k in 0..length {
        first[k + 1] = first[k] + values[..k].iter().map(|value| (value - values[k]).abs()).sum::<f64>();
    }
    // The same of the points from `cut` on, up to each end: the cut moves to the left, one point at a time.
    let mut right = vec![0.0; length + 1];
    let mut best = Split { at: 0, divergence: 0.0 };
    for cut in (1..length).rev() {
        let mut from_cut = 0.0;
        for end in cut + 1..length {
            from_cut += (values[cut] - values[end]).abs();
            right[end + 1] += from_cut;
        }
        if cut < least {
            break;
        }
        // One point has no distances within, whatever they are divided by.
        let (n, within_left) = (cut as f64, first[cut]);
        let left = within_left * share[cut - 1];
        for end in cut + least..=length {
            let m = end - cut;
            let within_right = right[end];
            let between = first[end] - within_left - within_right;
            let divergence = 2.0 * share[end] * (between - m as f64 * left - n * share[m - 1] * within_right);
            if divergence > best.divergence {
                best = Split { at: cut, divergence };
            }
        }
    }
    (best.divergence > 0.0).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, word for word.
    fn divergence(left: &[f64], right: &[f64]) -> f64 {
        let (n, m) = (left.len() as f64, right.len() as f64);
        let between: f64 = left.iter().flat_map(|x| right.iter().map(move |y| (x - y).abs())).sum();
        let within = |part: &[f64]| {
            let all: f64 = part.iter().flat_map(|x| part.iter().map(move |y| (x - y).abs())).sum();
            all / 2.0
        };
        let left_term = if n > 1.0 { m / (n - 1.0) * within(left) } else { 0.0 };
        let right_term = if m > 1.0 { n / (m - 1.0) * within(right) } else { 0.0 };
        2.0 / (m + n) * (between - left_term - right_term)
    }

    proptest! {
        #[test]
        fn it_is_the_definition(values in prop::collection::vec(-3.0..3.0_f64, 2..24), least in 1_usize..4) {
            let mut expected = None::<f64>;
            for cut in least..values.len() {
                for end in cut + least..=values.len() {
                    let candidate = divergence(&values[..cut], &values[cut..end]);
                    expected = Some(expected.map_or(candidate, |most| most.max(candidate)));
                }
            }
            let found = best_split(&values, least);
            let expected = expected.filter(|most| *most > 1e-9);
            prop_assert_eq!(found.is_some_and(|split| split.divergence > 1e-9), expected.is_some());
            if let (Some(found), Some(expected)) = (found, expected) {
                prop_assert!((found.divergence - expected).abs() < 1e-9, "{:?} is not {}", found, expected);
                let best = (found.at + least..=values.len())
                    .map(|end| divergence(&values[..found.at], &values[found.at..end]))
                    .fold(f64::MIN, f64::max);
                prop_assert!((best - expected).abs() < 1e-9, "{:?} is not the place", found);
            }
        }
    }

    #[test]
    fn a_step_is_cut_where_it_is() {
        let check = |values: &[f64], expected: Option<usize>| {
            assert_eq!(best_split(values, 2).map(|split| split.at), expected, "{values:?}");
        };
        check(&[1.0, 1.1, 1.0, 2.0, 2.1, 2.0, 2.1], Some(3));
        // Up and down again: the way up comes first.
        check(&[1.0, 1.1, 1.0, 1.1, 3.0, 3.1, 3.0, 3.1, 1.0, 1.1], Some(4));
        check(&[1.0; 9], None);
        check(&[1.0, 2.0, 3.0], None);
        check(&[], None);
    }
}
