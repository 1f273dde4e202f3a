//! The same counts without the empty buckets: one slice of a run in a few kilobytes.
//!
//! Buckets are packed as pairs of LEB128 numbers, the distance from the bucket before and the count: two or
//! three bytes for most, where a pair of plain numbers takes sixteen. A run keeps hundreds of slices.

use crate::layout::{LEN, clamped_index_of, highest_of};
use crate::quantile::rank;

/// The non-empty buckets of a [`Histogram`](crate::Histogram) with its exact minimum, maximum and sum.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sparse {
    packed: Box<[u8]>,
    total: u64,
    sum: u128,
    min: u64,
    max: u64,
    saturated: u64,
}

/// Why parts read from elsewhere are not a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SparseError {
    /// A bucket that the layout doesn't have.
    #[error("use bucket {index}: the layout ends at {}", LEN - 1)]
    Index {
        /// The index given.
        index: u32,
    },
    /// Buckets that are not in strictly ascending order.
    #[error("use bucket {index} twice or out of order")]
    Order {
        /// The index that is not above its predecessor.
        index: u32,
    },
    /// A bucket without a value.
    #[error("use bucket {index} with a count of 0")]
    Empty {
        /// The index with no count.
        index: u32,
    },
    /// Counts whose total exceeds `u64`.
    #[error("add up the counts: they exceed 2^64")]
    Overflow,
    /// A minimum or maximum outside the first or last bucket.
    #[error("match min {min} and max {max} with the first and last bucket")]
    Extremes {
        /// The minimum given, in nanoseconds.
        min: u64,
        /// The maximum given, in nanoseconds.
        max: u64,
    },
    /// More saturated values than the last bucket holds.
    #[error("place {saturated} saturated values: the last bucket holds fewer")]
    Saturated {
        /// The number given.
        saturated: u64,
    },
}

impl Sparse {
    /// Puts a slice together from parts that came over a wire or from a file: `(bucket, count)` in
    /// ascending order, exact extremes and sum in nanoseconds. With no buckets the rest is ignored.
    ///
    /// The sum is taken as it is: nothing here can contradict it.
    pub fn from_parts(
        buckets: Vec<(u32, u64)>,
        min: u64,
        max: u64,
        sum: u128,
        saturated: u64,
    ) -> Result<Self, SparseError> {
        let mut total = 0_u64;
        let mut previous = None;
        for &(index, count) in &buckets {
            if index as usize >= LEN {
                return Err(SparseError::Index { index });
            }
            if previous.is_some_and(|before| index <= before) {
                return Err(SparseError::Order { index });
            }
            if count == 0 {
                return Err(SparseError::Empty { index });
            }
            total = total.checked_add(count).ok_or(SparseError::Overflow)?;
            previous = Some(index);
        }
        let (Some(&(first, _)), Some(&(last, in_last))) = (buckets.first(), buckets.last()) else {
            return Ok(Self::default());
        };
        let ends = (clamped_index_of(min), clamped_index_of(max));
        if min > max || ends != (first as usize, last as usize) {
            return Err(SparseError::Extremes { min, max });
        }
        if saturated > 0 && (last as usize != LEN - 1 || saturated > in_last) {
            return Err(SparseError::Saturated { saturated });
        }
        Ok(Self::of(buckets.into_iter(), min, max, sum, saturated))
    }

    /// The parts of a histogram of ours, which need no checking.
    pub(crate) fn of(
        buckets: impl Iterator<Item = (u32, u64)>,
        min: u64,
        max: u64,
        sum: u128,
        saturated: u64,
    ) -> Self {
        let (mut packed, mut total, mut next) = (Vec::new(), 0, 0);
        for (index, count) in buckets {
            pack(&mut packed, u64::from(index - next));
            pack(&mut packed, count);
            next = index + 1;
            total += count;
        }
        if total == 0 {
            return Self::default();
        }
        Self { packed: packed.into_boxed_slice(), total, sum, min, max, saturated }
    }

    /// `(bucket, count)` in ascending order of bucket, no count 0.
    pub fn buckets(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let (mut rest, mut next) = (&self.packed[..], 0);
        std::iter::from_fn(move || {
            let distance = unpack(&mut rest)?;
            let index = next + u32::try_from(distance).expect("invariant: an index is below LEN");
            next = index + 1;
            Some((index, unpack(&mut rest)?))
        })
    }

    /// How many values the slice holds.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Whether the slice holds no value.
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

    /// The sum of all values in nanoseconds, exact.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// How many values were above the layout's end.
    pub fn saturated(&self) -> u64 {
        self.saturated
    }

    /// The mean in nanoseconds, as [`Histogram::mean`](crate::Histogram::mean); `None` when empty.
    pub fn mean(&self) -> Option<f64> {
        let mean = self.sum as f64 / self.total as f64;
        (!self.is_empty()).then(|| mean.clamp(self.min as f64, self.max as f64))
    }

    /// The value at quantile `q` in nanoseconds, exactly as
    /// [`Histogram::value_at_quantile`](crate::Histogram::value_at_quantile) reports it; `None` when empty.
    pub fn value_at_quantile(&self, q: f64) -> Option<u64> {
        let rank = rank(q, self.total);
        if rank == self.total {
            return self.max();
        }
        let mut seen = 0;
        let bucket = self.buckets().find(|(_, count)| {
            seen += count;
            seen >= rank
        });
        bucket.map(|(index, _)| highest_of(index as usize).clamp(self.min, self.max))
    }

    /// How many values are above `nanos`, to the resolution of a bucket, as
    /// [`Histogram::count_above`](crate::Histogram::count_above) counts them.
    pub fn count_above(&self, nanos: u64) -> u64 {
        if nanos >= self.max {
            return 0;
        }
        let last_below = clamped_index_of(nanos);
        let above = self.buckets().filter(|&(index, _)| index as usize > last_below);
        above.map(|(_, count)| count).sum()
    }
}

/// Appends `number` in groups of seven bits, the least first; all but the last have the top bit set.
fn pack(packed: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        packed.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    packed.push(number.to_le_bytes()[0]);
}

/// Takes a number off the front; `None` at the end.
fn unpack(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = *rest.split_off_first()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Histogram;

    fn check(buckets: &[(u32, u64)], min: u64, max: u64, saturated: u64, expected: Result<u64, SparseError>) {
        let parts = Sparse::from_parts(buckets.to_vec(), min, max, 0, saturated);
        assert_eq!(parts.map(|sparse| sparse.count()), expected, "{buckets:?}");
    }

    #[test]
    fn parts_are_checked() {
        let last = u32::try_from(LEN - 1).unwrap();
        check(&[], 3, 9, 1, Ok(0));
        check(&[(3, 2), (9, 1)], 3, 9, 0, Ok(3));
        check(&[(last + 1, 1)], 3, 9, 0, Err(SparseError::Index { index: last + 1 }));
        check(&[(9, 1), (3, 1)], 3, 9, 0, Err(SparseError::Order { index: 3 }));
        check(&[(3, 1), (9, 0)], 3, 9, 0, Err(SparseError::Empty { index: 9 }));
        check(&[(3, u64::MAX), (9, 1)], 3, 9, 0, Err(SparseError::Overflow));
        check(&[(3, 2), (9, 1)], 3, 10, 0, Err(SparseError::Extremes { min: 3, max: 10 }));
        check(&[(3, 2), (last, 1)], 3, u64::MAX, 2, Err(SparseError::Saturated { saturated: 2 }));
        check(&[(3, 2), (last, 1)], 3, u64::MAX, 1, Ok(3));
    }

    #[test]
    fn parts_of_a_histogram_pass_the_check() {
        let mut histogram: Histogram = [0, 1_000_000, u64::MAX].into_iter().collect();
        histogram.record_n(77, 1 << 60);
        let sparse = histogram.to_sparse();
        let (min, max) = (sparse.min().unwrap(), sparse.max().unwrap());
        let again =
            Sparse::from_parts(sparse.buckets().collect(), min, max, sparse.sum(), sparse.saturated());
        assert_eq!(again, Ok(sparse));
    }
}
