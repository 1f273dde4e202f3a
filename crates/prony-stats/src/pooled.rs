//! Sides of a comparison as wholes, and what each pair contributes to their ratio.
//!
//! The mean of a short block is skewed where single requests take long, and so are logarithms of such means: the
//! median of the ratios of blocks is then not the ratio of the sides. Pseudo-values (the jackknife) are: their mean
//! is the ratio of the sides, without its bias of first order, and each belongs to one pair. Source: Miller,
//! Biometrika 61 (1974).

/// A figure of one block, and how much it counts within its side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weighted {
    /// The figure.
    pub value: f64,
    /// Its weight in the mean of the side: for a rate the time of its requests, for a cost the requests.
    pub weight: f64,
}

/// The pseudo-values of ln(B/A), one for each pair, where A and B are the weighted means of their sides.
///
/// `None` for fewer than two pairs, or where a side has no positive mean without one of its blocks.
pub fn pooled_differences(pairs: &[(Weighted, Weighted)]) -> Option<Vec<f64>> {
    if pairs.len() < 2 {
        return None;
    }
    let all = Sums::of(pairs);
    let whole = all.difference()?;
    let count = pairs.len() as f64;
    let without = |pair| Some(count * whole - (count - 1.0) * all.without(pair).difference()?);
    pairs.iter().map(without).collect()
}

/// Numerator and denominator of both sides' means.
#[derive(Clone, Copy, Default)]
struct Sums {
    a: (f64, f64),
    b: (f64, f64),
}

impl Sums {
    fn of(pairs: &[(Weighted, Weighted)]) -> Self {
        let add =
            |sum: (f64, f64), block: Weighted| (sum.0 + block.value * block.weight, sum.1 + block.weight);
        pairs.iter().fold(Self::default(), |sums, (a, b)| Self { a: add(sums.a, *a), b: add(sums.b, *b) })
    }

    fn without(self, (a, b): &(Weighted, Weighted)) -> Self {
        let take =
            |sum: (f64, f64), block: &Weighted| (sum.0 - block.value * block.weight, sum.1 - block.weight);
        Self { a: take(self.a, a), b: take(self.b, b) }
    }

    fn difference(self) -> Option<f64> {
        let mean = |(sum, weight): (f64, f64)| sum / weight;
        let difference = (mean(self.b) / mean(self.a)).ln();
        difference.is_finite().then_some(difference)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(value: f64, weight: f64) -> Weighted {
        Weighted { value, weight }
    }

    #[test]
    fn equal_ratios_are_their_own_pseudo_values() {
        let pairs = [(block(10.0, 1.0), block(20.0, 1.0)); 6];
        for difference in pooled_differences(&pairs).unwrap() {
            assert!((difference - 2.0_f64.ln()).abs() < 1e-12, "{difference}");
        }
    }

    #[test]
    fn their_mean_is_the_ratio_of_the_sides() {
        // One block of B in ten is stopped for most of its time: the sides differ by a tenth, no usual pair does.
        let pairs: Vec<_> =
            (0..20).map(|k| (block(100.0, 1.0), block(if k % 10 == 0 { 1.0 } else { 100.0 }, 1.0))).collect();
        let differences = pooled_differences(&pairs).unwrap();
        let mean = differences.iter().sum::<f64>() / 20.0;
        assert!((mean - 0.901_f64.ln()).abs() < 0.01, "{mean}");
    }

    #[test]
    fn nothing_to_divide_by() {
        assert_eq!(pooled_differences(&[(block(1.0, 1.0), block(1.0, 1.0))]), None);
        assert_eq!(pooled_differences(&[(block(0.0, 1.0), block(1.0, 1.0)); 6]), None);
        assert_eq!(pooled_differences(&[(block(1.0, 0.0), block(1.0, 0.0)); 6]), None);
    }
}
