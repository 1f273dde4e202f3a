//! HdrHistogram's compressed V2 encoding, so that other tools can read our histograms and we theirs.
//!
//! Written here, on top of a zlib crate, and not taken from the `hdrhistogram` crate: that decoder
//! allocates what the header asks for (up to 4 GiB) and overflows on a hostile zero count. The tests
//! hold this codec to that crate's in both directions.
//!
//! Source of the format: HdrHistogram `AbstractHistogram.java`, `encodeIntoByteBuffer` and
//! `encodeIntoCompressedByteBuffer`, and `ZigZagEncoding.java`. All header fields are big-endian:
//!
//! | outer | inner (inflated) |
//! |---|---|
//! | cookie 0x1c849314, length u32, zlib stream | cookie 0x1c849313, payload length u32, normalizing offset u32 (0), digits u32, lowest u64, highest u64, ratio f64 (1.0), counts |
//!
//! A count is a ZigZag LEB128 number of at most 9 bytes; a negative one skips that many empty buckets.

use crate::histogram::Histogram;
use crate::layout::{DECLARED_HIGHEST_NANOS, SIGNIFICANT_DIGITS, clamped_index_of, index_of, lowest_of};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::read::{ZlibDecoder, ZlibEncoder};
use std::io::Read;

const OUTER_COOKIE: u32 = 0x1c84_9304 | 0x10;
const INNER_COOKIE: u32 = 0x1c84_9303 | 0x10;
const HEADER_BYTES: usize = 40;

/// Most bytes a histogram may inflate to. Our own layout needs at most 33 792 counts of 9 bytes, any
/// other with 3 digits 507 kB; what exceeds 4 MiB was made to exhaust us.
const INFLATED_BYTES_LIMIT: u64 = 4 << 20;

/// Why bytes are not a histogram.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The text is not base64.
    #[error("read the histogram as base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// The bytes end before the header or the counts do.
    #[error("read the histogram: it is cut short")]
    CutShort,
    /// The first bytes are not those of a compressed V2 histogram.
    #[error("read the histogram: cookie {0:#010x} is not compressed V2")]
    Cookie(u32),
    /// The zlib stream is damaged.
    #[error("inflate the histogram: {0}")]
    Inflate(String),
    /// The stream inflates to more than any histogram we accept.
    #[error("inflate the histogram: more than {INFLATED_BYTES_LIMIT} bytes")]
    TooLong,
    /// A header field that no layout has, or that we don't support.
    #[error("read the histogram's header: {field} is {value}")]
    Header {
        /// The field of the header.
        field: &'static str,
        /// Its value as given.
        value: String,
    },
    /// Counts that reach beyond what 64-bit values can hold, or that add up to more than 2^64.
    #[error("read the histogram's counts: they exceed 64 bits")]
    Counts,
}

impl Histogram {
    /// The histogram as base64 of [`to_v2_deflate`](Self::to_v2_deflate): a field of an `.hlog` line.
    pub fn to_base64_v2(&self) -> String {
        BASE64.encode(self.to_v2_deflate())
    }

    /// The histogram in HdrHistogram's compressed V2 encoding. Lossless for counts; the exact minimum,
    /// maximum, sum and the number of saturated values are not part of the format.
    pub fn to_v2_deflate(&self) -> Vec<u8> {
        let counts = encode_counts(self);
        let mut inner = Vec::with_capacity(HEADER_BYTES + counts.len());
        inner.extend(INNER_COOKIE.to_be_bytes());
        inner.extend(length(&counts).to_be_bytes());
        inner.extend(0_u32.to_be_bytes());
        inner.extend(u32::from(SIGNIFICANT_DIGITS).to_be_bytes());
        inner.extend(1_u64.to_be_bytes());
        inner.extend(DECLARED_HIGHEST_NANOS.to_be_bytes());
        inner.extend(1.0_f64.to_be_bytes());
        inner.extend(counts);

        let mut deflated = Vec::new();
        ZlibEncoder::new(inner.as_slice(), Compression::default())
            .read_to_end(&mut deflated)
            .expect("invariant: reading from memory does not fail");
        let mut outer = Vec::with_capacity(8 + deflated.len());
        outer.extend(OUTER_COOKIE.to_be_bytes());
        outer.extend(length(&deflated).to_be_bytes());
        outer.extend(deflated);
        outer
    }

    /// Decodes [`to_base64_v2`](Self::to_base64_v2).
    pub fn from_base64_v2(text: &str) -> Result<Self, DecodeError> {
        Self::from_v2_deflate(&BASE64.decode(text.trim_ascii())?)
    }

    /// Makes this histogram the one of [`from_base64_v2`](Self::from_base64_v2), in the memory that it has; empty after
    /// an error. For anyone who decodes many.
    pub fn read_base64_v2(&mut self, text: &str) -> Result<(), DecodeError> {
        self.clear();
        let read = BASE64.decode(text.trim_ascii()).map_err(DecodeError::from);
        let read = read.and_then(|bytes| read_v2_deflate(self, &bytes));
        if read.is_err() {
            self.clear();
        }
        read
    }

    /// Decodes HdrHistogram's compressed V2 encoding of any layout; values are taken as nanoseconds.
    ///
    /// Counts and quantiles are as they were. The minimum and the maximum are those of their buckets, and
    /// the sum is an estimate with each value at the middle of its bucket (within 0.05 % for 3 digits).
    /// Buckets of coarser layouts are counted at their greatest value, so that quantiles stay what the other
    /// tool printed.
    pub fn from_v2_deflate(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut histogram = Self::new();
        read_v2_deflate(&mut histogram, bytes)?;
        Ok(histogram)
    }
}

/// Adds what `bytes` hold to `histogram`, which is empty; after an error it may have some of it.
fn read_v2_deflate(histogram: &mut Histogram, bytes: &[u8]) -> Result<(), DecodeError> {
    let mut fields = Fields(bytes);
    expect_cookie(fields.u32()?, OUTER_COOKIE)?;
    let deflated_length = fields_length(fields.u32()?)?;
    let deflated = fields.bytes(deflated_length)?;
    let mut inner = Vec::new();
    ZlibDecoder::new(deflated)
        .take(INFLATED_BYTES_LIMIT + 1)
        .read_to_end(&mut inner)
        .map_err(|error| DecodeError::Inflate(error.to_string()))?;
    if inner.len() as u64 > INFLATED_BYTES_LIMIT {
        return Err(DecodeError::TooLong);
    }
    let mut fields = Fields(&inner);
    expect_cookie(fields.u32()?, INNER_COOKIE)?;
    let payload = fields_length(fields.u32()?)?;
    let layout = ForeignLayout::read(&mut fields)?;
    decode_counts(fields.bytes(payload)?, layout, histogram)
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).expect("invariant: a histogram encodes to less than 4 GiB")
}

fn fields_length(length: u32) -> Result<usize, DecodeError> {
    usize::try_from(length).map_err(|_| DecodeError::CutShort)
}

fn expect_cookie(found: u32, wanted: u32) -> Result<(), DecodeError> {
    if found == wanted { Ok(()) } else { Err(DecodeError::Cookie(found)) }
}

fn encode_counts(histogram: &Histogram) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut next = 0;
    for bucket in histogram.buckets() {
        let index = index_of(bucket.low);
        match i64::try_from(index - next).expect("invariant: an index is below LEN") {
            0 => {}
            1 => write_number(0, &mut bytes),
            gap => write_number(-gap, &mut bytes),
        }
        let count = i64::try_from(bucket.count).expect("invariant: nobody lives to record 2^63 values");
        write_number(count, &mut bytes);
        next = index + 1;
    }
    bytes
}

fn decode_counts(
    mut bytes: &[u8],
    layout: ForeignLayout,
    histogram: &mut Histogram,
) -> Result<(), DecodeError> {
    let (mut index, mut min, mut total, mut sum) = (0_u64, None, 0_u64, 0_u128);
    while !bytes.is_empty() {
        let number = read_number(&mut bytes)?;
        let Ok(count) = u64::try_from(number) else {
            index = index.checked_add(number.unsigned_abs()).ok_or(DecodeError::Counts)?;
            continue;
        };
        if count > 0 {
            let (low, high) = layout.bounds(index).ok_or(DecodeError::Counts)?;
            total = total.checked_add(count).ok_or(DecodeError::Counts)?;
            // A coarser bucket spans several of ours: all of it goes where its greatest value is.
            let low = low.max(lowest_of(clamped_index_of(high)));
            let term = u128::from(low.midpoint(high)) * u128::from(count);
            sum = sum.checked_add(term).ok_or(DecodeError::Counts)?;
            min.get_or_insert(low);
            histogram.record_n(high, count);
        }
        index = index.checked_add(1).ok_or(DecodeError::Counts)?;
    }
    if let Some(min) = min {
        histogram.correct(min, sum);
    }
    Ok(())
}

/// The bucket layout that a header declares: 2^`half_bits` buckets per power of two, in units of
/// 2^`unit_bits`.
#[derive(Clone, Copy)]
struct ForeignLayout {
    unit_bits: u32,
    half_bits: u32,
}

impl ForeignLayout {
    /// Reads and checks the header behind the payload length.
    fn read(fields: &mut Fields<'_>) -> Result<Self, DecodeError> {
        let refuse =
            |field, value: &dyn std::fmt::Display| DecodeError::Header { field, value: value.to_string() };
        let (offset, digits) = (fields.u32()?, fields.u32()?);
        let (lowest, highest, ratio) = (fields.u64()?, fields.u64()?, f64::from_bits(fields.u64()?));
        if offset != 0 {
            return Err(refuse("the normalizing offset", &offset));
        }
        if !(1..=5).contains(&digits) {
            return Err(refuse("the number of digits", &digits));
        }
        if lowest == 0 {
            return Err(refuse("the lowest value", &lowest));
        }
        if highest / 2 < lowest {
            return Err(refuse("the highest value", &highest));
        }
        if ratio.to_bits() != 1.0_f64.to_bits() {
            return Err(refuse("the conversion ratio", &ratio));
        }
        // 2^half_bits is the least power of two >= 10^digits.
        let half_bits = 10_u32.pow(digits).next_power_of_two().trailing_zeros();
        Ok(Self { unit_bits: lowest.ilog2(), half_bits })
    }

    /// The least and greatest value of bucket `index`; `None` beyond 64 bits.
    fn bounds(self, index: u64) -> Option<(u64, u64)> {
        let power = u32::try_from(index >> self.half_bits).ok()?;
        let within = index & ((1 << self.half_bits) - 1);
        let (sub, shift) = if power == 0 { (within, 0) } else { (within + (1 << self.half_bits), power - 1) };
        let shift = shift.checked_add(self.unit_bits)?;
        if shift + self.half_bits >= u64::BITS {
            return None;
        }
        let low = sub << shift;
        Some((low, low + ((1 << shift) - 1)))
    }
}

/// Bytes not read yet.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn bytes(&mut self, n: usize) -> Result<&'a [u8], DecodeError> {
        let (head, rest) = self.0.split_at_checked(n).ok_or(DecodeError::CutShort)?;
        self.0 = rest;
        Ok(head)
    }

    fn u32(&mut self) -> Result<u32, DecodeError> {
        let bytes = self.bytes(4)?.try_into().expect("invariant: four bytes were asked for");
        Ok(u32::from_be_bytes(bytes))
    }

    fn u64(&mut self) -> Result<u64, DecodeError> {
        let bytes = self.bytes(8)?.try_into().expect("invariant: eight bytes were asked for");
        Ok(u64::from_be_bytes(bytes))
    }
}

/// Seven bits a byte, low ones first; the ninth byte carries eight.
fn write_number(number: i64, bytes: &mut Vec<u8>) {
    let mut rest = (number.cast_unsigned() << 1) ^ (number >> 63).cast_unsigned();
    for _ in 0..8 {
        let [low, ..] = rest.to_le_bytes();
        if rest < 0x80 {
            return bytes.push(low);
        }
        bytes.push(low | 0x80);
        rest >>= 7;
    }
    let [low, ..] = rest.to_le_bytes();
    bytes.push(low);
}

fn read_number(bytes: &mut &[u8]) -> Result<i64, DecodeError> {
    let mut zigzag = 0_u64;
    for position in 0..9 {
        let (&byte, rest) = bytes.split_first().ok_or(DecodeError::CutShort)?;
        *bytes = rest;
        let is_last = position == 8 || byte < 0x80;
        let bits = if position == 8 { byte } else { byte & 0x7f };
        zigzag |= u64::from(bits) << (7 * position);
        if is_last {
            break;
        }
    }
    Ok((zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantile::Quantile;
    use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
    use proptest::prelude::*;

    type Theirs = hdrhistogram::Histogram<u64>;

    fn theirs(values: &[u64], highest: u64, digits: u8) -> Theirs {
        let mut histogram = Theirs::new_with_bounds(1, highest, digits).unwrap();
        for &value in values {
            histogram.record(value).unwrap();
        }
        histogram
    }

    fn values() -> impl Strategy<Value = Vec<u64>> {
        let value =
            (0_u32..41, any::<u64>()).prop_map(|(bits, noise)| (1 << bits) | (noise & ((1 << bits) - 1)));
        prop::collection::vec(prop_oneof![Just(0), value], 1..200)
    }

    proptest! {
        #[test]
        fn quantiles_are_those_of_hdrhistogram(values in values(), q in 0.000_001..1.0) {
            let ours: Histogram = values.iter().copied().collect();
            let theirs = theirs(&values, DECLARED_HIGHEST_NANOS, 3);
            let standard = Quantile::STANDARD.map(Quantile::value);
            for q in standard.into_iter().chain([q, 1.0]) {
                // Theirs is not clamped to the exact maximum.
                let expected = theirs.value_at_quantile(q).min(ours.max().unwrap());
                prop_assert_eq!(ours.value_at_quantile(q), Some(expected), "q = {}", q);
            }
        }

        #[test]
        fn they_read_what_we_write(values in values()) {
            let ours: Histogram = values.iter().copied().collect();
            let read: Theirs = Deserializer::new().deserialize(&mut ours.to_v2_deflate().as_slice()).unwrap();
            prop_assert_eq!(read, theirs(&values, DECLARED_HIGHEST_NANOS, 3));
        }

        #[test]
        fn we_read_what_they_write(values in values(), digits in 1_u8..=5, highest in (1_u64 << 42)..u64::MAX) {
            let theirs = theirs(&values, highest, digits);
            let mut bytes = Vec::new();
            V2DeflateSerializer::new().serialize(&theirs, &mut bytes).unwrap();
            let ours = Histogram::from_v2_deflate(&bytes).unwrap();
            prop_assert_eq!(ours.count(), theirs.len());
            let mean_of_middles = theirs.mean();
            let precision = 0.1_f64.powi(i32::from(digits.min(3)));
            prop_assert!((ours.mean().unwrap() - mean_of_middles).abs() <= mean_of_middles * precision + 1.0);
            for q in Quantile::STANDARD.map(Quantile::value) {
                let (actual, expected) = (ours.value_at_quantile(q).unwrap(), theirs.value_at_quantile(q));
                prop_assert!(actual.abs_diff(expected) <= expected / 1024, "{q}: {actual} {expected}");
            }
            let slice = ours.to_sparse();
            let (min, max) = (slice.min().unwrap(), slice.max().unwrap());
            let again = crate::Sparse::from_parts(slice.buckets().collect(), min, max, slice.sum(), slice.saturated());
            prop_assert_eq!(again, Ok(slice));
        }

        #[test]
        fn a_round_trip_keeps_counts_and_quantiles(values in values()) {
            let ours: Histogram = values.iter().copied().collect();
            let again = Histogram::from_base64_v2(&ours.to_base64_v2()).unwrap();
            prop_assert!(again.buckets().eq(ours.buckets()));
            prop_assert_eq!(again.to_v2_deflate(), ours.to_v2_deflate());
            let mut used: Histogram = [1, u64::MAX].into_iter().collect();
            used.read_base64_v2(&ours.to_base64_v2()).unwrap();
            prop_assert_eq!(&used, &again);
            prop_assert!(used.read_base64_v2("AAAA").is_err() && used.is_empty());
        }

        #[test]
        fn damaged_bytes_are_errors_or_histograms_and_never_panics(
            values in values(),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
            counts in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let ours: Histogram = values.into_iter().collect();
            let mut bytes = ours.to_v2_deflate();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = Histogram::from_v2_deflate(&bytes);
            let _ = Histogram::from_v2_deflate(&bytes[..at]);
            let _ = decode_counts(&counts, ForeignLayout { unit_bits: 3, half_bits: 10 }, &mut Histogram::new());
        }

        #[test]
        fn numbers_survive(number in any::<i64>()) {
            let mut bytes = Vec::new();
            write_number(number, &mut bytes);
            let mut rest = bytes.as_slice();
            prop_assert_eq!(read_number(&mut rest), Ok(number));
            prop_assert!(rest.is_empty() && bytes.len() <= 9);
        }
    }

    /// A file with the given header and counts.
    fn file(digits: u32, lowest: u64, highest: u64, counts: &[u8]) -> Vec<u8> {
        let mut inner = INNER_COOKIE.to_be_bytes().to_vec();
        inner.extend(length(counts).to_be_bytes());
        inner.extend([0; 4]);
        inner.extend(digits.to_be_bytes());
        inner.extend(lowest.to_be_bytes());
        inner.extend(highest.to_be_bytes());
        inner.extend(1.0_f64.to_be_bytes());
        inner.extend(counts);
        let mut deflated = Vec::new();
        ZlibEncoder::new(inner.as_slice(), Compression::best()).read_to_end(&mut deflated).unwrap();
        [OUTER_COOKIE.to_be_bytes().to_vec(), length(&deflated).to_be_bytes().to_vec(), deflated].concat()
    }

    fn check(bytes: &[u8], expected: &Result<u64, DecodeError>) {
        assert_eq!(&Histogram::from_v2_deflate(bytes).map(|histogram| histogram.count()), expected);
    }

    #[test]
    fn headers_are_checked_before_anything_is_believed() {
        let refused = |field, value: u64| Err(DecodeError::Header { field, value: value.to_string() });
        check(&[], &Err(DecodeError::CutShort));
        check(&[0; 8], &Err(DecodeError::Cookie(0)));
        check(&file(3, 1, 1000, &[2]), &Ok(1));
        check(&file(0, 1, 1000, &[]), &refused("the number of digits", 0));
        check(&file(6, 1, 1000, &[]), &refused("the number of digits", 6));
        check(&file(3, 0, 1000, &[]), &refused("the lowest value", 0));
        check(&file(3, 501, 1000, &[]), &refused("the highest value", 1000));
        // −2^63 empty buckets, then one value: what overflows in other decoders.
        check(
            &file(3, 1, 1000, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]),
            &Err(DecodeError::Counts),
        );
        check(&file(3, 1, 1000, &vec![0; 5 << 20]), &Err(DecodeError::TooLong));
        assert!(matches!(Histogram::from_base64_v2("*"), Err(DecodeError::Base64(_))));
    }
}
