//! A decoded list of fields, in one piece of memory that is used again.

use crate::h2::error::Http2Error;

/// What a field counts beyond its name and value (RFC 7541 section 4.1, RFC 9113 section 6.5.2).
pub(crate) const FIELD_OVERHEAD_BYTES: usize = 32;

/// Names and values, one after the other.
#[derive(Debug, Clone, Default)]
pub(crate) struct FieldList {
    bytes: Vec<u8>,
    ends: Vec<Ends>,
}

/// Where the name and the value of a field end; the name begins where the field before ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ends {
    name: u32,
    value: u32,
}

/// How much may be decoded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListLimits {
    /// Bytes, with [`FIELD_OVERHEAD_BYTES`] for each field.
    pub bytes: u32,
    /// Fields.
    pub fields: u16,
}

/// The fields of a list, as name and value, pseudo-header fields included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fields<'a> {
    bytes: &'a [u8],
    ends: &'a [Ends],
    start: usize,
}

impl FieldList {
    /// Removes all fields, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// The same fields as `other`.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.clear();
        self.bytes.extend_from_slice(&other.bytes);
        self.ends.extend_from_slice(&other.ends);
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes of names and values.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Where the next name and value are to be appended; [`Self::push`] makes a field of them.
    pub(crate) fn tail(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Makes a field of what was appended to [`Self::tail`], whose name has `name_bytes`. Returns name and value.
    pub(crate) fn push(
        &mut self,
        name_bytes: usize,
        limits: ListLimits,
    ) -> Result<(&[u8], &[u8]), Http2Error> {
        let start = self.ends.last().map_or(0, |ends| position(ends.value));
        let name_end = start + name_bytes;
        let counted = self.bytes.len() + (self.ends.len() + 1) * FIELD_OVERHEAD_BYTES;
        if counted > position(limits.bytes) {
            return Err(Http2Error::ListTooLong { limit_bytes: limits.bytes });
        }
        if self.ends.len() >= usize::from(limits.fields) {
            return Err(Http2Error::TooManyFields { limit: limits.fields });
        }
        let end = |at: usize| u32::try_from(at).expect("invariant: a list is within limits of 32 bits");
        self.ends.push(Ends { name: end(name_end), value: end(self.bytes.len()) });
        Ok(self.bytes[start..].split_at(name_bytes))
    }

    /// All fields.
    pub(crate) fn fields(&self) -> Fields<'_> {
        Fields { bytes: &self.bytes, ends: &self.ends, start: 0 }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (ends, rest) = self.ends.split_first()?;
        let (name_end, end) = (position(ends.name), position(ends.value));
        let field = (&self.bytes[self.start..name_end], &self.bytes[name_end..end]);
        (self.start, self.ends) = (end, rest);
        Some(field)
    }
}

fn position(at: u32) -> usize {
    usize::try_from(at).expect("invariant: this is a 64-bit program")
}
