//! How far a quantile or a rate of one run can be trusted: intervals from time batches.
//!
//! Latencies of neighbouring requests resemble each other: they meet the same queue, the same garbage
//! collection. Intervals from order statistics take every request as independent and cover the truth
//! 7 to 55 % of the time instead of 95. Sectioning (Asmussen and Glynn, Stochastic Simulation (2007),
//! III.5a) needs only batches long enough to forget each other: the run is cut into ten batches of
//! equal time, the spread of the ten quantiles shows how far the run's own may be off.

use crate::distribution::t_975;
use crate::histogram::Histogram;
use crate::quantile::Quantile;
use crate::sample::std_dev;
use crate::sparse::Sparse;

/// Into how many batches of equal time a run is cut. Fewer make t(0.975, m − 1) large, more make each
/// batch short against the correlation of latencies.
pub const BATCHES: usize = 10;

/// From how many exceedance clusters on an interval is printed, and from how many on as "indicative".
pub const CLUSTERS_TO_PRINT: u64 = 30;
/// Below this many exceedance clusters an interval is withheld.
pub const CLUSTERS_TO_INDICATE: u64 = 10;

/// A range that holds the true value in 95 % of runs. In the unit of the value it belongs to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end; never negative, as no duration or rate is.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    fn around(center: f64, half_width: f64) -> Self {
        Self { low: (center - half_width).max(0.0), high: center + half_width }
    }

    /// Whether `value` lies within.
    pub fn contains(self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// What is known about the precision of a quantile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Precision {
    /// Print the interval, in nanoseconds.
    Known {
        /// The 95 % interval in nanoseconds.
        interval: Interval,
        /// Exceedance clusters it rests on: [`CLUSTERS_TO_PRINT`] or more.
        clusters: u64,
    },
    /// Print the interval with the word "indicative".
    Indicative {
        /// The 95 % interval in nanoseconds.
        interval: Interval,
        /// Exceedance clusters it rests on: between [`CLUSTERS_TO_INDICATE`] and [`CLUSTERS_TO_PRINT`].
        clusters: u64,
    },
    /// Print no interval.
    Withheld {
        /// Why not.
        reason: NoInterval,
    },
}

/// Why there is no interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoInterval {
    /// The run has fewer slices than there are batches.
    #[error("{slices} slices can't be cut into {BATCHES} batches of time")]
    TooFewSlices {
        /// How many there are.
        slices: usize,
    },
    /// In some tenth of the run nothing was recorded.
    #[error("nothing finished in batch {batch} of {BATCHES}")]
    EmptyBatch {
        /// Which, counted from 1.
        batch: usize,
    },
    /// What exceeds the quantile happened on too few separate occasions.
    #[error("the tail comes from {clusters} separate occasions; {CLUSTERS_TO_INDICATE} are needed")]
    TooFewClusters {
        /// How many there were.
        clusters: u64,
    },
}

/// The 95 % interval of quantile `q` of one run: ln Q ± t(0.975, 9)·s/√10, where s is the standard
/// deviation of the quantile's logarithm over ten batches of time, within what was observed.
///
/// Durations vary by factors, not by sums: on the linear scale two slow batches of ten would put the lower end at 0.
///
/// `slices` are consecutive slices of equal time; `total` holds the same values and gives Q. `clusters`
/// says on how many separate occasions Q was exceeded, from [`clusters_of_slices`]. Slices that don't divide by ten make batches
/// that differ by one slice.
pub fn sectioning(slices: &[Sparse], total: &Histogram, q: Quantile, clusters: u64) -> Precision {
    let withheld = |reason| Precision::Withheld { reason };
    if slices.len() < BATCHES {
        return withheld(NoInterval::TooFewSlices { slices: slices.len() });
    }
    let mut batch = Histogram::new();
    let mut quantiles = [0.0; BATCHES];
    for (i, quantile) in quantiles.iter_mut().enumerate() {
        batch.clear();
        for slice in batches(slices, i) {
            batch.add_sparse(slice);
        }
        let Some(nanos) = batch.value_at_quantile(q.value()) else {
            return withheld(NoInterval::EmptyBatch { batch: i + 1 });
        };
        *quantile = (nanos.max(1) as f64).ln();
    }
    if clusters < CLUSTERS_TO_INDICATE {
        return withheld(NoInterval::TooFewClusters { clusters });
    }
    let observed =
        |value: Option<u64>| value.expect("invariant: the total holds what the slices hold") as f64;
    let center = observed(total.value_at_quantile(q.value()));
    let factor = half_width(&quantiles).exp();
    let interval = Interval {
        low: (center / factor).max(observed(total.min())).min(center),
        high: (center * factor).min(observed(total.max())).max(center),
    };
    if clusters < CLUSTERS_TO_PRINT {
        Precision::Indicative { interval, clusters }
    } else {
        Precision::Known { interval, clusters }
    }
}

/// On how many separate occasions `level_nanos` was exceeded, as far as consecutive slices of
/// `slice_nanos` can show.
///
/// A slice is hot if a greater share of its values exceeds the level than of the whole run. A cluster
/// is a run of hot slices; slices that aren't hot separate two of them when together they last longer
/// than the level: requests on both sides of such a gap were never in flight together. For a common
/// exceedance it counts how often the share swung above its mean. Without any autocorrelation S slices give about S/4 clusters: cut a run into 200 or more.
pub fn clusters_of_slices(slices: &[Sparse], level_nanos: u64, slice_nanos: u64) -> u64 {
    let above: Vec<u64> = slices.iter().map(|slice| slice.count_above(level_nanos)).collect();
    let exceedances: u128 = above.iter().copied().map(u128::from).sum();
    let values: u128 = slices.iter().map(|slice| u128::from(slice.count())).sum();
    // The gap is longer than the level from this many slices on.
    let separating = level_nanos / slice_nanos.max(1) + 1;
    let mut calm = separating;
    let mut clusters = 0;
    for (slice, &above) in slices.iter().zip(&above) {
        if u128::from(above) * values > exceedances * u128::from(slice.count()) {
            clusters += u64::from(calm >= separating);
            calm = 0;
        } else {
            calm += 1;
        }
    }
    clusters
}

/// A rate with its precision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateInterval {
    /// The mean rate of the run, per second.
    pub per_second: f64,
    /// The 95 % interval, per second.
    pub interval: Interval,
    /// Half the interval's width in percent of the rate; 0 for a rate of 0.
    pub half_width_percent: f64,
}

/// The 95 % interval of a rate from the counts of consecutive slices of `slice_seconds` each: the t
/// interval over ten batches of time.
pub fn rate_interval(counts: &[u64], slice_seconds: f64) -> Result<RateInterval, NoInterval> {
    if counts.len() < BATCHES {
        return Err(NoInterval::TooFewSlices { slices: counts.len() });
    }
    let rate = |counts: &[u64]| counts.iter().sum::<u64>() as f64 / (counts.len() as f64 * slice_seconds);
    let rates: [f64; BATCHES] = std::array::from_fn(|i| rate(batches(counts, i)));
    let (per_second, half_width) = (rate(counts), half_width(&rates));
    let half_width_percent = if per_second > 0.0 { 100.0 * half_width / per_second } else { 0.0 };
    Ok(RateInterval { per_second, interval: Interval::around(per_second, half_width), half_width_percent })
}

fn half_width(batches: &[f64; BATCHES]) -> f64 {
    t_975(BATCHES - 1) * std_dev(batches) / (BATCHES as f64).sqrt()
}

/// Batch `i` of ten of consecutive slices.
fn batches<T>(slices: &[T], i: usize) -> &[T] {
    &slices[i * slices.len() / BATCHES..(i + 1) * slices.len() / BATCHES]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(values: &[u64]) -> Sparse {
        values.iter().copied().collect::<Histogram>().to_sparse()
    }

    #[test]
    fn clusters_of_slices_are_runs_of_hot_slices() {
        let check = |hot: &str, level: u64, expected: u64| {
            let of = |letter| if letter == 'x' { slice(&[1, 100_000]) } else { slice(&[1, 2]) };
            let slices: Vec<Sparse> = hot.chars().map(of).collect();
            assert_eq!(clusters_of_slices(&slices, level, 1000), expected, "{hot}");
        };
        check("..........", 500, 0);
        check("..xx..x.x.", 500, 3);
        check("x........x", 500, 2);
        // A level of two slices and a half is only outlasted by three calm ones.
        check("x..x...x..", 2500, 2);
    }

    #[test]
    fn an_overloaded_minute_is_one_occasion_however_many_requests_saw_it() {
        let slices: Vec<Sparse> = (0..200)
            .map(|i| if (50..80).contains(&i) { slice(&[90_000; 50]) } else { slice(&[1000; 50]) })
            .collect();
        assert_eq!(clusters_of_slices(&slices, 1000, 10_000), 1);
    }

    #[test]
    fn sectioning_is_the_t_interval_over_batches() {
        // Medians of the ten batches: 2^11, 2^12, …, 2^20, so ln 2 · 3.0277 is s, and 2.2622·s/√10 = 1.5013.
        let medians = || (11..=20).map(|i| 1_u64 << i);
        let slices: Vec<Sparse> = medians().map(|nanos| slice(&[nanos])).collect();
        let total: Histogram = medians().collect();
        let (center, factor) = (f64::from(1 << 15), 1.5013_f64.exp());
        let check = |clusters: u64, expected: Option<bool>| {
            let known = match sectioning(&slices, &total, Quantile::P50, clusters) {
                Precision::Known { interval, .. } => Some((interval, true)),
                Precision::Indicative { interval, .. } => Some((interval, false)),
                Precision::Withheld { .. } => None,
            };
            assert_eq!(known.map(|(_, is_known)| is_known), expected, "{clusters} clusters");
            if let Some((interval, _)) = known {
                // Buckets are a thousandth wide.
                assert!((interval.low / (center / factor) - 1.0).abs() < 2e-3, "{interval:?}");
                assert!((interval.high / (center * factor) - 1.0).abs() < 2e-3, "{interval:?}");
            }
        };
        check(30, Some(true));
        check(29, Some(false));
        check(10, Some(false));
        check(9, None);
    }

    /// Two slow batches of ten once made 0 to 21 of a median of 2.7.
    #[test]
    fn intervals_stay_within_what_was_observed() {
        let slow = [20_000_000, 30_000_000, 40_000_000];
        let usual = [2_500_000, 2_700_000, 2_900_000];
        let slices: Vec<Sparse> = (0..10).map(|i| slice(if i < 2 { &slow } else { &usual })).collect();
        let mut total = Histogram::new();
        for slice in &slices {
            total.add_sparse(slice);
        }
        for q in [Quantile::P50, Quantile::P90, Quantile::P99] {
            let Precision::Known { interval, .. } = sectioning(&slices, &total, q, 30) else { panic!("{q}") };
            assert!(interval.low >= 2_499_000.0 && interval.high <= 40_100_000.0, "{q}: {interval:?}");
            let value = total.value_at_quantile(q.value()).unwrap() as f64;
            assert!(interval.contains(value), "{q}: {interval:?} without {value}");
        }
    }

    #[test]
    fn runs_too_short_for_batches_have_no_interval() {
        let nothing = Histogram::new();
        let reason = NoInterval::TooFewSlices { slices: 9 };
        assert_eq!(
            sectioning(&vec![slice(&[1]); 9], &nothing, Quantile::P50, 99),
            Precision::Withheld { reason }
        );
        assert_eq!(rate_interval(&[1; 9], 1.0), Err(reason));
        let mut slices = vec![slice(&[1]); 20];
        slices[4..6].fill(slice(&[]));
        let reason = NoInterval::EmptyBatch { batch: 3 };
        assert_eq!(sectioning(&slices, &nothing, Quantile::P50, 99), Precision::Withheld { reason });
    }

    #[test]
    fn rates() {
        let rate = rate_interval(&[10; 20], 0.5).unwrap();
        assert_eq!((rate.per_second, rate.half_width_percent), (20.0, 0.0));
        let rate = rate_interval(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 1.0).unwrap();
        assert!((rate.half_width_percent - 100.0 * 2.1659 / 5.5).abs() < 1e-2, "{rate:?}");
        let rate = rate_interval(&[0; 10], 1.0).unwrap();
        assert_eq!((rate.per_second, rate.half_width_percent), (0.0, 0.0));
    }
}
