//! A few times of one thing, as a person asks about them: mean, spread, median, ends, and how sure the median is.

use crate::distribution::Z_975;
use crate::sample::{mean, median_of_sorted, std_dev};

/// Up to this many values the binomial distribution is counted out; above, the normal approximation places the
/// ends of the interval within one rank.
const EXACT_UP_TO: usize = 100;

/// The error that is left at each end of a 95 % interval.
const HALF_ERROR: f64 = 0.025;

/// Summary statistics of a handful of values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Description {
    /// How many.
    pub count: usize,
    /// Mean.
    pub mean: f64,
    /// Sample standard deviation; `None` for a single value.
    pub std_dev: Option<f64>,
    /// Median.
    pub median: f64,
    /// 95 % interval of the median; `None` for fewer than six values, which can't have one.
    pub median_interval: Option<(f64, f64)>,
    /// Least.
    pub min: f64,
    /// Greatest.
    pub max: f64,
}

/// Describes `values`, in any order; `None` when empty.
///
/// The interval of the median are two of the values (Hollander, Wolfe and Chicken, Nonparametric Statistical
/// Methods (2014), 3.6): the k-th least and greatest, with the greatest k for which P(B < k) <= 2.5 % of a binomial
/// B(n, 1/2). It assumes that the values are independent, which runs of a program that take turns with others
/// nearly are and requests to one server are not (see [`sectioning`](crate::sectioning) for those), and nothing of
/// their distribution.
pub fn describe(values: &[f64]) -> Option<Description> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (min, max) = (*sorted.first()?, *sorted.last()?);
    Some(Description {
        count: sorted.len(),
        mean: mean(&sorted),
        std_dev: (sorted.len() > 1).then(|| std_dev(&sorted)),
        median: median_of_sorted(&sorted)?,
        median_interval: outside(sorted.len()).map(|k| (sorted[k], sorted[sorted.len() - 1 - k])),
        min,
        max,
    })
}

/// How many of `n` values lie outside each end of the median's interval; `None` if even the least and the greatest
/// don't make one.
fn outside(n: usize) -> Option<usize> {
    if n > EXACT_UP_TO {
        let rank = (n as f64 - Z_975 * (n as f64).sqrt()) / 2.0;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 40 and n/2")]
        return Some(rank.floor() as usize);
    }
    // P(B = 0) = 2^−n, then each from the one before.
    let mut probability = 0.5_f64.powi(i32::try_from(n).expect("invariant: at most EXACT_UP_TO"));
    let (mut tail, mut kept) = (0.0, 0);
    for k in 0..n {
        tail += probability;
        if tail > HALF_ERROR {
            break;
        }
        kept = k + 1;
        probability *= (n - k) as f64 / (k + 1) as f64;
    }
    usize::checked_sub(kept, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_the_interval() {
        let check = |n: usize, expected: Option<usize>| assert_eq!(outside(n), expected, "{n}");
        // Hollander, Wolfe and Chicken, table A.2: the usual ranks of the sign test's interval.
        check(0, None);
        check(5, None);
        check(6, Some(0));
        check(8, Some(0));
        check(9, Some(1));
        check(10, Some(1));
        check(20, Some(5));
        check(100, Some(39));
        check(101, Some(40));
        check(1000, Some(469));
    }

    #[test]
    fn a_few_values() {
        let description = describe(&[3.0, 1.0, 2.0, 10.0]).expect("values");
        assert_eq!(
            (description.count, description.mean, description.median, description.min, description.max),
            (4, 4.0, 2.5, 1.0, 10.0)
        );
        assert_eq!(description.median_interval, None);
        assert!((description.std_dev.expect("four") - (50.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        let one = describe(&[7.0]).expect("a value");
        assert_eq!((one.std_dev, one.median), (None, 7.0));
        assert_eq!(describe(&[]), None);
    }

    #[test]
    fn the_interval_holds_the_median() {
        let values: Vec<f64> = (0..25).map(|i| f64::from(i * 7 % 25)).collect();
        let description = describe(&values).expect("values");
        assert_eq!((description.median, description.median_interval), (12.0, Some((7.0, 17.0))));
    }
}
