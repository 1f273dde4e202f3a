//! Which bucket a value falls into: HdrHistogram's layout for lowest = 1, highest = 1 h in
//! nanoseconds and 3 significant digits, as plain arithmetic on constants.
//!
//! The layout (Tene, HdrHistogram `AbstractHistogram.java`): values up to 2047 have a bucket each;
//! above that every power of two is cut into 1024 equal buckets, so that a bucket is never wider
//! than 1/1024 of the values in it. Keeping to it bucket for bucket makes the V2 encoding lossless
//! and lets a test demand equality with the `hdrhistogram` crate.

/// Decimal digits that survive recording: a reported value is at most 0.1 % above the recorded one.
pub const SIGNIFICANT_DIGITS: u8 = 3;

/// What the V2 header declares as the highest value: one hour.
pub(crate) const DECLARED_HIGHEST_NANOS: u64 = 3_600_000_000_000;

/// Bits of the sub-bucket index: 2^11 = 2048 is the least power of two >= 2·10^3.
const SUB_BUCKET_BITS: u32 = 11;

/// The linear part below which each value has a bucket of its own, less one.
const SUB_BUCKET_MASK: u64 = (1 << SUB_BUCKET_BITS) - 1;

/// Buckets per power of two above the linear part.
const SUB_BUCKET_HALF_BITS: u32 = SUB_BUCKET_BITS - 1;

/// Powers of two needed so that the last one reaches `DECLARED_HIGHEST_NANOS` (2^41 < 3.6e12 < 2^42):
/// one linear part of 2^11 and 31 doublings.
const POWERS: usize = 32;

/// How many counts a histogram holds: 270 KiB of `u64`.
pub(crate) const LEN: usize = (POWERS + 1) << SUB_BUCKET_HALF_BITS;

/// The greatest value with a bucket of its own, about 73 minutes in nanoseconds (2^42 − 1): where the
/// power of two that holds one hour ends. Greater values are counted in the last bucket.
pub const HIGHEST_TRACKABLE_NANOS: u64 = (1 << 42) - 1;

/// The bucket of `nanos`, which is `LEN` or more for values above [`HIGHEST_TRACKABLE_NANOS`].
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "at most (53 << 10) + 2047 by construction")]
pub(crate) const fn index_of(nanos: u64) -> usize {
    let shift = (u64::BITS - SUB_BUCKET_BITS) - (nanos | SUB_BUCKET_MASK).leading_zeros();
    ((shift as usize) << SUB_BUCKET_HALF_BITS) + (nanos >> shift) as usize
}

/// The bucket of `nanos`, values beyond the layout in the last one.
#[inline]
pub(crate) const fn clamped_index_of(nanos: u64) -> usize {
    let index = index_of(nanos);
    if index < LEN { index } else { LEN - 1 }
}

/// The least value of bucket `index`.
pub(crate) const fn lowest_of(index: usize) -> u64 {
    let (sub, shift) = split(index);
    sub << shift
}

/// The greatest value of bucket `index`: what HdrHistogram calls the highest equivalent value.
pub(crate) const fn highest_of(index: usize) -> u64 {
    let (sub, shift) = split(index);
    (sub << shift) + ((1 << shift) - 1)
}

/// Undoes [`index_of`]: the value's top bits and how far they were shifted.
const fn split(index: usize) -> (u64, u32) {
    let power = index >> SUB_BUCKET_HALF_BITS;
    if power == 0 {
        return (index as u64, 0);
    }
    #[expect(clippy::cast_possible_truncation, reason = "an index below LEN has a power below 33")]
    let shift = power as u32 - 1;
    let within = index & ((1 << SUB_BUCKET_HALF_BITS) - 1);
    ((within + (1 << SUB_BUCKET_HALF_BITS)) as u64, shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(nanos: u64, index: usize, lowest: u64, highest: u64) {
        assert_eq!(index_of(nanos), index, "index of {nanos}");
        assert_eq!((lowest_of(index), highest_of(index)), (lowest, highest), "bounds of {index}");
    }

    #[test]
    fn buckets_double_every_1024() {
        check(0, 0, 0, 0);
        check(1, 1, 1, 1);
        check(2047, 2047, 2047, 2047);
        check(2048, 2048, 2048, 2049);
        check(2049, 2048, 2048, 2049);
        check(4095, 3071, 4094, 4095);
        check(4096, 3072, 4096, 4099);
        check(
            HIGHEST_TRACKABLE_NANOS,
            LEN - 1,
            HIGHEST_TRACKABLE_NANOS - (1 << 31) + 1,
            HIGHEST_TRACKABLE_NANOS,
        );
        assert_eq!(index_of(HIGHEST_TRACKABLE_NANOS + 1), LEN);
        assert_eq!(clamped_index_of(u64::MAX), LEN - 1);
        assert!(index_of(DECLARED_HIGHEST_NANOS) < LEN);
    }

    #[test]
    fn buckets_tile_the_range_without_gap_or_overlap() {
        assert_eq!(lowest_of(0), 0);
        for index in 1..LEN {
            assert_eq!(lowest_of(index), highest_of(index - 1) + 1, "bucket {index}");
            assert_eq!(index_of(lowest_of(index)), index);
            assert_eq!(index_of(highest_of(index)), index);
        }
    }
}
