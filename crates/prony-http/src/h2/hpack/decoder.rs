//! Decodes field blocks (RFC 7541 sections 3 and 6).

use crate::h2::error::{HpackError, Http2Error};
use crate::h2::hpack::fields::{FieldList, ListLimits};
use crate::h2::hpack::table::{TABLE_BYTES, Table};
use crate::h2::hpack::{huffman, integer, static_table};

/// How a block depends on the table, and changes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Effect {
    /// It names entries of the dynamic table.
    pub uses_table: bool,
    /// It changes the dynamic table.
    pub changes_table: bool,
    /// Those of its first 64 fields that it adds to the table, a bit for each; `None` where it changes it in other ways.
    pub adds: Option<u64>,
}

/// Appends the fields of `block` to the empty list `out`. After an error the table is of no more use.
pub(crate) fn decode(
    table: &mut Table,
    mut block: &[u8],
    limits: ListLimits,
    out: &mut FieldList,
) -> Result<Effect, Http2Error> {
    let before = table.changes();
    let mut uses_table = false;
    let mut adds = Some(0);
    let mut has_fields = false;
    while let Some(first) = block.first().copied() {
        if first & 0xe0 == 0x20 {
            // Section 6.3.
            let size = integer::read(&mut block, 5)?;
            if has_fields {
                return Err(HpackError::LateTableSize.into());
            }
            if size > TABLE_BYTES {
                return Err(HpackError::TableSize.into());
            }
            table.resize(size);
            adds = None;
            continue;
        }
        has_fields = true;
        if first & 0x80 != 0 {
            // Section 6.1.
            let index = integer::read(&mut block, 7)?;
            let (name, value) = table.get(index).ok_or(HpackError::Index)?;
            uses_table |= index > static_table::ENTRIES.len();
            out.tail().extend_from_slice(name);
            out.tail().extend_from_slice(value);
            let name_bytes = name.len();
            out.push(name_bytes, limits)?;
            continue;
        }
        // Sections 6.2.1 to 6.2.3.
        let is_indexed = first & 0x40 != 0;
        let index = integer::read(&mut block, if is_indexed { 6 } else { 4 })?;
        let name_bytes = if index == 0 {
            read_string(&mut block, out.tail())?
        } else {
            let (name, _) = table.get(index).ok_or(HpackError::Index)?;
            uses_table |= index > static_table::ENTRIES.len();
            out.tail().extend_from_slice(name);
            name.len()
        };
        read_string(&mut block, out.tail())?;
        if is_indexed {
            adds = with_bit(adds, out.len());
        }
        let (name, value) = out.push(name_bytes, limits)?;
        if is_indexed {
            table.insert(name, value);
        }
    }
    Ok(Effect { uses_table, changes_table: table.changes() != before, adds })
}

/// `bits` and bit `number`, if there are so many.
fn with_bit(bits: Option<u64>, number: usize) -> Option<u64> {
    Some(bits? | 1_u64.checked_shl(u32::try_from(number).ok()?)?)
}

/// Takes a string off `block` and appends it to `out` (section 5.2). Returns how many bytes were appended.
fn read_string(block: &mut &[u8], out: &mut Vec<u8>) -> Result<usize, Http2Error> {
    let is_huffman = block.first().ok_or(HpackError::Truncated)? & 0x80 != 0;
    let length = integer::read(block, 7)?;
    let (string, rest) = block.split_at_checked(length).ok_or(HpackError::Truncated)?;
    *block = rest;
    let before = out.len();
    if is_huffman {
        // Becomes at most 8/5 as long, for the shortest code has 5 bits; the block itself is bounded.
        huffman::decode(string, out)?;
    } else {
        out.extend_from_slice(string);
    }
    Ok(out.len() - before)
}

impl From<HpackError> for Http2Error {
    fn from(error: HpackError) -> Self {
        Self::Compression(error)
    }
}
