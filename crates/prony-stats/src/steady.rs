//! Whether a run, once warm, stayed where it was: the Mann-Kendall test for a trend.
//!
//! Any monotone drift counts, whatever its shape: a leak, a cache that keeps filling, a queue that never
//! drains. Source: Mann, Econometrica 13 (1945); Kendall, Rank Correlation Methods (1975).

use crate::distribution::normal_two_sided;

/// Below this probability a series has no steady state.
pub const NO_STEADY_STATE: f64 = 0.01;

/// Fewer values than this leave the normal approximation without ground.
const LEAST_VALUES: usize = 8;

/// The outcome of the test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// Pairs that rise minus pairs that fall, over all pairs: 1 for a series that only rises.
    pub tau: f64,
    /// The probability of a trend at least as strong in a series without one.
    pub p: f64,
}

impl Trend {
    /// Whether the series may be called steady.
    pub fn is_steady(self) -> bool {
        self.p >= NO_STEADY_STATE
    }
}

/// Tests consecutive values for a trend; `None` for fewer than eight.
pub fn mann_kendall(values: &[f64]) -> Option<Trend> {
    let Score { sum: score, variance, tau } = score(values)?;
    // The score moves in steps of two: half a step is the continuity correction.
    let z = if variance > 0.0 { (score.abs() - 1.0).max(0.0) / variance.sqrt() } else { 0.0 };
    Some(Trend { tau, p: normal_two_sided(z) })
}

/// Kendall's score of a series.
pub(crate) struct Score {
    /// Pairs that rise minus pairs that fall,
    pub(crate) sum: f64,
    /// its variance in a series of independent values without a trend,
    pub(crate) variance: f64,
    /// and the score over all pairs.
    pub(crate) tau: f64,
}

/// The score of `values`; `None` for fewer than eight.
pub(crate) fn score(values: &[f64]) -> Option<Score> {
    if values.len() < LEAST_VALUES {
        return None;
    }
    let mut score = 0_i64;
    for (i, earlier) in values.iter().enumerate() {
        for later in &values[i + 1..] {
            score += i64::from(later > earlier) - i64::from(later < earlier);
        }
    }
    let n = values.len() as f64;
    // The variance of the score, less what each group of t equal values takes from it.
    let term = |t: f64| t * (t - 1.0) * (2.0 * t + 5.0);
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ties: f64 =
        sorted.chunk_by(|a, b| a.total_cmp(b).is_eq()).map(|group| term(group.len() as f64)).sum();
    let variance = (term(n) - ties) / 18.0;
    let score = score as f64;
    Some(Score { sum: score, variance, tau: score / (n * (n - 1.0) / 2.0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[f64], tau: f64, p: f64) {
        let trend = mann_kendall(values).unwrap();
        assert!((trend.tau - tau).abs() < 1e-9 && (trend.p - p).abs() < 5e-4, "{values:?}: {trend:?}");
    }

    #[test]
    fn trends_and_none() {
        // S = 45, variance 125: z = 44/√125 = 3.935.
        check(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0], 1.0, 0.0001);
        check(&[9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0], -1.0, 0.0003);
        check(&[5.0; 12], 0.0, 1.0);
        // S = 24, variance (8·7·21 − 4·2·1·9)/18 = 61.3 with four pairs of ties: z = 23/√61.3 = 2.937.
        check(&[1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0], 24.0 / 28.0, 0.003);
        assert_eq!(mann_kendall(&[1.0; 7]), None);
    }
}
