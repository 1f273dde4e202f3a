//! Exponential histograms of recorded times: what Prometheus calls native histograms.
//!
//! Sources: OpenTelemetry, "Metrics Data Model", section ExponentialHistogram; Prometheus, "Native Histograms". At scale
//! `s`, bucket `i` holds `(2^(i/2^s), 2^((i+1)/2^s)]` seconds. Prometheus numbers the same bucket `i + 1`.
//!
//! No count is lost. A recorded bucket, at most 0.1 % wide, goes whole into the bucket that its middle is in: at scale 5
//! a bucket is 2.2 % wide, so that a quantile read from it is at most 1.1 % off where the reader takes the middle, plus
//! 0.05 %.

use prony_stats::{Bucket, Histogram};

/// How distributions are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HistogramForm {
    /// As native (exponential) histograms.
    #[default]
    Native,
    /// As buckets with fixed bounds, for receivers that know no others.
    Classic,
}

/// 32 buckets for each doubling.
const SCALE: i32 = 5;
/// More buckets than this, and the scale is halved: times from 1 µs to 1 s fit at scale 5 with room to spare.
const BUCKETS_MAX: usize = 640;
/// Bounds of the classic form are 2^n ns: those are bounds of the recorder's buckets, too, so that counts are exact.
/// From 65.5 µs to 68.7 s.
const CLASSIC_POWERS: std::ops::RangeInclusive<u32> = 16..=36;

/// A distribution in exponential buckets, of seconds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Exponential {
    pub(crate) scale: i32,
    /// Values of 0.
    pub(crate) zero: u64,
    /// Index of the first bucket, as OpenTelemetry counts.
    pub(crate) offset: i32,
    /// Counts of the buckets from there on, empty ones included.
    pub(crate) counts: Vec<u64>,
}

impl Exponential {
    /// Of all values in `histogram`, which are nanoseconds.
    pub(crate) fn of(histogram: &Histogram) -> Self {
        Self::at(SCALE, histogram)
    }

    fn at(scale: i32, histogram: &Histogram) -> Self {
        let zero = histogram.buckets().filter(|bucket| bucket.high == 0).map(|bucket| bucket.count).sum();
        let nonzero = || histogram.buckets().filter(|bucket| bucket.high > 0);
        let indexed = || nonzero().map(|bucket| (index(middle_s(&bucket), scale), bucket.count));
        let Some((first, last)) = indexed().next().zip(indexed().last()) else {
            return Self { scale, zero, offset: 0, counts: Vec::new() };
        };
        let offset = first.0;
        let place = |index: i32| usize::try_from(index - offset).expect("invariant: buckets ascend");
        if place(last.0) >= BUCKETS_MAX {
            return Self::at(scale - 1, histogram);
        }
        let mut counts = vec![0; place(last.0) + 1];
        for (index, count) in indexed() {
            counts[place(index)] += count;
        }
        Self { scale, zero, offset, counts }
    }

    /// Runs of buckets that aren't empty, as Prometheus writes them: how many buckets lie between a run and the one before
    /// (of the first: its index), and its counts.
    pub(crate) fn spans(&self) -> Vec<(i32, &[u64])> {
        let mut spans = Vec::new();
        // Prometheus counts from the upper end.
        let mut gap = self.offset + 1;
        for run in self.counts.chunk_by(|one, next| (*one == 0) == (*next == 0)) {
            if run[0] == 0 {
                gap = i32::try_from(run.len()).expect("invariant: below BUCKETS_MAX");
            } else {
                spans.push((gap, run));
            }
        }
        spans
    }
}

fn middle_s(bucket: &Bucket) -> f64 {
    f64::midpoint(bucket.low as f64, bucket.high as f64) / 1e9
}

/// The bucket of `seconds`, which is greater than 0.
#[expect(clippy::cast_possible_truncation, reason = "the logarithm of a time is between -30 and 12")]
fn index(seconds: f64, scale: i32) -> i32 {
    (seconds.log2() * f64::from(scale).exp2()).ceil() as i32 - 1
}

/// The classic form: upper bounds in seconds, and the counts between them, one more than there are bounds.
pub(crate) fn classic(histogram: &Histogram) -> (Vec<f64>, Vec<u64>) {
    let bounds_ns = CLASSIC_POWERS.map(|power| (1_u64 << power) - 1);
    let mut below = 0;
    let mut counts: Vec<u64> = bounds_ns
        .map(|bound| {
            let at_or_below = histogram.count_at_or_below(bound);
            at_or_below - std::mem::replace(&mut below, at_or_below)
        })
        .collect();
    counts.push(histogram.count() - below);
    (CLASSIC_POWERS.map(|power| (1_u64 << power) as f64 / 1e9).collect(), counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(values: &[(u64, u64)]) -> Histogram {
        let mut histogram = Histogram::new();
        for (nanos, count) in values {
            histogram.record_n(*nanos, *count);
        }
        histogram
    }

    #[test]
    fn bounds_belong_to_the_bucket_below() {
        // Bucket 0 at any scale begins above 1 and ends at 2^(1/2^scale).
        assert_eq!((index(1.0, 5), index(1.000_001, 5), index(2.0, 0), index(2.1, 0)), (-1, 0, 0, 1));
        assert_eq!((index(0.5, 0), index(0.500_1, 0)), (-2, -1));
    }

    #[test]
    fn no_count_is_lost_at_any_spread() {
        let narrow = recorded(&[(1_000_000, 7), (1_000_100, 3)]);
        let wide = recorded(&[(0, 5), (1, 2), (3_600_000_000_000, 4), (50_000, 9)]);
        for histogram in [narrow, wide, Histogram::new()] {
            let found = Exponential::of(&histogram);
            assert_eq!(found.zero + found.counts.iter().sum::<u64>(), histogram.count());
            assert!(found.counts.len() <= BUCKETS_MAX);
            assert!(found.counts.first() != Some(&0) && found.counts.last() != Some(&0));
            let (bounds, counts) = classic(&histogram);
            assert_eq!(counts.iter().sum::<u64>(), histogram.count());
            assert_eq!(counts.len(), bounds.len() + 1);
        }
    }

    #[test]
    fn a_wide_spread_lowers_the_scale() {
        assert_eq!(Exponential::of(&recorded(&[(1_000, 1), (1_000_000_000, 1)])).scale, SCALE);
        assert_eq!(Exponential::of(&recorded(&[(1, 1), (3_600_000_000_000, 1)])).scale, SCALE - 2);
    }

    /// Each recorded value lies in the bucket that it is counted in, or within 0.1 % of it.
    #[test]
    fn values_are_in_their_buckets() {
        let powers = std::iter::successors(Some(1_u64), |nanos| Some(nanos + nanos / 3 + 1));
        for nanos in powers.take_while(|nanos| *nanos <= 3_600_000_000_000) {
            let found = Exponential::of(&recorded(&[(nanos, 1)]));
            let width = f64::from(-found.scale).exp2();
            let low = (f64::from(found.offset) * width).exp2();
            let high = (f64::from(found.offset + 1) * width).exp2();
            let seconds = nanos as f64 / 1e9;
            assert!(low * 0.999 < seconds && seconds <= high * 1.001, "{nanos}: {low}..{high}");
        }
    }

    #[test]
    fn spans_skip_what_is_empty() {
        let found = Exponential { scale: 5, zero: 0, offset: -4, counts: vec![1, 2, 0, 0, 0, 3] };
        assert_eq!(found.spans(), [(-3, &[1, 2][..]), (3, &[3][..])]);
    }

    #[test]
    fn classic_counts_are_exact() {
        let (bounds, counts) = classic(&recorded(&[(65_535, 2), (65_536, 3), (131_071, 4), (u64::MAX, 1)]));
        assert!((bounds[0] - 65_536e-9).abs() < 1e-12);
        assert_eq!((counts[0], counts[1], counts.last()), (2, 7, Some(&1)));
    }
}
