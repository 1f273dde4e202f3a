//! The recorder: a log-linear histogram of nanoseconds that costs a few instructions per value.
//!
//! It is our own and not the `hdrhistogram` crate's because the worker loop records several values
//! per request: a layout known at compile time needs no fields to find a bucket, exact minimum,
//! maximum and sum come with it (hey#166: a mean must be the exact sum over the exact count), and
//! the used range is known, so that clearing and merging touch only what was written.

use crate::layout::{LEN, clamped_index_of, highest_of, index_of, lowest_of};
use crate::quantile::rank;
use crate::sparse::Sparse;
use std::fmt;
use std::ops::Range;

/// Counts of durations in nanoseconds, in HdrHistogram's buckets for 1 ns to 1 h and 3 digits.
///
/// Counts are `u64`. 0 has a bucket of its own and stays 0. Values above
/// [`HIGHEST_TRACKABLE_NANOS`](crate::HIGHEST_TRACKABLE_NANOS) are counted in the last bucket and in [`saturated`](Self::saturated);
/// [`min`](Self::min), [`max`](Self::max) and [`sum`](Self::sum) are exact even for those.
///
/// An unused histogram costs address space, not memory: its 270 KiB come zeroed from the kernel and
/// pages that were never written are never backed.
pub struct Histogram {
    counts: Box<[u64; LEN]>,
    total: u64,
    sum: u128,
    /// `u64::MAX` while empty, so that one comparison covers the first value too.
    min: u64,
    /// 0 while empty.
    max: u64,
    saturated: u64,
}

/// One non-empty bucket: `count` values in `low..=high` nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// The least value that falls into the bucket.
    pub low: u64,
    /// The greatest value that falls into the bucket.
    pub high: u64,
    /// How many values were counted; never 0.
    pub count: u64,
}

impl Histogram {
    /// An empty histogram: one zeroed allocation.
    pub fn new() -> Self {
        // `vec!` of zeros asks the allocator for zeroed memory; an array expression would be built on
        // the stack and copied, which touches every page.
        let counts = vec![0; LEN].into_boxed_slice();
        let counts = counts.try_into().expect("invariant: the slice was allocated with LEN counts");
        Self { counts, total: 0, sum: 0, min: u64::MAX, max: 0, saturated: 0 }
    }

    /// Counts one value.
    ///
    /// Never allocates. The bounds check of the bucket is the saturation check, and both new extremes
    /// and saturation are rare, so the usual way through has three branches that are never taken.
    #[inline]
    pub fn record(&mut self, nanos: u64) {
        if let Some(count) = self.counts.get_mut(index_of(nanos)) {
            *count += 1;
        } else {
            self.record_saturated(1);
        }
        self.total += 1;
        self.sum += u128::from(nanos);
        if nanos < self.min {
            self.min = nanos;
        }
        if nanos > self.max {
            self.max = nanos;
        }
    }

    /// Counts one value `n` times; nothing for `n` = 0.
    pub fn record_n(&mut self, nanos: u64, n: u64) {
        if n == 0 {
            return;
        }
        if let Some(count) = self.counts.get_mut(index_of(nanos)) {
            *count += n;
        } else {
            self.record_saturated(n);
        }
        self.total += n;
        self.sum += u128::from(nanos) * u128::from(n);
        self.min = self.min.min(nanos);
        self.max = self.max.max(nanos);
    }

    #[cold]
    fn record_saturated(&mut self, n: u64) {
        self.counts[LEN - 1] += n;
        self.saturated += n;
    }

    /// How many values were recorded.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The least value in nanoseconds, exact; `None` when empty.
    pub fn min(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.min)
    }

    /// The greatest value in nanoseconds, exact; `None` when empty.
    pub fn max(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.max)
    }

    /// The sum of all values in nanoseconds, exact (an estimate after
    /// [`from_v2_deflate`](Self::from_v2_deflate), which carries counts only).
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The mean in nanoseconds: the exact sum over the exact count; `None` when empty.
    pub fn mean(&self) -> Option<f64> {
        // Sums beyond 2^53 are rounded, which must not carry the mean past an extreme.
        (!self.is_empty())
            .then(|| (self.sum as f64 / self.total as f64).clamp(self.min as f64, self.max as f64))
    }

    /// The sample standard deviation (n − 1) in nanoseconds; `None` for fewer than two values.
    ///
    /// Around the exact mean, each value taken at the middle of its bucket: within 0.05 % of each value.
    pub fn std_dev(&self) -> Option<f64> {
        if self.total < 2 {
            return None;
        }
        let mean = self.mean()?;
        let squares: f64 = self
            .buckets()
            .map(|bucket| {
                // A bucket's middle may lie outside what was seen: constant values must give 0.
                let middle = bucket.low.midpoint(bucket.high).clamp(self.min, self.max) as f64;
                (middle - mean).powi(2) * bucket.count as f64
            })
            .sum();
        Some(if self.min == self.max { 0.0 } else { (squares / (self.total - 1) as f64).sqrt() })
    }

    /// How many values were above [`HIGHEST_TRACKABLE_NANOS`](crate::HIGHEST_TRACKABLE_NANOS) and so have lost their place.
    pub fn saturated(&self) -> u64 {
        self.saturated
    }

    /// The value at quantile `q` in nanoseconds; `None` when empty.
    ///
    /// That is the value of rank `ceil(q·n)`, at least 1, in ascending order, reported as the greatest
    /// value of its bucket (so never below the truth, and at most 0.1 % above it) and clamped into
    /// `min..=max`. It never falls as `q` grows, and is `max` itself at `q` = 1.
    ///
    /// `q` outside `0..=1` counts as the nearer end. This is arithmetic: whether the number may be
    /// printed is decided by [`estimate`](crate::estimate).
    pub fn value_at_quantile(&self, q: f64) -> Option<u64> {
        self.value_at_rank(rank(q, self.total))
    }

    /// The value of `rank` (1 = least, [`count`](Self::count) = greatest) as
    /// [`value_at_quantile`](Self::value_at_quantile) reports it; `None` for a rank of 0 or above the count.
    pub fn value_at_rank(&self, rank: u64) -> Option<u64> {
        if rank == 0 || rank > self.total {
            return None;
        }
        if rank == self.total {
            return Some(self.max);
        }
        let range = self.used();
        let start = range.start;
        let mut seen = 0;
        let position = self.counts[range].iter().position(|count| {
            seen += count;
            seen >= rank
        });
        let position = position.expect("invariant: the used counts add up to the total");
        Some(highest_of(start + position).clamp(self.min, self.max))
    }

    /// How many values are at or below `nanos`, to the resolution of a bucket: values in the bucket of
    /// `nanos` itself count as "at or below". Exact at every value that a quantile reports.
    pub fn count_at_or_below(&self, nanos: u64) -> u64 {
        if nanos >= self.max {
            return self.total;
        }
        let range = self.used();
        let end = (clamped_index_of(nanos) + 1).min(range.end);
        if end <= range.start { 0 } else { self.counts[range.start..end].iter().sum() }
    }

    /// How many values are above `nanos`: what [`count_at_or_below`](Self::count_at_or_below) leaves.
    pub fn count_above(&self, nanos: u64) -> u64 {
        self.total - self.count_at_or_below(nanos)
    }

    /// The non-empty buckets in ascending order. The last bucket of the layout ends at
    /// [`HIGHEST_TRACKABLE_NANOS`](crate::HIGHEST_TRACKABLE_NANOS) even when it holds saturated values.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.used_counts().map(|(index, count)| Bucket {
            low: lowest_of(index),
            high: highest_of(index),
            count,
        })
    }

    /// Adds every value of `other`, exactly. Touches only the range that `other` used.
    pub fn add(&mut self, other: &Self) {
        let range = other.used();
        for (mine, theirs) in self.counts[range.clone()].iter_mut().zip(&other.counts[range]) {
            *mine += theirs;
        }
        self.add_totals(other.total, other.sum, other.min, other.max, other.saturated);
    }

    /// Adds every value of `slice`, exactly.
    pub fn add_sparse(&mut self, slice: &Sparse) {
        for (index, count) in slice.buckets() {
            self.counts[index as usize] += count;
        }
        if let (Some(min), Some(max)) = (slice.min(), slice.max()) {
            self.add_totals(slice.count(), slice.sum(), min, max, slice.saturated());
        }
    }

    /// The non-empty buckets alone, for keeping many slices of a run.
    pub fn to_sparse(&self) -> Sparse {
        let buckets = self
            .used_counts()
            .map(|(index, count)| (u32::try_from(index).expect("invariant: an index is below LEN"), count));
        Sparse::of(buckets, self.min, self.max, self.sum, self.saturated)
    }

    /// Forgets everything. Touches only the range that was used.
    pub fn clear(&mut self) {
        let range = self.used();
        self.counts[range].fill(0);
        self.total = 0;
        self.sum = 0;
        self.min = u64::MAX;
        self.max = 0;
        self.saturated = 0;
    }

    /// The part of an addition that isn't counts.
    fn add_totals(&mut self, total: u64, sum: u128, min: u64, max: u64, saturated: u64) {
        self.total += total;
        self.sum += sum;
        self.min = self.min.min(min);
        self.max = self.max.max(max);
        self.saturated += saturated;
    }

    /// Sets what a decoder knows better than counting could: the least value and the estimated sum.
    /// `min` must share the bucket of the least value recorded.
    pub(crate) fn correct(&mut self, min: u64, sum: u128) {
        self.min = min;
        self.sum = sum;
    }

    /// The buckets that may be non-empty. The exact extremes already give them: nothing more is tracked
    /// while recording.
    fn used(&self) -> Range<usize> {
        if self.is_empty() { 0..0 } else { clamped_index_of(self.min)..clamped_index_of(self.max) + 1 }
    }

    fn used_counts(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let range = self.used();
        let counts = self.counts[range.clone()].iter().copied();
        range.zip(counts).filter(|&(_, count)| count > 0)
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Clone for Histogram {
    /// Copies the used range only, so that a clone is as cheap in memory as its original.
    fn clone(&self) -> Self {
        let mut copy = Self::new();
        copy.add(self);
        copy
    }
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        (self.total, self.sum, self.saturated) == (other.total, other.sum, other.saturated)
            && (self.min, self.max) == (other.min, other.max)
            && self.used_counts().eq(other.used_counts())
    }
}

impl Eq for Histogram {}

impl fmt::Debug for Histogram {
    /// The summary: 33 792 counts help nobody.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.total)
            .field("min", &self.min())
            .field("p50", &self.value_at_quantile(0.5))
            .field("max", &self.max())
            .field("saturated", &self.saturated)
            .finish_non_exhaustive()
    }
}

impl Extend<u64> for Histogram {
    fn extend<I: IntoIterator<Item = u64>>(&mut self, nanos: I) {
        nanos.into_iter().for_each(|value| self.record(value));
    }
}

impl FromIterator<u64> for Histogram {
    fn from_iter<I: IntoIterator<Item = u64>>(nanos: I) -> Self {
        let mut histogram = Self::new();
        histogram.extend(nanos);
        histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::HIGHEST_TRACKABLE_NANOS;
    use proptest::prelude::*;

    /// Durations of every magnitude, as often 300 ns as 3 s.
    fn nanos() -> impl Strategy<Value = u64> {
        (0_u32..44, any::<u64>()).prop_map(|(bits, noise)| (1 << bits) | (noise & ((1 << bits) - 1)))
    }

    fn check(values: &[u64], q: f64, expected: u64) {
        let histogram: Histogram = values.iter().copied().collect();
        assert_eq!(histogram.value_at_quantile(q), Some(expected), "q = {q} of {values:?}");
    }

    #[test]
    fn quantiles_of_small_samples() {
        check(&[7], 0.0, 7);
        check(&[7], 0.999, 7);
        check(&[1, 2, 3, 4], 0.5, 2);
        check(&[1, 2, 3, 4], 0.51, 3);
        check(&[1, 2, 3, 4], 1.0, 4);
        check(&[0, 0, 5], 0.5, 0);
        // The bucket of 1 000 000 ends at 1 000 447, which nobody measured.
        check(&[1_000_000, 1_000_000], 0.5, 1_000_000);
        check(&[10, u64::MAX], 1.0, u64::MAX);
    }

    #[test]
    fn an_empty_histogram_has_no_numbers() {
        let histogram = Histogram::new();
        assert_eq!((histogram.count(), histogram.min(), histogram.max()), (0, None, None));
        assert_eq!((histogram.mean(), histogram.std_dev()), (None, None));
        assert_eq!(histogram.value_at_quantile(0.5), None);
        assert_eq!((histogram.count_above(0), histogram.buckets().count()), (0, 0));
        assert_eq!(histogram.to_sparse().value_at_quantile(0.5), None);
    }

    #[test]
    fn values_beyond_the_layout_are_counted_and_reported() {
        let histogram: Histogram =
            [5, HIGHEST_TRACKABLE_NANOS, HIGHEST_TRACKABLE_NANOS + 1, u64::MAX].into_iter().collect();
        assert_eq!((histogram.count(), histogram.saturated()), (4, 2));
        assert_eq!(histogram.max(), Some(u64::MAX));
        assert_eq!(histogram.value_at_quantile(0.75), Some(HIGHEST_TRACKABLE_NANOS));
        assert_eq!(histogram.count_above(5), 3);
    }

    /// hey#166: the mean divided the sum of all requests by at most a million of them.
    #[test]
    fn the_mean_is_the_exact_sum_over_the_exact_count() {
        let mut histogram = Histogram::new();
        histogram.record_n(1_000_003, 3_000_000);
        histogram.record(4_000_003);
        assert_eq!(histogram.sum(), 3_000_000 * 1_000_003 + 4_000_003);
        assert_eq!(histogram.mean(), Some(histogram.sum() as f64 / 3_000_001.0));
    }

    #[test]
    fn constant_values_do_not_deviate() {
        let mut histogram = Histogram::new();
        histogram.record_n(2_000_001, 1000);
        assert_eq!(histogram.std_dev(), Some(0.0));
        histogram.clear();
        histogram.extend([2, 4, 4, 4, 5, 5, 7, 9]);
        assert!((histogram.std_dev().unwrap() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
    }

    proptest! {
        /// Fortio#1080: a p50 below the minimum.
        #[test]
        fn quantiles_ascend_from_min_to_max(values in prop::collection::vec(nanos(), 1..200)) {
            let histogram: Histogram = values.iter().copied().collect();
            let (min, max) = (histogram.min().unwrap(), histogram.max().unwrap());
            prop_assert_eq!((Some(&min), Some(&max)), (values.iter().min(), values.iter().max()));
            let (mut before, slice) = (min, histogram.to_sparse());
            prop_assert_eq!(slice.mean(), histogram.mean());
            for q in [0.0, 0.1, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 1.0] {
                let value = histogram.value_at_quantile(q).unwrap();
                prop_assert!(value >= before, "q = {q}");
                prop_assert_eq!(slice.value_at_quantile(q), Some(value));
                before = value;
            }
            prop_assert_eq!(before, max);
            let mean = histogram.mean().unwrap();
            prop_assert!(min as f64 <= mean && mean <= max as f64);
        }

        #[test]
        fn a_quantile_is_the_order_statistic_within_a_thousandth(
            mut values in prop::collection::vec(0..HIGHEST_TRACKABLE_NANOS, 1..200),
            q in 0.0..=1.0,
        ) {
            let histogram: Histogram = values.iter().copied().collect();
            values.sort_unstable();
            let rank = usize::try_from(rank(q, values.len() as u64)).unwrap();
            let (truth, actual) = (values[rank - 1], histogram.value_at_quantile(q).unwrap());
            prop_assert!(actual >= truth, "{actual} < {truth}");
            prop_assert!(actual - truth <= truth / 1024, "{actual} is not {truth}");
            prop_assert!(histogram.count_at_or_below(actual) >= rank as u64);
        }

        #[test]
        fn merging_is_the_same_as_recording_everything_in_one(
            left in prop::collection::vec(nanos(), 0..100),
            right in prop::collection::vec(nanos(), 0..100),
        ) {
            let both: Histogram = left.iter().chain(&right).copied().collect();
            let (left, right): (Histogram, Histogram) = (left.into_iter().collect(), right.into_iter().collect());
            let mut merged = left.clone();
            merged.add(&right);
            prop_assert_eq!(&merged, &both);
            let mut merged = Histogram::new();
            merged.add_sparse(&left.to_sparse());
            merged.add_sparse(&right.to_sparse());
            prop_assert_eq!(&merged, &both);
            merged.clear();
            prop_assert_eq!(&merged, &Histogram::new());
            prop_assert!(merged.counts.iter().all(|&count| count == 0));
        }

        #[test]
        fn recording_n_times_is_recording_once_n_times(value in nanos(), n in 0_u64..50) {
            let once: Histogram = std::iter::repeat_n(value, usize::try_from(n).unwrap()).collect();
            let mut at_once = Histogram::new();
            at_once.record_n(value, n);
            prop_assert_eq!(once, at_once);
        }

        #[test]
        fn buckets_and_counts_add_up(values in prop::collection::vec(nanos(), 1..100), at in nanos()) {
            let histogram: Histogram = values.iter().copied().collect();
            prop_assert_eq!(histogram.buckets().map(|bucket| bucket.count).sum::<u64>(), histogram.count());
            let above: u64 = histogram.buckets().filter(|bucket| bucket.low > at).map(|bucket| bucket.count).sum();
            prop_assert_eq!(histogram.count_above(at), if at >= histogram.max().unwrap() { 0 } else { above });
            prop_assert_eq!(histogram.to_sparse().count_above(at), histogram.count_above(at));
        }
    }
}
