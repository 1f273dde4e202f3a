//! Quantiles, and when one may be printed.
//!
//! A quantile is printed only if the data reach it: requests that never finished make it a lower bound,
//! and a tail that rests on fewer than ten requests is withheld. Minimum, maximum and mean are always
//! printable; they are read from the [`Histogram`] itself.

use crate::histogram::Histogram;
use crate::layout::{clamped_index_of, lowest_of};
use std::fmt;

/// How many values must lie beyond a tail quantile before it is printed. With fewer, the number is
/// decided by a handful of requests and moves by tens of percent from run to run.
pub const LEAST_EXCEEDANCES: u64 = 10;
/// Values that a p99 needs to have [`LEAST_EXCEEDANCES`] beyond it.
pub const P99_COUNT_MIN: u64 = 100 * LEAST_EXCEEDANCES;

/// A quantile in `0..=1`: 0.99 is the p99.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Quantile(f64);

/// A number that is no quantile.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("use {0} as a quantile: it must lie in 0..=1 (0.99 for p99)")]
pub struct QuantileError(pub f64);

impl Quantile {
    /// The median.
    pub const P50: Self = Self(0.5);
    /// The 75th percentile.
    pub const P75: Self = Self(0.75);
    /// The 90th percentile.
    pub const P90: Self = Self(0.9);
    /// The 95th percentile.
    pub const P95: Self = Self(0.95);
    /// The 99th percentile.
    pub const P99: Self = Self(0.99);
    /// The 99.9th percentile.
    pub const P999: Self = Self(0.999);
    /// The 99.99th percentile.
    pub const P9999: Self = Self(0.9999);

    /// What every report shows, in ascending order.
    pub const STANDARD: [Self; 7] =
        [Self::P50, Self::P75, Self::P90, Self::P95, Self::P99, Self::P999, Self::P9999];

    /// Checks a quantile; NaN and anything outside `0..=1` are refused.
    pub fn new(q: f64) -> Result<Self, QuantileError> {
        if (0.0..=1.0).contains(&q) { Ok(Self(q)) } else { Err(QuantileError(q)) }
    }

    /// The number in `0..=1`.
    pub fn value(self) -> f64 {
        self.0
    }

    /// The rank of this quantile among `n` values in ascending order: `ceil(q·n)`, at least 1 (0 for
    /// `n` = 0).
    pub fn rank(self, n: u64) -> u64 {
        rank(self.0, n)
    }

    /// How many of `n` values lie beyond this quantile's rank.
    pub fn exceedances(self, n: u64) -> u64 {
        n - self.rank(n)
    }

    /// Whether the quantile speaks of values that were hardly seen. The maximum doesn't: it is what was
    /// seen, whatever the next run brings.
    fn is_tail(self) -> bool {
        self.0 > 0.5 && self.0 < 1.0
    }

    /// The least number of values at which this quantile is printed.
    pub fn samples_needed(self) -> u64 {
        if !self.is_tail() {
            return 1;
        }
        // 10/(1 − q), give or take the rounding of the rank.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive; saturates")]
        let near = (LEAST_EXCEEDANCES as f64 / (1.0 - self.0)) as u64;
        let from = near.saturating_sub(2);
        (from..near.saturating_add(3)).find(|&n| self.exceedances(n) >= LEAST_EXCEEDANCES).unwrap_or(u64::MAX)
    }
}

impl TryFrom<f64> for Quantile {
    type Error = QuantileError;

    fn try_from(q: f64) -> Result<Self, QuantileError> {
        Self::new(q)
    }
}

impl fmt::Display for Quantile {
    /// The usual name: `p50`, `p99.9`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // 0.999 · 100 is 99.9 give or take the last bit: nine decimals hide it and keep every digit typed.
        let percent = (self.0 * 1e11).round() / 1e9;
        write!(f, "p{percent}")
    }
}

/// `ceil(q·n)` within `1..=n`, or 0 when there are no values.
///
/// A product that only floating-point error lifts above a whole number is that number: 0.55·100 is
/// 55.000000000000007, and its rank is 55.
pub(crate) fn rank(q: f64, n: u64) -> u64 {
    if n == 0 {
        return 0;
    }
    let product = q * n as f64;
    let whole = product.round();
    let ceiling = if (product - whole).abs() <= 2.0 * f64::EPSILON * whole { whole } else { product.ceil() };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, then clamped")]
    let rank = ceiling as u64;
    rank.clamp(1, n)
}

/// The requests whose response time is only known to exceed something: unfinished at the end, timed
/// out, or due and never sent.
#[derive(Debug, Clone, Copy)]
pub enum Censored<'a> {
    /// How many there were; how long each had waited is not known.
    Count(u64),
    /// How long each had waited, from its intended send, when it was given up.
    Waited(&'a Histogram),
}

impl Censored<'_> {
    /// No request was cut off.
    pub const NONE: Self = Self::Count(0);

    /// How many requests were cut off.
    pub fn count(self) -> u64 {
        match self {
            Self::Count(n) => n,
            Self::Waited(waits) => waits.count(),
        }
    }
}

/// What is known about one quantile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Estimate {
    /// The quantile, in nanoseconds.
    Value {
        /// The value, as [`Histogram::value_at_quantile`] reports it.
        nanos: u64,
    },
    /// Too many requests never finished: the quantile is above this.
    AtLeast {
        /// A bound that holds whatever the unfinished requests would have taken.
        nanos: u64,
        /// How many requests were cut off.
        censored: u64,
    },
    /// The data don't reach this quantile.
    Withheld {
        /// Why not.
        reason: Withheld,
    },
}

/// Why a quantile is not printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Withheld {
    /// No request finished and none was cut off.
    #[error("no requests")]
    NoSamples,
    /// Fewer than [`LEAST_EXCEEDANCES`] requests lie beyond the quantile.
    #[error("only {exceedances} of {samples} requests lie beyond it; {needed} requests are needed")]
    TooFewExceedances {
        /// Requests beyond the quantile's rank.
        exceedances: u64,
        /// Requests in all, cut-off ones included.
        samples: u64,
        /// Requests in all at which the quantile would be printed.
        needed: u64,
    },
}

impl Estimate {
    /// The value in nanoseconds, if it is one and not a bound.
    pub fn value(self) -> Option<u64> {
        match self {
            Self::Value { nanos } => Some(nanos),
            Self::AtLeast { .. } | Self::Withheld { .. } => None,
        }
    }
}

/// Quantile `q` of response times, of which `done` finished and `censored` did not.
///
/// With n = finished + censored, the quantile is the value of rank `ceil(q·n)` with every censored
/// request placed above all finished ones. That has a value as long as no more than (1 − q)·n are
/// censored; otherwise it is [`Estimate::AtLeast`]: the same rank with every censored request at what
/// it had waited (0 where unknown), which the truth cannot be below.
///
/// Above the median, fewer than [`LEAST_EXCEEDANCES`] values beyond the rank withhold the number: p90
/// needs 100 requests, p99 1,000. The median, quantiles below it and the maximum (q = 1) are printed from
/// the first request on, because they speak of what was seen and not of a tail that was hardly seen.
pub fn estimate(done: &Histogram, q: Quantile, censored: Censored<'_>) -> Estimate {
    let samples = done.count().saturating_add(censored.count());
    if samples == 0 {
        return Estimate::Withheld { reason: Withheld::NoSamples };
    }
    let rank = q.rank(samples);
    if rank > done.count() {
        return Estimate::AtLeast { nanos: lower_bound(done, rank, censored), censored: censored.count() };
    }
    let exceedances = samples - rank;
    if q.is_tail() && exceedances < LEAST_EXCEEDANCES {
        let needed = q.samples_needed();
        return Estimate::Withheld { reason: Withheld::TooFewExceedances { exceedances, samples, needed } };
    }
    let nanos = done.value_at_rank(rank).expect("invariant: 1 <= rank <= finished requests");
    Estimate::Value { nanos }
}

/// The value of `rank` with each censored request at the least it can have taken, rounded down to its
/// bucket's start: a bound must not owe anything to rounding.
fn lower_bound(done: &Histogram, rank: u64, censored: Censored<'_>) -> u64 {
    let at = match censored {
        Censored::Count(unknown) => done.value_at_rank(rank.saturating_sub(unknown)),
        Censored::Waited(waits) => {
            let mut all = done.clone();
            all.add(waits);
            all.value_at_rank(rank)
        }
    };
    at.map_or(0, |nanos| lowest_of(clamped_index_of(nanos)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn quantile(q: f64) -> Quantile {
        Quantile::new(q).unwrap()
    }

    #[test]
    fn quantiles_are_checked_and_named() {
        let check = |q: f64, name: Option<&str>| {
            assert_eq!(Quantile::new(q).ok().map(|q| q.to_string()).as_deref(), name, "{q}");
        };
        check(0.0, Some("p0"));
        check(0.5, Some("p50"));
        check(0.999, Some("p99.9"));
        check(0.9999, Some("p99.99"));
        check(0.29, Some("p29"));
        check(1.0, Some("p100"));
        check(-0.1, None);
        check(1.000_001, None);
        check(f64::NAN, None);
    }

    #[test]
    fn ranks_do_not_owe_anything_to_floating_point() {
        let check = |q: f64, n: u64, expected: u64| assert_eq!(rank(q, n), expected, "rank of {q} in {n}");
        check(0.5, 0, 0);
        check(0.0, 5, 1);
        check(0.55, 100, 55);
        check(0.07, 100, 7);
        check(0.999, 1000, 999);
        check(0.999, 1001, 1000);
        check(0.9999, 1_000_000_000, 999_900_000);
        check(1.0, 7, 7);
        check(2.0, 7, 7);
    }

    #[test]
    fn needed_samples() {
        let check = |q: f64, n: u64| assert_eq!(quantile(q).samples_needed(), n, "{q}");
        check(0.5, 1);
        check(0.75, 40);
        check(0.9, 100);
        check(0.95, 200);
        check(0.99, 1000);
        check(0.999, 10_000);
        check(0.9999, 100_000);
        check(1.0, 1);
    }

    /// `finished` requests of 1, 2, 3, … ns.
    fn finished(n: u64) -> Histogram {
        (1..=n).collect()
    }

    fn check(n: u64, q: f64, censored: Censored<'_>, expected: Estimate) {
        assert_eq!(
            estimate(&finished(n), quantile(q), censored),
            expected,
            "{n} finished, {censored:?}, {q}"
        );
    }

    #[test]
    fn a_tail_needs_ten_requests_beyond_it() {
        check(0, 0.5, Censored::NONE, Estimate::Withheld { reason: Withheld::NoSamples });
        check(1, 0.5, Censored::NONE, Estimate::Value { nanos: 1 });
        check(100, 0.9, Censored::NONE, Estimate::Value { nanos: 90 });
        let reason = Withheld::TooFewExceedances { exceedances: 5, samples: 100, needed: 200 };
        check(100, 0.95, Censored::NONE, Estimate::Withheld { reason });
        check(3, 1.0, Censored::NONE, Estimate::Value { nanos: 3 });
    }

    #[test]
    fn unfinished_requests_turn_a_quantile_into_a_bound() {
        // 10 of 1000 unfinished: exactly (1 − q)·n for p99.
        check(990, 0.99, Censored::Count(10), Estimate::Value { nanos: 990 });
        check(989, 0.99, Censored::Count(11), Estimate::AtLeast { nanos: 979, censored: 11 });
        let waits: Histogram = (0..11).map(|_| 2000).collect();
        check(989, 0.99, Censored::Waited(&waits), Estimate::AtLeast { nanos: 2000, censored: 11 });
        check(0, 0.5, Censored::Count(4), Estimate::AtLeast { nanos: 0, censored: 4 });
        check(5, 1.0, Censored::Count(1), Estimate::AtLeast { nanos: 5, censored: 1 });
    }

    proptest! {
        /// Whatever the censored requests would have taken, the quantile is not below the bound.
        #[test]
        fn a_bound_holds(
            done in prop::collection::vec(0_u64..5_000_000, 0..60),
            cut in prop::collection::vec((0_u64..5_000_000, 0_u64..5_000_000), 1..60),
            q in 0.0..=1.0,
        ) {
            let waits: Histogram = cut.iter().map(|&(waited, _)| waited).collect();
            let done_only: Histogram = done.iter().copied().collect();
            let truth: Histogram = done.into_iter().chain(cut.iter().map(|&(waited, rest)| waited + rest)).collect();
            let q = quantile(q);
            for censored in [Censored::Waited(&waits), Censored::Count(waits.count())] {
                let result = estimate(&done_only, q, censored);
                if let Estimate::AtLeast { nanos, .. } = result {
                    prop_assert!(nanos <= truth.value_at_quantile(q.value()).unwrap());
                }
            }
        }
    }
}
