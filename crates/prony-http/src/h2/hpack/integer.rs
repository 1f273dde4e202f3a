//! Integers with a prefix (RFC 7541 section 5.1).

use crate::h2::error::HpackError;

/// Bytes behind the prefix that are read; with them a value has 28 bits, far beyond any limit of ours.
const FURTHER_BYTES_MAX: usize = 4;

/// Reads an integer whose prefix is the low `prefix_bits` of the first byte. Takes it off `block`.
#[inline]
pub(crate) fn read(block: &mut &[u8], prefix_bits: u8) -> Result<usize, HpackError> {
    let (first, mut rest) = block.split_first().ok_or(HpackError::Truncated)?;
    let mask = (1_u16 << prefix_bits) - 1;
    let mut value = usize::from(u16::from(*first) & mask);
    if value == usize::from(mask) {
        let mut shift = 0;
        loop {
            let (byte, further) = rest.split_first().ok_or(HpackError::Truncated)?;
            if shift == 7 * FURTHER_BYTES_MAX {
                return Err(HpackError::Integer);
            }
            rest = further;
            value += usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
    }
    *block = rest;
    Ok(value)
}

/// Appends `value` with `flags` above its prefix.
pub(crate) fn write(out: &mut Vec<u8>, flags: u8, prefix_bits: u8, mut value: usize) {
    let byte = |value: usize| u8::try_from(value).expect("invariant: at most eight bits are left");
    let mask = (1_usize << prefix_bits) - 1;
    if value < mask {
        out.push(flags | byte(value));
        return;
    }
    out.push(flags | byte(mask));
    value -= mask;
    while value >= 0x80 {
        out.push(byte(value & 0x7f) | 0x80);
        value >>= 7;
    }
    out.push(byte(value));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7541 appendix C.1, and more.
    #[test]
    fn integers() {
        let check = |value: usize, prefix_bits: u8, bytes: &[u8]| {
            let mut out = Vec::new();
            write(&mut out, 0, prefix_bits, value);
            assert_eq!(out, bytes);
            let mut block = bytes;
            assert_eq!((read(&mut block, prefix_bits), block), (Ok(value), &[][..]));
        };
        check(10, 5, &[0b01010]);
        check(1337, 5, &[0b11111, 0b1001_1010, 0b0000_1010]);
        check(42, 8, &[0b0010_1010]);
        check(31, 5, &[31, 0]);
        check(127, 7, &[127, 0]);
        check(126, 7, &[126]);
        check((1 << 28) - 1 + 15, 4, &[15, 0xff, 0xff, 0xff, 0x7f]);
    }

    #[test]
    fn what_is_cut_or_too_large_is_refused() {
        let check = |bytes: &[u8], error: HpackError| assert_eq!(read(&mut &*bytes, 5), Err(error));
        check(&[], HpackError::Truncated);
        check(&[31], HpackError::Truncated);
        check(&[31, 0x80, 0x80], HpackError::Truncated);
        check(&[31, 0x80, 0x80, 0x80, 0x80, 0], HpackError::Integer);
        check(&[31, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], HpackError::Integer);
    }
}
