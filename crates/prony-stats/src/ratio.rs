//! Intervals for a mean and for a ratio of sums, over the ten batches of a run.

use crate::distribution::t_975;
use crate::interval::{BATCHES, Interval};
use crate::sample::std_dev;

/// The 95 % interval of the ratio of two sums, from their parts in ten batches of a run: the CPU time of a server for
/// each of its requests, whatever the rate was in each batch.
///
/// The ratio R is that of the sums; the error of the linearized estimate comes from the residuals
/// `numerator − R·denominator` (Cochran, Sampling Techniques (1977), 2.11). `None` where the denominators are 0.
pub fn ratio_interval(numerators: &[f64; BATCHES], denominators: &[f64; BATCHES]) -> Option<Interval> {
    let sum: f64 = denominators.iter().sum();
    if sum <= 0.0 {
        return None;
    }
    let ratio = numerators.iter().sum::<f64>() / sum;
    let n = BATCHES as f64;
    let squares: f64 =
        numerators.iter().zip(denominators).map(|(one, other)| (one - ratio * other).powi(2)).sum();
    let half_width = t_975(BATCHES - 1) * (n / (n - 1.0) * squares).sqrt() / sum;
    Some(Interval { low: (ratio - half_width).max(0.0), high: ratio + half_width })
}

/// The 95 % interval of the mean of ten batches, which may be negative.
pub fn mean_interval(values: &[f64; BATCHES]) -> Interval {
    let mean = values.iter().sum::<f64>() / BATCHES as f64;
    let half_width = t_975(BATCHES - 1) * std_dev(values) / (BATCHES as f64).sqrt();
    Interval { low: mean - half_width, high: mean + half_width }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt as _, SeedableRng as _};
    use rand_pcg::Pcg64;

    use super::*;

    #[test]
    fn a_constant_ratio_has_no_width() {
        let requests = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 5.0];
        let interval =
            ratio_interval(&requests.map(|count| count * 3.0), &requests).expect("there are requests");
        assert!((interval.low - 3.0).abs() < 1e-12 && (interval.high - 3.0).abs() < 1e-12, "{interval:?}");
        assert_eq!(ratio_interval(&[1.0; BATCHES], &[0.0; BATCHES]), None);
        let mean = mean_interval(&[-1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0]);
        assert!(mean.low < -0.5 && (mean.low + mean.high).abs() < 1e-12, "{mean:?}");
    }

    /// A rate that repeats within a third, a cost that repeats within a few percent: the interval covers the truth in
    /// 95 of 100 runs.
    #[test]
    fn coverage() {
        let mut random = Pcg64::seed_from_u64(7);
        let runs = 4000;
        let covered = (0..runs)
            .filter(|_| {
                let requests: [f64; BATCHES] = std::array::from_fn(|_| random.random_range(700.0..1300.0));
                let cpu = requests.map(|count| count * (71.0 + random.random_range(-5.0..5.0)));
                ratio_interval(&cpu, &requests).expect("there are requests").contains(71.0)
            })
            .count();
        let share = covered as f64 / f64::from(runs);
        assert!((0.935..=0.965).contains(&share), "{share}");
    }
}
