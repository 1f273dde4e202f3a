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
    Cutter::new(values.len(), least).best_split(values)
}

/// What segments of one length share, and room for what they don't: thousands of orders of one are cut.
#[derive(Debug)]
pub(super) struct Cutter {
    least: usize,
    /// k and 1/k for each number of points; 1 for 1/0.
    counts: Vec<f64>,
    shares: Vec<f64>,
    /// The sum of the distances within the first k points.
    first: Vec<f64>,
    /// The same of the points from the cut on, up to each end.
    right: Vec<f64>,
}

impl Cutter {
    /// For segments of `length` points, whose parts are to have at least `least`.
    pub(super) fn new(length: usize, least: usize) -> Self {
        Self {
            least,
            counts: (0..=length).map(|k| k as f64).collect(),
            shares: (0..=length).map(|k| 1.0 / k.max(1) as f64).collect(),
            first: vec![0.0; length + 1],
            right: vec![0.0; length + 1],
        }
    }

    /// [`best_split`] of `values`, which must have that length. Nearly all time goes into its three inner loops: they
    /// go along slices, so that no bounds are checked, and nothing in the first and the last waits for the step before.
    pub(super) fn best_split(&mut self, values: &[f64]) -> Option<Split> {
        let (length, least) = (values.len(), self.least);
        if length < 2 * least.max(1) {
            return None;
        }
        self.first.fill(0.0);
        for (k, value) in values.iter().enumerate() {
            for (sum, other) in self.first[k + 2..].iter_mut().zip(&values[k + 1..]) {
                *sum += (value - other).abs();
            }
        }
        for k in 0..length {
            self.first[k + 1] += self.first[k];
        }
        // The cut moves to the left, one point at a time.
        self.right.fill(0.0);
        let mut best = Split { at: 0, divergence: 0.0 };
        for cut in (1..length).rev() {
            let mut from_cut = 0.0;
            for (sum, other) in self.right[cut + 2..].iter_mut().zip(&values[cut + 1..]) {
                from_cut += (values[cut] - other).abs();
                *sum += from_cut;
            }
            if cut < least {
                break;
            }
            let most = if cut + least <= length { self.most(cut) } else { 0.0 };
            if most > best.divergence {
                best = Split { at: cut, divergence: most };
            }
        }
        (best.divergence > 0.0).then_some(best)
    }

    /// The greatest divergence of the parts that meet at `cut`, 0 or more.
    fn most(&self, cut: usize) -> f64 {
        let least = self.least;
        // One point has no distances within, whatever they are divided by.
        let (n, within_left) = (self.counts[cut], self.first[cut]);
        let left = within_left * self.shares[cut - 1];
        let ends =
            self.first[cut + least..].iter().zip(&self.right[cut + least..]).zip(&self.shares[cut + least..]);
        let parts = self.counts[least..].iter().zip(&self.shares[least - 1..]);
        let mut most = 0.0;
        for (((first, within_right), share_of_all), (m, share)) in ends.zip(parts) {
            let between = first - within_left - within_right;
            let divergence = 2.0 * share_of_all * (between - m * left - n * share * within_right);
            if divergence > most {
                most = divergence;
            }
        }
        most
    }
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
