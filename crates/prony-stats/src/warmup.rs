//! Where a run has warmed up: the marginal standard error rule on medians of slices.
//!
//! MSER (White, Simulation 69(6), 1997) cuts where the rest has the smallest standard error: cutting a
//! real warm-up shrinks the spread, cutting more only loses data. It always finds some minimum, so a
//! guard keeps it from cutting what doesn't differ from the rest.

use crate::histogram::Histogram;
use crate::sample::{mean, median, median_absolute_deviation};
use crate::sparse::Sparse;

/// Into how many slices a run is cut for this.
pub const WARM_UP_SLICES: usize = 60;

/// The least change of the median that is worth a cut: 5 %.
const LEAST_CHANGE: f64 = 0.05;

/// How many median absolute deviations of the rest a warm-up must differ by: about two standard
/// deviations.
const LEAST_DEVIATIONS: f64 = 3.0;

/// Fewer values than this don't distinguish a warm-up from noise.
const LEAST_VALUES: usize = 10;

/// What the beginning of a run looks like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WarmUp {
    /// The beginning doesn't differ from the rest (or there are fewer than ten slices).
    None,
    /// The beginning differs: leave it out.
    Cut {
        /// How many slices to leave out; at most half of them.
        slices: usize,
        /// Median of the beginning over median of the rest, less one: 0.4 is 40 % slower.
        change: f64,
    },
}

impl WarmUp {
    /// How many slices to leave out.
    pub fn slices(self) -> usize {
        match self {
            Self::None => 0,
            Self::Cut { slices, .. } => slices,
        }
    }
}

/// Finds the warm-up in the logarithms of the medians of consecutive slices.
///
/// d* = argmin over d <= n/2 of Σ over i > d of (Z_i − mean)²/(n − d)². What follows d* defines what is like the rest:
/// no further from its median than max(5 %, 3·MAD). The cut is where, up to d*, the unlike outnumber the alike the most:
/// d* itself moves far to the right if the rest gets but a little calmer on its way. A cut at n/2 means that the run
/// changed later than in its beginning.
pub fn warm_up(log_medians: &[f64]) -> WarmUp {
    if log_medians.len() < LEAST_VALUES {
        return WarmUp::None;
    }
    let error = |cut: usize| {
        let rest = &log_medians[cut..];
        let center = mean(rest);
        rest.iter().map(|z| (z - center).powi(2)).sum::<f64>() / (rest.len() as f64).powi(2)
    };
    let slices = (0..=log_medians.len() / 2)
        .min_by(|&a, &b| error(a).total_cmp(&error(b)))
        .expect("invariant: the range holds at least 0");
    let rest = &log_medians[slices..];
    let (Some(settled), Some(spread)) = (median(rest), median_absolute_deviation(rest)) else {
        return WarmUp::None;
    };
    let alike = LEAST_CHANGE.ln_1p().max(LEAST_DEVIATIONS * spread);
    let apart = unlike_most(&log_medians[..slices], settled, alike);
    // At the limit, and mostly unlike up to it: the run changed later than its beginning.
    let slices = if slices == log_medians.len() / 2 && apart > slices / 2 { slices } else { apart };
    match median(&log_medians[..slices]) {
        Some(start) if (start - settled).abs() > alike => {
            WarmUp::Cut { slices, change: (start - settled).exp_m1() }
        }
        _ => WarmUp::None,
    }
}

/// How many of the first values to take for the most surplus of those further than `alike` from `settled`.
fn unlike_most(values: &[f64], settled: f64, alike: f64) -> usize {
    let (mut count, mut most, mut surplus) = (0, 0, 0);
    for (index, value) in values.iter().enumerate() {
        surplus += if (value - settled).abs() > alike { 1 } else { -1 };
        if surplus > most {
            (count, most) = (index + 1, surplus);
        }
    }
    count
}

/// The logarithm of the median (in nanoseconds) of each of [`WARM_UP_SLICES`] groups of consecutive
/// slices, with the index of the first slice of its group: what [`warm_up`] and
/// [`mann_kendall`](crate::mann_kendall) take. Fewer slices are taken as they are; groups in which
/// nothing finished are left out.
pub fn log_medians(slices: &[Sparse]) -> Vec<(usize, f64)> {
    let groups = slices.len().min(WARM_UP_SLICES);
    let mut group = Histogram::new();
    (0..groups)
        .filter_map(|i| {
            let first = i * slices.len() / groups;
            group.clear();
            for slice in &slices[first..(i + 1) * slices.len() / groups] {
                group.add_sparse(slice);
            }
            // 0 ns has no logarithm, and is 1 ns to any clock.
            group.value_at_quantile(0.5).map(|nanos| (first, (nanos.max(1) as f64).ln()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(start: &[f64], rest: &[f64], expected: usize) {
        let series: Vec<f64> = start.iter().chain(rest).copied().collect();
        assert_eq!(warm_up(&series).slices(), expected, "{series:?}");
    }

    #[test]
    fn a_slow_start_is_cut_and_a_steady_one_is_not() {
        let rest: Vec<f64> = (0..50).map(|i| 10.0 + 0.01 * f64::from((i * 7 + 2) % 5)).collect();
        check(&[], &rest, 0);
        check(&[10.8, 10.6, 10.5, 10.3], &rest, 4);
        check(&[9.0, 9.0], &rest, 2);
        // 4 % slower is not worth a cut, however clear.
        check(&[10.06; 6], &[10.02; 50], 0);
        check(&[20.0; 4], &[10.0; 5], 0);
    }

    #[test]
    fn a_rest_that_gets_a_little_calmer_is_not_cut_with_the_beginning() {
        let rough = |i: i32| 10.0 + 0.005 * f64::from(i * 7 % 11 - 5);
        let calm = |i: i32| 10.02 + 0.001 * f64::from(i % 3);
        let rest: Vec<f64> = (0..19).map(rough).chain((0..30).map(calm)).collect();
        check(&[13.0; 11], &rest, 11);
        check(&[], &rest, 0);
        // One part like the rest within the beginning does not end it, one unlike later on does not prolong it.
        check(&[13.0, 13.0, 10.0, 13.0, 13.0, 10.0, 10.0, 13.0], &rest, 5);
    }

    #[test]
    fn the_change_is_a_ratio() {
        let series = [[2.0_f64.ln(); 5].as_slice(), &[0.0; 40]].concat();
        let WarmUp::Cut { slices, change } = warm_up(&series) else { panic!("no warm-up found") };
        assert_eq!(slices, 5);
        assert!((change - 1.0).abs() < 1e-12);
    }

    #[test]
    fn slices_are_grouped_into_sixty() {
        let of = |nanos: u64| [nanos; 3].into_iter().collect::<Histogram>().to_sparse();
        let slices: Vec<Sparse> =
            (0..240).map(|i| if i < 8 { Sparse::default() } else { of(1000) }).collect();
        let medians = log_medians(&slices);
        assert_eq!((medians.len(), medians[0]), (58, (8, 1000.0_f64.ln())));
        assert_eq!(log_medians(&slices[..20]).len(), 12);
        assert_eq!(log_medians(&[]), []);
    }
}
