//! Field blocks that leave the server's table alone, for requests that differ: such a block is the same on any connection,
//! whatever was sent there before. What is constant in it is written once; a name can be, apart from its value.
//!
//! Names must be tokens in lower case, and values without CR, LF and NUL: anyone who writes them has checked that.

use crate::h2::hpack::encoder::{write_literal_name, write_string};
use crate::h2::hpack::{integer, static_table};

/// Appends a field: one byte where the static table has it.
pub fn write_field(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    let exact = str::from_utf8(value).ok().and_then(|value| static_table::find(name, value).0);
    if let Some(index) = exact {
        return integer::write(out, 0x80, 7, index);
    }
    write_name(out, name);
    write_value(out, value);
}

/// Appends a name, whose value has to follow.
pub fn write_name(out: &mut Vec<u8>, name: &str) {
    write_literal_name(out, 0, 4, name);
}

/// Appends the value of the name before, without the white space around it (RFC 9113 section 8.2.1).
#[inline]
pub fn write_value(out: &mut Vec<u8>, value: &[u8]) {
    write_string(out, value.trim_ascii());
}

/// Appends the value of the name before byte for byte, so that it can be overwritten by another one of its length.
pub fn write_literal_value(out: &mut Vec<u8>, value: &[u8]) {
    integer::write(out, 0, 7, value.len());
    out.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::h2::for_tests::BlockDecoder;

    #[test]
    fn fields_are_read_as_they_were_written_and_leave_the_table_alone() {
        let fields: [(&str, &[u8]); 7] = [
            (":method", b"GET"),
            (":path", b"/a?b=c"),
            ("accept", b"*/*"),
            ("cookie", b"a=\xff\x80"),
            ("x-long", &[b'~'; 300]),
            ("x-empty", b""),
            ("accept-encoding", b"gzip, deflate"),
        ];
        let mut block = Vec::new();
        for (name, value) in fields {
            write_field(&mut block, name, value);
        }
        assert_eq!(block[0], 0x82, "the static table has it");
        let mut decoder = BlockDecoder::new(1 << 20, 1000);
        for _ in 0..2 {
            let found = decoder.decode(&block).unwrap();
            let found: Vec<_> = found.iter().map(|(name, value)| (&name[..], &value[..])).collect();
            assert_eq!(found, fields.map(|(name, value)| (name.as_bytes(), value)));
        }
        assert!(decoder.decode(&[0xbe]).is_err(), "nothing was added");
    }

    #[test]
    fn a_literal_value_can_be_overwritten() {
        let mut block = Vec::new();
        write_name(&mut block, "traceparent");
        write_literal_value(&mut block, b"00000000");
        let from = block.len() - 8;
        block[from..].copy_from_slice(b"a1b2c3d4");
        let found = BlockDecoder::new(1 << 20, 1000).decode(&block).unwrap();
        assert_eq!(found, [(b"traceparent".to_vec(), b"a1b2c3d4".to_vec())]);
    }

    #[test]
    fn white_space_around_a_value_is_no_part_of_it() {
        let (mut block, mut trimmed) = (Vec::new(), Vec::new());
        write_field(&mut block, "x-a", b" \t1 2\t ");
        write_field(&mut trimmed, "x-a", b"1 2");
        assert_eq!(block, trimmed);
    }
}
