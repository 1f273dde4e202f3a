//! Writing protocol buffers: the few kinds of fields that the two protocols need.
//!
//! Source: <https://protobuf.dev/programming-guides/encoding/>. Fields with default values are written all the same,
//! which readers take.

/// A message that is being written.
#[derive(Debug, Default)]
pub(crate) struct Message(Vec<u8>);

/// Kinds of fields on the wire.
const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const LENGTH: u64 = 2;

impl Message {
    /// What was written.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// `uint32`, `uint64`, `bool` and enumerations.
    pub(crate) fn uint(&mut self, field: u32, value: u64) {
        self.key(field, VARINT);
        self.varint(value);
    }

    /// `int64`: two's complement.
    pub(crate) fn int(&mut self, field: u32, value: i64) {
        self.uint(field, value.cast_unsigned());
    }

    /// `sint32` and `sint64`: ZigZag.
    pub(crate) fn sint(&mut self, field: u32, value: i64) {
        self.uint(field, zigzag(value));
    }

    /// `fixed64`.
    pub(crate) fn fixed64(&mut self, field: u32, value: u64) {
        self.key(field, FIXED64);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// `double`.
    pub(crate) fn double(&mut self, field: u32, value: f64) {
        self.fixed64(field, value.to_bits());
    }

    /// `string`.
    pub(crate) fn text(&mut self, field: u32, value: &str) {
        self.bytes(field, value.as_bytes());
    }

    /// A message within this one.
    pub(crate) fn message(&mut self, field: u32, write: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        write(&mut inner);
        self.bytes(field, &inner.0);
    }

    /// Repeated `uint64`, packed.
    pub(crate) fn packed_uints(&mut self, field: u32, values: impl IntoIterator<Item = u64>) {
        self.packed(field, values, Self::varint);
    }

    /// Repeated `sint64`, packed.
    pub(crate) fn packed_sints(&mut self, field: u32, values: impl IntoIterator<Item = i64>) {
        self.packed_uints(field, values.into_iter().map(zigzag));
    }

    /// Repeated `fixed64`, packed.
    pub(crate) fn packed_fixed64s(&mut self, field: u32, values: impl IntoIterator<Item = u64>) {
        self.packed(field, values, |inner, value| inner.0.extend_from_slice(&value.to_le_bytes()));
    }

    /// Repeated `double`, packed.
    pub(crate) fn packed_doubles(&mut self, field: u32, values: impl IntoIterator<Item = f64>) {
        self.packed_fixed64s(field, values.into_iter().map(f64::to_bits));
    }

    fn packed(&mut self, field: u32, values: impl IntoIterator<Item = u64>, write: impl Fn(&mut Self, u64)) {
        let mut inner = Self::default();
        for value in values {
            write(&mut inner, value);
        }
        if !inner.0.is_empty() {
            self.bytes(field, &inner.0);
        }
    }

    fn bytes(&mut self, field: u32, value: &[u8]) {
        self.key(field, LENGTH);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    fn key(&mut self, field: u32, kind: u64) {
        self.varint(u64::from(field) << 3 | kind);
    }

    #[expect(clippy::cast_possible_truncation, reason = "the lowest seven bits, and what is left below 0x80")]
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(write: impl FnOnce(&mut Message), expected: &[u8]) {
        let mut message = Message::default();
        write(&mut message);
        assert_eq!(message.into_bytes(), expected);
    }

    /// The examples of the encoding's description.
    #[test]
    fn fields_are_as_the_specification_has_them() {
        check(|message| message.uint(1, 150), &[0x08, 0x96, 0x01]);
        check(|message| message.text(2, "testing"), b"\x12\x07testing");
        check(|message| message.message(3, |inner| inner.uint(1, 150)), &[0x1a, 0x03, 0x08, 0x96, 0x01]);
        check(
            |message| message.packed_uints(6, [3, 270, 86942]),
            &[0x32, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05],
        );
        check(|message| message.int(1, -2), &[8, 254, 255, 255, 255, 255, 255, 255, 255, 255, 1]);
        check(|message| message.double(1, 1.0), &[9, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);
        check(|message| message.packed_sints(1, []), &[]);
        check(|message| message.packed_fixed64s(1, [1]), &[10, 8, 1, 0, 0, 0, 0, 0, 0, 0]);
        check(|message| message.uint(16, 0), &[0x80, 0x01, 0]);
    }

    #[test]
    fn small_magnitudes_are_short_in_zigzag() {
        for (value, expected) in
            [(0, 0), (-1, 1), (1, 2), (-2, 3), (0x7fff_ffff, 0xffff_fffe), (i64::MIN, u64::MAX)]
        {
            assert_eq!(zigzag(value), expected, "{value}");
        }
    }
}
