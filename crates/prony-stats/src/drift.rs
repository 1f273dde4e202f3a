//! How fast a series goes up or down, and whether that is more than its own slow swings.
//!
//! The Mann-Kendall test takes values for independent. Those of neighbouring moments seldom are: of 60 values that each keep
//! 0.6 of the one before, without any trend, it finds one in 29 of 100 at p < .05. So its variance is multiplied by what
//! autocorrelation adds to it (Yue and Wang, Water Resources Management 18 (2004)), of the series without its slope, whose
//! first coefficient is corrected for the bias of short series (Marriott and Pope, Biometrika 41 (1954)); then it is 6 of
//! 100. The correction by all significant ranks (Hamed and Rao, Journal of Hydrology 204 (1998)) left 18.
//! The slope is the median of those of all pairs, with Gilbert's interval (Sen, JASA 63 (1968); Gilbert, 1987).

use crate::distribution::{Z_975, normal_two_sided};
use crate::steady::{Score, score};

/// More values than this are no better known, and their pairs take time and memory.
pub const DRIFT_VALUES_MAX: usize = 500;
/// A series that keeps more than this of the value before is taken for one that keeps this much.
const CORRELATION_MAX: f64 = 0.99;

/// The drift of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Kendall's tau: pairs that rise minus pairs that fall, over all pairs.
    pub tau: f64,
    /// The probability of a trend at least as strong in a series without one, but with this autocorrelation.
    pub p: f64,
    /// Change from a value to the next.
    pub slope: f64,
    /// 95 % interval of `slope`.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// The part of a value that the next one keeps, beside the slope (0..1).
    pub correlation: f64,
}

impl Drift {
    /// Whether the series goes up or down for certain: beyond its swings, and with a slope whose interval excludes 0.
    pub fn is_certain(&self) -> bool {
        self.p < crate::NO_STEADY_STATE && (self.low > 0.0 || self.high < 0.0)
    }
}

/// The drift of consecutive values; `None` for fewer than eight, and for more than [`DRIFT_VALUES_MAX`].
pub fn drift(values: &[f64]) -> Option<Drift> {
    if values.len() > DRIFT_VALUES_MAX {
        return None;
    }
    let Score { sum: score, variance, tau } = score(values)?;
    let pairs = values.iter().enumerate().flat_map(|(i, earlier)| {
        values[i + 1..].iter().zip(1_u32..).map(move |(later, steps)| (later - earlier) / f64::from(steps))
    });
    let mut slopes: Vec<f64> = pairs.collect();
    slopes.sort_by(f64::total_cmp);
    let slope = crate::median(&slopes)?;
    let correlation = correlation(values, slope);
    let n = values.len() as f64;
    let lags = values.iter().zip(1_i32..).map(|(_, lag)| (1.0 - f64::from(lag) / n) * correlation.powi(lag));
    let variance = variance * (1.0 + 2.0 * lags.sum::<f64>());
    let z = if variance > 0.0 { (score.abs() - 1.0).max(0.0) / variance.sqrt() } else { 0.0 };
    let half = Z_975 * variance.sqrt();
    let count = slopes.len() as f64;
    Some(Drift {
        tau,
        p: normal_two_sided(z),
        slope,
        low: at(&slopes, (count - half) / 2.0 - 1.0),
        high: at(&slopes, f64::midpoint(count, half)),
        correlation,
    })
}

/// The slope at the place `place`, rounded outwards from the middle.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and a length")]
fn at(slopes: &[f64], place: f64) -> f64 {
    let last = slopes.len() - 1;
    let outwards = if place < slopes.len() as f64 / 2.0 { place.floor() } else { place.ceil() };
    slopes[outwards.clamp(0.0, last as f64) as usize]
}

/// The first coefficient of autocorrelation of `values` without their `slope`, without the bias of short series; not
/// below 0, for what swings quickly makes no trend.
fn correlation(values: &[f64], slope: f64) -> f64 {
    let n = values.len() as f64;
    let rest: Vec<f64> =
        values.iter().zip(0_u32..).map(|(value, at)| value - slope * f64::from(at)).collect();
    let mean = rest.iter().sum::<f64>() / n;
    let size = rest.iter().map(|value| value.abs()).fold(slope.abs() * n, f64::max);
    let variance: f64 = rest.iter().map(|value| (value - mean).powi(2)).sum();
    // What rounding leaves of a straight line has no meaning.
    if variance <= n * (size * 1e-12).powi(2) {
        return 0.0;
    }
    let lagged: f64 = rest.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    ((n * lagged / variance + 2.0) / (n - 4.0)).clamp(0.0, CORRELATION_MAX)
}

#[cfg(test)]
mod tests {
    use rand::Rng as _;
    use rand_pcg::Pcg64;

    use super::*;

    /// A standard normal number: the sum of twelve uniform ones, which is normal enough to this purpose.
    fn normal(random: &mut Pcg64) -> f64 {
        (0..12).map(|_| (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64).sum::<f64>() - 6.0
    }

    /// `count` values that keep `kept` of the one before, and rise by `slope` each.
    fn series(seed: u64, count: u32, kept: f64, slope: f64) -> Vec<f64> {
        let mut random = Pcg64::new(seed.into(), 1);
        let mut state = normal(&mut random) / (1.0 - kept * kept).sqrt();
        (0..count)
            .map(|at| {
                state = kept * state + normal(&mut random);
                state + slope * f64::from(at)
            })
            .collect()
    }

    /// Shares of 1,000 seeds in which a drift is certain, in which p < .05, and whose interval holds the true slope.
    fn shares(count: u32, kept: f64, slope: f64) -> [f64; 3] {
        let found: Vec<Drift> =
            (0..1000).map(|seed| drift(&series(seed, count, kept, slope)).expect("enough values")).collect();
        let share =
            |is: &dyn Fn(&Drift) -> bool| found.iter().filter(|drift| is(drift)).count() as f64 / 1000.0;
        [
            share(&|drift| drift.is_certain()),
            share(&|drift| drift.p < 0.05),
            share(&|drift| (drift.low..=drift.high).contains(&slope)),
        ]
    }

    #[test]
    fn noise_without_a_trend_has_none_however_slowly_it_swings() {
        // White noise: 5 % ± 2 standard errors of 1,000 seeds; autocorrelated: a little more of what p says, as is known.
        for (kept, most_05) in [(0.0, 0.064), (0.3, 0.08), (0.6, 0.10), (0.8, 0.12)] {
            let [certain, below_05, covered] = shares(60, kept, 0.0);
            assert!(certain <= 0.05, "kept {kept}: {certain} certain");
            assert!(below_05 <= most_05, "kept {kept}: {below_05}");
            assert!(covered >= 1.0 - most_05, "kept {kept}: {covered}");
        }
    }

    #[test]
    fn a_leak_is_found_and_its_slope_is_in_the_interval() {
        for kept in [0.0, 0.5] {
            let [certain, _, covered] = shares(60, kept, 0.1);
            assert!(certain >= 0.9, "kept {kept}: {certain}");
            assert!(covered >= 0.90, "kept {kept}: {covered}");
        }
    }

    #[test]
    fn exact_series() {
        let line: Vec<f64> = (0..20).map(|at| 3.0 + 0.25 * f64::from(at)).collect();
        let found = drift(&line).expect("enough values");
        assert!((found.slope - 0.25).abs() < 1e-12 && found.tau > 0.999 && found.is_certain(), "{found:?}");
        assert!(found.correlation.abs() < 1e-12, "{found:?}");
        let flat = drift(&[7.0; 12]).expect("enough values");
        assert_eq!((flat.slope, flat.tau, flat.is_certain()), (0.0, 0.0, false));
        assert_eq!(drift(&[1.0; 7]), None);
        assert_eq!(drift(&[1.0; DRIFT_VALUES_MAX + 1]), None);
    }
}
