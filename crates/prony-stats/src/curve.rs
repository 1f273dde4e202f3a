//! Where a distribution is drawn: as far as its values support it, and no further.

use crate::LEAST_EXCEEDANCES;

/// A distribution of an hour reaches no further.
const DECADES_MAX: u32 = 13;

/// A place on a curve of quantiles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePlace {
    /// The share of all requests that took longer (0..=1), `failed` ones among them.
    pub slower: f64,
    /// The quantile of the recorded values that stands there (0..=1).
    pub quantile: f64,
}

/// Places in equal ratios of `slower`, from 1 down, `per_decade` of them for every tenfold, for `count` recorded values.
/// `failed` requests have no value and may have been slower than all. The last place has ten of them beyond it, or the
/// `failed` where those are more.
pub fn curve_places(count: u64, failed: u64, per_decade: u32) -> impl Iterator<Item = CurvePlace> {
    let all = count.saturating_add(failed) as f64;
    let beyond = failed.max(LEAST_EXCEEDANCES) as f64;
    (0..=DECADES_MAX * per_decade)
        .map(move |step| 10_f64.powf(-f64::from(step) / f64::from(per_decade)))
        .take_while(move |slower| slower * all >= beyond)
        // Failed requests stand above all recorded values.
        .map(move |slower| CurvePlace { slower, quantile: (1.0 - slower) * all / count as f64 })
        .filter(|place| place.quantile.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(count: u64, failed: u64, last_slower: Option<f64>) {
        let places: Vec<CurvePlace> = curve_places(count, failed, 10).collect();
        assert!(places.iter().all(|place| (0.0..=1.0).contains(&place.quantile)), "{places:?}");
        assert!(
            places
                .windows(2)
                .all(|pair| pair[1].slower < pair[0].slower && pair[1].quantile >= pair[0].quantile)
        );
        let last = places.last().map(|place| place.slower);
        match (last, last_slower) {
            (Some(last), Some(expected)) => {
                assert!((last / expected - 1.0).abs() < 1e-9, "{last} is not {expected}");
            }
            (last, expected) => assert_eq!(last, expected),
        }
    }

    #[test]
    fn a_curve_ends_where_ten_are_beyond() {
        check(10_000, 0, Some(1e-3));
        check(1_000, 0, Some(1e-2));
        check(10, 0, Some(1.0));
        check(9, 0, None);
        check(0, 0, None);
    }

    #[test]
    fn failures_may_have_been_slower() {
        check(900, 100, Some(0.1));
        // The place of the good ones that a tenth of all, the failed ones, stand above is the last.
        let last = curve_places(900, 100, 10).last().expect("some");
        assert!((last.quantile - 1.0).abs() < 1e-9);
        check(0, 50, None);
    }
}
