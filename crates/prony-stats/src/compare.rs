//! Which of two is faster, by how much, or that it can't be known: the paired comparison.
//!
//! Two runs of the same server one after the other differ by 30 % (median) on a shared machine. So A and
//! B alternate in short blocks, adjacent blocks form a pair in random order, and what is evaluated are the
//! differences within pairs, which share the machine's mood.

use crate::distribution::{Z_975, normal_two_sided, t_975};
use crate::sample::{mean, std_dev};
use crate::signed_rank::{Center, signed_rank_center};

/// The numbers of pairs at which a sequential comparison is looked at; after the last it ends.
pub const LOOKS: [usize; 4] = [10, 16, 24, 40];

/// Fewest pairs of a comparison: five can't exclude anything with 95 % confidence.
pub const LEAST_PAIRS: usize = 6;

/// The pairs of a comparison that isn't looked at before its end.
pub const DEFAULT_PAIRS: usize = 20;

/// The change that is taken as none unless the user says otherwise: 2 %.
pub const DEFAULT_MARGIN: f64 = 0.02;

/// The share of failed requests above which no verdict is given.
pub const ERRORS_MAX: f64 = 0.01;

/// O'Brien and Fleming's constant for four looks at these numbers of pairs at 5 % in all (Biometrics 35
/// (1979)): z = 2.024·√(40/n) spends almost nothing at the first looks. Looking at will with z = 1.96
/// gives 22 % false verdicts.
const LAST_LOOK_Z: f64 = 2.024;

/// The effect found with 80 % power in 5 % tests is 2.8 standard errors (1.96 + 0.84); ranks instead of
/// means need 2.9, as their efficiency for a normal is 3/π.
const DETECTABLE_ERRORS: f64 = 2.9;

/// From this many standard errors on, error shares differ: p < 1 %.
const DIFFERENT_SHARES_P: f64 = 0.01;

/// Which way a metric is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Durations.
    Lower,
    /// Rates.
    Higher,
}

/// What the differences of a comparison estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// The usual pair: blocks that something disturbed decide nothing.
    Typical,
    /// The mean over all pairs, as of a rate: what stops a server now and then counts, too. Where mean and usual
    /// pair disagree, the interval holds both.
    Mean,
}

/// When the comparison may be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Looks {
    /// Once, after a number of pairs fixed beforehand.
    Once,
    /// At each of [`LOOKS`].
    Sequential,
}

/// How many requests of a side failed, of how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errors {
    /// Requests that failed, timed out or were never sent.
    pub failed: u64,
    /// Requests in all.
    pub requests: u64,
}

/// The criteria of a comparison; decided before it starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Criteria {
    /// Which way the metric is good.
    pub better: Better,
    /// The change taken as none: 0.02 is 2 %.
    pub margin: f64,
    /// When it may be looked at.
    pub looks: Looks,
}

/// The verdict of the comparison on B against A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// B is better by the margin or more.
    Faster,
    /// B is worse by the margin or more.
    Slower,
    /// B is better; whether by as much as the margin is open.
    FasterSizeUncertain,
    /// B is worse; whether by as much as the margin is open.
    SlowerSizeUncertain,
    /// Neither better nor worse by as much as the margin.
    NoDifference {
        /// The margin: 0.02 is 2 %.
        margin: f64,
    },
    /// The differences vary too much for these pairs.
    TooNoisy {
        /// The least change that this many pairs would usually find: 0.05 is 5 %.
        smallest_detectable: f64,
        /// Pairs needed to usually find a change of the margin; may exceed what is sensible to run.
        pairs_needed: u64,
    },
    /// The numbers are not to be compared.
    Refused {
        /// Why not.
        reason: NoVerdict,
    },
}

/// Why two sides are not compared.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum NoVerdict {
    /// One side fails more often than is worth timing.
    #[error("{} % of one side's requests failed", 100.0 * share)]
    TooManyErrors {
        /// The greater share of failed requests.
        share: f64,
    },
    /// One side fails more often than the other, so different requests were timed.
    #[error("{} % of A's and {} % of B's requests failed", 100.0 * a, 100.0 * b)]
    ErrorsDiffer {
        /// A's share of failed requests.
        a: f64,
        /// B's share of failed requests.
        b: f64,
    },
}

/// Why pairs can't be compared at all.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum CompareError {
    /// Fewer pairs than [`LEAST_PAIRS`].
    #[error("compare {pairs} pairs: at least {LEAST_PAIRS} are needed")]
    TooFewPairs {
        /// How many there are.
        pairs: usize,
    },
    /// A sequential comparison looked at between its looks.
    #[error("look at a sequential comparison after {pairs} pairs: its looks are at 10, 16, 24 and 40")]
    NotALook {
        /// How many pairs there are.
        pairs: usize,
    },
    /// A value that has no logarithm.
    #[error("compare pair {pair}: {value} is not a positive number")]
    NotPositive {
        /// Which pair, from 0.
        pair: usize,
        /// The value.
        value: f64,
    },
    /// A margin that is not above 0.
    #[error("use {0} as a margin: it must be above 0 (0.02 for 2 %)")]
    Margin(f64),
}

/// A comparison of B against A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// How many pairs it rests on.
    pub pairs: usize,
    /// How much greater B's metric is, less one: 0.05 is 5 % more, whichever way is good.
    pub change: f64,
    /// The interval of `change`, 95 % over all looks; `None` where so few pairs can't have one.
    pub interval: Option<(f64, f64)>,
    /// Standard deviation of ln(B/A) over pairs.
    pub spread: f64,
    /// The mean of all pairs lay beyond the interval of the usual pair, which was widened by it.
    pub is_uneven: bool,
    /// The verdict.
    pub verdict: Verdict,
}

/// The factor by which the interval of a look is widened: z of a fixed or sequential comparison after
/// `pairs` pairs.
pub fn look_z(looks: Looks, pairs: usize) -> f64 {
    match looks {
        Looks::Once => Z_975,
        Looks::Sequential => LAST_LOOK_Z * (LOOKS[LOOKS.len() - 1] as f64 / pairs as f64).sqrt(),
    }
}

/// The probability below which a difference may be claimed at a look: what [`look_z`] leaves outside.
pub fn look_level(looks: Looks, pairs: usize) -> f64 {
    normal_two_sided(look_z(looks, pairs))
}

/// Compares paired values of one metric, (A, B) each, positive and in any unit; `errors` are those of A
/// and B.
pub fn compare(
    pairs: &[(f64, f64)],
    errors: [Errors; 2],
    criteria: Criteria,
) -> Result<Comparison, CompareError> {
    check(pairs.len(), criteria)?;
    let mut differences = Vec::with_capacity(pairs.len());
    for (pair, &(a, b)) in pairs.iter().enumerate() {
        let unusable = [a, b].into_iter().find(|value| !(*value > 0.0 && value.is_finite()));
        if let Some(value) = unusable {
            return Err(CompareError::NotPositive { pair, value });
        }
        differences.push((b / a).ln());
    }
    compare_differences(&differences, Aim::Typical, 0.0, errors, criteria)
}

/// Compares by the differences ln(B/A) of at least [`LEAST_PAIRS`] pairs, each of which may be off by `resolution`
/// either way.
pub fn compare_differences(
    differences: &[f64],
    aim: Aim,
    resolution: f64,
    errors: [Errors; 2],
    criteria: Criteria,
) -> Result<Comparison, CompareError> {
    check(differences.len(), criteria)?;
    let Criteria { better, margin, looks } = criteria;
    let z = look_z(looks, differences.len());
    let mut center =
        signed_rank_center(differences, z).expect("invariant: there are at least LEAST_PAIRS differences");
    let spread = std_dev(differences);
    let mut is_uneven = false;
    if aim == Aim::Mean
        && let Some((low, high)) = center.interval
    {
        let mean = mean(differences);
        is_uneven = !(low..=high).contains(&mean);
        if is_uneven {
            let count = differences.len();
            let half = t_975(count - 1) * z / Z_975 * spread / (count as f64).sqrt();
            center.interval = Some((low.min(mean - half), high.max(mean + half)));
        }
    }
    center.interval = center.interval.map(|(low, high)| (low - resolution, high + resolution));
    let verdict = match refusal(errors) {
        Some(reason) => Verdict::Refused { reason },
        None => evaluate_interval(center, better, margin)
            .unwrap_or_else(|| too_noisy(spread, differences.len(), margin)),
    };
    Ok(Comparison {
        pairs: differences.len(),
        change: center.estimate.exp_m1(),
        interval: center.interval.map(|(low, high)| (low.exp_m1(), high.exp_m1())),
        spread,
        is_uneven,
        verdict,
    })
}

fn check(pairs: usize, Criteria { margin, looks, .. }: Criteria) -> Result<(), CompareError> {
    if !(margin > 0.0 && margin.is_finite()) {
        return Err(CompareError::Margin(margin));
    }
    if pairs < LEAST_PAIRS {
        return Err(CompareError::TooFewPairs { pairs });
    }
    if looks == Looks::Sequential && !LOOKS.contains(&pairs) {
        return Err(CompareError::NotALook { pairs });
    }
    Ok(())
}

impl Comparison {
    /// Whether a sequential comparison may stop here: it has its answer, or no look is left.
    ///
    /// A direction without a size goes on, as more pairs may give the size.
    pub fn is_final(&self) -> bool {
        let is_open = matches!(
            self.verdict,
            Verdict::TooNoisy { .. } | Verdict::FasterSizeUncertain | Verdict::SlowerSizeUncertain
        );
        !is_open || self.pairs >= LOOKS[LOOKS.len() - 1]
    }

    /// The same comparison without a direction: for one of several, whose difference no longer stands out once all
    /// of them are counted (see [`holm`](crate::holm)). Verdicts that name no direction stay.
    #[must_use]
    pub fn without_direction(self, margin: f64) -> Self {
        let names_direction = matches!(
            self.verdict,
            Verdict::Faster | Verdict::Slower | Verdict::FasterSizeUncertain | Verdict::SlowerSizeUncertain
        );
        if !names_direction {
            return self;
        }
        Self { verdict: too_noisy(self.spread, self.pairs, margin), ..self }
    }
}

/// The verdict of an interval; `None` if there is no interval or it decides nothing.
fn evaluate_interval(center: Center, better: Better, margin: f64) -> Option<Verdict> {
    let (low, high) = center.interval?;
    // From here on above 0 is worse.
    let (low, high) = match better {
        Better::Lower => (low, high),
        Better::Higher => (-high, -low),
    };
    let delta = margin.ln_1p();
    if low >= delta {
        Some(Verdict::Slower)
    } else if high <= -delta {
        Some(Verdict::Faster)
    } else if low > -delta && high < delta {
        Some(Verdict::NoDifference { margin })
    } else if low > 0.0 {
        Some(Verdict::SlowerSizeUncertain)
    } else if high < 0.0 {
        Some(Verdict::FasterSizeUncertain)
    } else {
        None
    }
}

fn too_noisy(spread: f64, pairs: usize, margin: f64) -> Verdict {
    let smallest_detectable = (DETECTABLE_ERRORS * spread / (pairs as f64).sqrt()).exp_m1();
    // 2.9² = 8.41, and 8.6 with what the last few pairs lose to whole ranks.
    let pairs_needed = (8.6 * (spread / margin.ln_1p()).powi(2)).ceil();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive; saturates")]
    let pairs_needed = (pairs_needed as u64).max(LEAST_PAIRS as u64);
    Verdict::TooNoisy { smallest_detectable, pairs_needed }
}

/// Why sides with these errors must not be compared.
fn refusal([a, b]: [Errors; 2]) -> Option<NoVerdict> {
    let (share_a, share_b) = (a.share(), b.share());
    let share = share_a.max(share_b);
    if share > ERRORS_MAX {
        return Some(NoVerdict::TooManyErrors { share });
    }
    // The pooled test of two proportions: a handful of errors more on one side is chance.
    let pooled = Errors { failed: a.failed + b.failed, requests: a.requests + b.requests }.share();
    let error = (pooled * (1.0 - pooled) * (1.0 / a.requests as f64 + 1.0 / b.requests as f64)).sqrt();
    let differ = error > 0.0 && normal_two_sided((share_a - share_b) / error) < DIFFERENT_SHARES_P;
    differ.then_some(NoVerdict::ErrorsDiffer { a: share_a, b: share_b })
}

impl Errors {
    /// The share of failed requests, 0 to 1; 1 where nothing was sent, as nothing succeeded.
    pub fn share(self) -> f64 {
        if self.requests == 0 { 1.0 } else { self.failed as f64 / self.requests as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAN: [Errors; 2] = [Errors { failed: 0, requests: 100_000 }; 2];
    const LATENCY: Criteria = Criteria { better: Better::Lower, margin: DEFAULT_MARGIN, looks: Looks::Once };

    /// Twenty pairs whose differences are `change` give or take up to `noise`.
    fn pairs(n: u8, change: f64, noise: f64) -> Vec<(f64, f64)> {
        let of = |k: u8| change + noise * (f64::from(k * 7 % n) / f64::from(n - 1) * 2.0 - 1.0);
        (0..n).map(|k| (5.0 + f64::from(k), (5.0 + f64::from(k)) * of(k).exp())).collect()
    }

    fn check(change: f64, noise: f64, better: Better, expected: Verdict) {
        let comparison = compare(&pairs(20, change, noise), CLEAN, Criteria { better, ..LATENCY }).unwrap();
        assert_eq!(comparison.verdict, expected, "{change} ± {noise}: {comparison:?}");
        assert!((comparison.change - change.exp_m1()).abs() < 1e-9, "{comparison:?}");
    }

    #[test]
    fn verdicts_follow_the_interval() {
        check(0.05, 0.01, Better::Lower, Verdict::Slower);
        check(0.05, 0.01, Better::Higher, Verdict::Faster);
        check(-0.05, 0.01, Better::Lower, Verdict::Faster);
        check(-0.05, 0.01, Better::Higher, Verdict::Slower);
        check(0.02, 0.02, Better::Lower, Verdict::SlowerSizeUncertain);
        check(-0.02, 0.02, Better::Lower, Verdict::FasterSizeUncertain);
        check(0.0, 0.02, Better::Lower, Verdict::NoDifference { margin: 0.02 });
        // Surely slower, and surely by less than the margin.
        check(0.01, 0.005, Better::Lower, Verdict::NoDifference { margin: 0.02 });
    }

    #[test]
    fn too_much_noise_is_reported_with_the_pairs_needed() {
        let comparison = compare(&pairs(20, 0.0, 0.2), CLEAN, LATENCY).unwrap();
        let Verdict::TooNoisy { smallest_detectable, pairs_needed } = comparison.verdict else {
            panic!("{comparison:?}")
        };
        // Even steps over ±0.2: s = 0.1246.
        assert!(
            (smallest_detectable - (2.9 * 0.1246 / 20.0_f64.sqrt()).exp_m1()).abs() < 1e-3,
            "{comparison:?}"
        );
        assert_eq!(pairs_needed, 341);
    }

    #[test]
    fn a_mean_beyond_the_usual_pair_widens_the_interval() {
        // B is stopped during one block in ten; else it is 2 % slower.
        let differences: Vec<f64> =
            (0..20).map(|k| if k % 10 == 0 { 1.0 } else { -0.02 + 0.001 * f64::from(k) }).collect();
        let typical = compare_differences(&differences, Aim::Typical, 0.0, CLEAN, LATENCY).unwrap();
        assert!(typical.interval.is_some_and(|(_, high)| high < 0.05) && !typical.is_uneven, "{typical:?}");
        let mean = compare_differences(&differences, Aim::Mean, 0.0, CLEAN, LATENCY).unwrap();
        assert!(mean.interval.is_some_and(|(_, high)| high > 0.1) && mean.is_uneven, "{mean:?}");
        assert!(matches!(mean.verdict, Verdict::TooNoisy { .. }), "{mean:?}");
    }

    #[test]
    fn what_is_read_in_steps_is_no_better_known_than_a_step() {
        let comparison = compare_differences(&[0.0; 20], Aim::Typical, 0.001, CLEAN, LATENCY).unwrap();
        assert!(
            comparison.interval.is_some_and(|(low, high)| low < -0.0009 && high > 0.0009),
            "{comparison:?}"
        );
        let comparison = compare_differences(&[0.001; 20], Aim::Typical, 0.03, CLEAN, LATENCY).unwrap();
        assert!(matches!(comparison.verdict, Verdict::TooNoisy { .. }), "{comparison:?}");
    }

    #[test]
    fn errors_forbid_a_verdict() {
        let check = |a: u64, b: u64, expected: Option<NoVerdict>| {
            let errors = [a, b].map(|failed| Errors { failed, requests: 10_000 });
            let comparison = compare(&pairs(20, 0.05, 0.01), errors, LATENCY).unwrap();
            let expected = expected.map_or(Verdict::Slower, |reason| Verdict::Refused { reason });
            assert_eq!(comparison.verdict, expected, "{a} and {b} failed");
        };
        check(0, 0, None);
        check(3, 5, None);
        check(100, 100, None);
        check(101, 100, Some(NoVerdict::TooManyErrors { share: 0.0101 }));
        check(10, 60, Some(NoVerdict::ErrorsDiffer { a: 0.001, b: 0.006 }));
        let nothing_sent = [Errors { failed: 0, requests: 0 }; 2];
        assert_eq!(refusal(nothing_sent), Some(NoVerdict::TooManyErrors { share: 1.0 }));
    }

    #[test]
    fn looks_are_wide_first() {
        let sequential = Criteria { looks: Looks::Sequential, ..LATENCY };
        let look = |n: u8| compare(&pairs(n, 0.05, 0.01), CLEAN, sequential);
        assert_eq!(look(12).map(|comparison| comparison.pairs), Err(CompareError::NotALook { pairs: 12 }));
        let first = look(10).unwrap();
        assert_eq!((first.interval, first.is_final()), (None, false));
        let second = look(16).unwrap();
        assert_eq!((second.verdict, second.is_final()), (Verdict::Slower, true));
        assert!((look_z(Looks::Sequential, 40) - 2.024).abs() < 1e-12);
        assert!((look_z(Looks::Sequential, 10) - 4.048).abs() < 1e-12);
        assert!((look_level(Looks::Once, 20) - 0.05).abs() < 1e-6);
        assert!((look_level(Looks::Sequential, 40) - 0.043).abs() < 1e-3);
    }

    #[test]
    fn pairs_are_checked() {
        let check = |pairs: &[(f64, f64)], expected: CompareError| {
            assert_eq!(compare(pairs, CLEAN, LATENCY), Err(expected), "{pairs:?}");
        };
        check(&[(1.0, 1.0); 5], CompareError::TooFewPairs { pairs: 5 });
        check(&[(1.0, 0.0); 6], CompareError::NotPositive { pair: 0, value: 0.0 });
        check(&[(f64::INFINITY, 1.0); 6], CompareError::NotPositive { pair: 0, value: f64::INFINITY });
        let nonsense = Criteria { margin: -1.0, ..LATENCY };
        assert_eq!(compare(&pairs(20, 0.0, 0.1), CLEAN, nonsense), Err(CompareError::Margin(-1.0)));
    }
}
