//! A histogram for the eye: a handful of bins with round edges instead of thousands of buckets.

use crate::histogram::Histogram;
use crate::layout::HIGHEST_TRACKABLE_NANOS;

/// The steps of a round bin width within a decade, in tenths. Finer than 1-2-5, so that the bins asked
/// for are used and not half of them left empty.
const LADDER_TENTHS: [u64; 8] = [10, 15, 20, 25, 30, 40, 50, 80];

/// The share of values that the even bins cover; what lies beyond is one bin of its own, because a
/// single slow request would otherwise squeeze all others into the first line.
const BULK: f64 = 0.999;

/// More bins than any terminal has lines.
const BINS_MAX: usize = 1000;

/// One line of a text histogram: `count` values in `low..high` nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bin {
    /// The least value of the bin.
    pub low: u64,
    /// The end of the bin, which belongs to the next one; for the last bin the end belongs to it.
    pub high: u64,
    /// How many values fall between, to the resolution of a bucket (0.1 %).
    pub count: u64,
}

impl Histogram {
    /// At most `n` bins from the minimum to the maximum: even bins of a round width for the values up to
    /// p99.9, and one last bin to the maximum when it lies beyond. Empty when the histogram is.
    ///
    /// Widths are 1, 1.5, 2, 2.5, 3, 4, 5 or 8 times a power of ten, and the first edge is a multiple of
    /// the width. `n` is taken into 2..=1000.
    pub fn bins(&self, n: usize) -> Vec<Bin> {
        let (Some(min), Some(max)) = (self.min(), self.max()) else {
            return Vec::new();
        };
        let bulk = self.value_at_quantile(BULK).expect("invariant: the histogram is not empty");
        // Saturated values are in the last bin wherever they are.
        let (least, bulk) = (min.min(HIGHEST_TRACKABLE_NANOS), bulk.min(HIGHEST_TRACKABLE_NANOS));
        let even = n.clamp(2, BINS_MAX) as u64 - 1;
        let width = round_width(least, bulk, even);
        let start = least / width * width;
        let mut bins: Vec<Bin> = (0..even)
            .map(|i| Bin { low: start + i * width, high: start + (i + 1) * width, count: 0 })
            .take_while(|bin| bin.low <= bulk)
            .collect();
        let end = bins.last().map_or(start, |bin| bin.high);
        if max >= end {
            bins.push(Bin { low: end, high: max, count: 0 });
        }
        for bucket in self.buckets() {
            // The last bucket's end may lie beyond the maximum, the first one's before the minimum.
            let value = bucket.low.midpoint(bucket.high).clamp(min, max);
            let at = bins.partition_point(|bin| bin.low <= value) - 1;
            bins[at].count += bucket.count;
        }
        bins
    }
}

/// The least round width with which `bins` bins from `min`, rounded down to a multiple of it, contain
/// `bulk`.
fn round_width(min: u64, bulk: u64, bins: u64) -> u64 {
    let mut decade = 1_u64;
    // Ends, and does not overflow: `bulk` is below 2^42, and a width above it always fits.
    loop {
        for tenths in LADDER_TENTHS {
            // Widths below 10 ns are whole: a fraction of a nanosecond would repeat edges.
            let width = (tenths * decade).div_ceil(10);
            if min / width * width + bins * width > bulk {
                return width;
            }
        }
        decade *= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(values: &[u64], n: usize, expected: &[(u64, u64, u64)]) {
        let histogram: Histogram = values.iter().copied().collect();
        let bins: Vec<_> = histogram.bins(n).iter().map(|bin| (bin.low, bin.high, bin.count)).collect();
        assert_eq!(bins, expected, "{n} bins of {values:?}");
    }

    #[test]
    fn bins_are_round_and_start_at_a_multiple() {
        check(&[], 10, &[]);
        check(&[7], 10, &[(7, 8, 1)]);
        check(&[1003, 1004, 1019], 5, &[(1000, 1005, 2), (1005, 1010, 0), (1010, 1015, 0), (1015, 1020, 1)]);
    }

    #[test]
    fn one_slow_request_gets_a_bin_of_its_own() {
        let mut histogram: Histogram = (0..100_000).map(|i| 1_000_000 + i * 10).collect();
        histogram.record(900_000_000);
        let bins = histogram.bins(6);
        assert_eq!(bins.len(), 6);
        assert_eq!((bins[0].low, bins[0].high), (1_000_000, 1_200_000));
        assert_eq!((bins[5].low, bins[5].high), (2_000_000, 900_000_000));
        // The bucket that holds 2 000 000 began below it.
        assert!(bins[5].count <= 14, "{bins:?}");
        assert!(bins[..5].iter().all(|bin| (19_900..=20_100).contains(&bin.count)), "{bins:?}");
    }

    proptest! {
        #[test]
        fn every_value_is_in_one_bin(
            values in prop::collection::vec(prop_oneof![0..100_u64, 0..1_u64 << 42, any::<u64>()], 1..100),
            n in 0_usize..40,
        ) {
            let histogram: Histogram = values.iter().copied().collect();
            let bins = histogram.bins(n);
            prop_assert!(bins.len() <= n.max(2));
            prop_assert_eq!(bins.iter().map(|bin| bin.count).sum::<u64>(), histogram.count());
            prop_assert!(bins.windows(2).all(|pair| pair[0].high == pair[1].low));
            prop_assert!(bins[0].low <= histogram.min().unwrap());
            prop_assert!(bins[bins.len() - 1].high >= histogram.max().unwrap());
        }
    }
}
