//! The load at which a server stops meeting an objective, from trials that each passed or failed.
//!
//! A trial at load r passes with the probability λ/2 + (1−λ)·σ((ln c − ln r)/s): c is the capacity, where trials pass as
//! often as they fail, s how far trials of one load scatter, λ the share of trials that chance alone decides. The interval
//! is that of the posterior of c on a grid, with a flat prior for ln c and a few values each of s and λ. A likelihood may be
//! used although each load was chosen by the trials before it. Source: Kontsevich and Tyler, Vision Research 39 (1999), who
//! estimate psychometric thresholds this way; PLRsearch (FD.io) does the same for packet loss.

/// One trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// The load, above 0.
    pub load: f64,
    /// Whether the objective was met.
    pub passed: bool,
}

/// A capacity with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Capacity {
    /// The posterior median.
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Scatter of trials of one load, as a share of it: from none to see to a server that differs by a third.
const SCATTERS: [f64; 9] = [0.001, 0.003, 0.006, 0.012, 0.025, 0.05, 0.1, 0.2, 0.3];
/// Share of trials that chance decides.
const LAPSES: [f64; 3] = [0.001, 0.02, 0.1];
/// Share of the posterior beyond each end. With 2.5 % the interval covers 88 to 92 % of simulated servers, as the loads were
/// chosen to contradict one another as little as possible; so it is a little wider.
const TAIL: f64 = 0.01;
/// Step of the grid over ln c.
const STEP: f64 = 0.001;
/// How far beyond the trials that decide the capacity may lie.
const MARGIN: f64 = 0.7;
/// The grid has no more points than this, whatever the loads are.
const POINTS_MAX: usize = 20_000;

/// The capacity that `trials` support; `None` unless some passed and some failed.
pub fn capacity(trials: &[Trial]) -> Option<Capacity> {
    let is_good = |trial: &&Trial| trial.load.is_finite() && trial.load > 0.0;
    let trials: Vec<Trial> = trials.iter().filter(is_good).copied().collect();
    let logs =
        |passed: bool| trials.iter().filter(move |trial| trial.passed == passed).map(|trial| trial.load.ln());
    // The capacity lies between the least failure and the greatest success, give or take their scatter.
    let ends = [logs(false).reduce(f64::min)?, logs(true).reduce(f64::max)?];
    let (first, last) = (ends[0].min(ends[1]) - MARGIN, ends[0].max(ends[1]) + MARGIN);
    let step = STEP.max((last - first) / POINTS_MAX as f64);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most POINTS_MAX")]
    let points = ((last - first) / step).ceil() as usize + 1;
    let grid = || (0..points).map(|point| first + step * point as f64);
    let counted = counted(&trials);
    let mut weights = vec![0.0; points];
    for scatter in SCATTERS {
        for lapse in LAPSES {
            // A great scatter leaves a wide range of capacities open. Without a prior against it a few trials, which exclude
            // no scatter, would bound nothing; 1/s would be too sure of itself (the test below covers 89 % with it).
            let prior = scatter.sqrt().recip();
            for (weight, log_c) in weights.iter_mut().zip(grid()) {
                *weight += prior * likelihood(&counted, log_c, scatter, lapse);
            }
        }
    }
    let total: f64 = weights.iter().sum();
    let at = |share: f64| {
        let mut below = 0.0;
        for (weight, log_c) in weights.iter().zip(grid()) {
            let next = below + weight / total;
            if next >= share {
                // Within the step: evenly spread.
                let part = (share - below) / (next - below).max(f64::MIN_POSITIVE);
                return (log_c + step * (part - 0.5)).exp();
            }
            below = next;
        }
        last.exp()
    };
    (total.is_finite() && total > 0.0).then(|| Capacity {
        estimate: at(0.5),
        low: at(TAIL),
        high: at(1.0 - TAIL),
    })
}

/// The trials of one load.
struct Counted {
    log_load: f64,
    passed: i32,
    failed: i32,
}

fn counted(trials: &[Trial]) -> Vec<Counted> {
    let mut sorted = trials.to_vec();
    sorted.sort_by(|a, b| a.load.total_cmp(&b.load));
    let mut counted: Vec<Counted> = Vec::new();
    for trial in sorted {
        let log_load = trial.load.ln();
        if counted.last().is_none_or(|last| last.log_load < log_load) {
            counted.push(Counted { log_load, passed: 0, failed: 0 });
        }
        if let Some(last) = counted.last_mut() {
            if trial.passed {
                last.passed = last.passed.saturating_add(1);
            } else {
                last.failed = last.failed.saturating_add(1);
            }
        }
    }
    counted
}

/// The probability of these trials where the capacity is e^`log_c`.
fn likelihood(trials: &[Counted], log_c: f64, scatter: f64, lapse: f64) -> f64 {
    // The logistic function has the spread of a normal one at 1.7 times the argument.
    const LOGISTIC: f64 = 1.702;
    let mut likelihood = 1.0;
    for trial in trials {
        let distance = LOGISTIC * (log_c - trial.log_load) / scatter;
        let passes = lapse / 2.0 + (1.0 - lapse) / (1.0 + (-distance).exp());
        likelihood *= passes.powi(trial.passed) * (1.0 - passes).powi(trial.failed);
    }
    likelihood
}

#[cfg(test)]
mod tests {
    use rand::{RngExt as _, SeedableRng};
    use rand_pcg::Pcg64;

    use super::*;

    fn trials(passed: &[f64], failed: &[f64]) -> Vec<Trial> {
        let of = |loads: &[f64], passed| {
            loads.iter().map(|load| Trial { load: *load, passed }).collect::<Vec<_>>()
        };
        [of(passed, true), of(failed, false)].concat()
    }

    #[test]
    fn one_side_alone_bounds_nothing() {
        assert_eq!(capacity(&[]), None);
        assert_eq!(capacity(&trials(&[100.0, 200.0], &[])), None);
        assert_eq!(capacity(&trials(&[], &[100.0])), None);
        assert_eq!(capacity(&trials(&[f64::NAN], &[100.0])), None);
    }

    #[test]
    fn a_server_without_noise_is_found_within_its_bounds() {
        let found = capacity(&trials(&[500.0, 990.0, 990.0, 990.0], &[1010.0, 1010.0, 1010.0, 2000.0]))
            .expect("both");
        assert!(found.low > 900.0 && found.low < 1000.0, "{found:?}");
        assert!(found.high < 1100.0 && found.high > 1000.0, "{found:?}");
        assert!(found.low < found.estimate && found.estimate < found.high);
    }

    #[test]
    fn trials_that_contradict_one_another_widen_the_interval() {
        let clear = capacity(&trials(&[900.0, 900.0, 950.0], &[1000.0, 1000.0, 1050.0])).expect("both");
        let mixed = capacity(&trials(&[900.0, 1050.0, 950.0], &[1000.0, 900.0, 1000.0])).expect("both");
        assert!(mixed.high / mixed.low > 1.5 * (clear.high / clear.low), "{mixed:?} {clear:?}");
    }

    #[test]
    fn loads_far_apart_stay_bounded() {
        let found = capacity(&trials(&[1e-3], &[1e9])).expect("both");
        assert!(found.low > 0.0 && found.high.is_finite() && found.low <= found.high, "{found:?}");
    }

    /// Loads by an up-and-down rule around servers of known capacity and scatter: the interval covers it.
    #[test]
    fn the_interval_covers_the_truth() {
        let mut covered = 0;
        let runs = 300_u32;
        for seed in 0..runs {
            let mut random = Pcg64::seed_from_u64(seed.into());
            let truth = 100.0 * (1.0 + 9.0 * random.random::<f64>());
            let scatter = [0.005, 0.02, 0.06][seed as usize % 3];
            let mut load = truth * (0.8 + 0.4 * random.random::<f64>());
            let mut tried = Vec::new();
            for _ in 0..24 {
                // Irwin–Hall: the sum of twelve uniform numbers is nearly normal.
                let normal: f64 = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
                let passed = load < truth * (scatter * normal).exp();
                tried.push(Trial { load, passed });
                load *= if passed { 1.03 } else { 1.0 / 1.03 };
            }
            let Some(found) = capacity(&tried) else { continue };
            covered += u32::from(found.low <= truth && truth <= found.high);
        }
        assert!(covered >= 280, "{covered} of {runs}");
    }
}
