//! Encodes the field block of a request (RFC 7541 section 6), once for a run.

use crate::h2::hpack::fields::FIELD_OVERHEAD_BYTES;
use crate::h2::hpack::static_table;
use crate::h2::hpack::table::TABLE_BYTES;
use crate::h2::hpack::{huffman, integer};

/// One list of fields in the three ways in which a connection may send it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EncodedBlock {
    /// Puts what it can into the server's table.
    pub first: Vec<u8>,
    /// Names what [`Self::first`] has put there: a byte for nearly each field.
    pub again: Vec<u8>,
    /// Leaves the server's table alone, for servers that want none.
    pub plain: Vec<u8>,
    /// The size that the server's table needs for [`Self::first`] and [`Self::again`].
    pub table_bytes: usize,
}

/// Where a field stands in the tables.
enum Place {
    Static(usize),
    /// As the n-th field that is added, from 0.
    Added(usize),
    Nowhere,
}

impl EncodedBlock {
    /// Encodes `fields`, names in lower case.
    pub(crate) fn new(fields: &[(String, String)]) -> Self {
        let mut places: Vec<Place> = Vec::with_capacity(fields.len());
        let mut added: Vec<(&str, &str)> = Vec::new();
        let mut table_bytes = 0;
        for (name, value) in fields {
            let size = name.len() + value.len() + FIELD_OVERHEAD_BYTES;
            let place = if let (Some(index), _) = static_table::find(name, value) {
                Place::Static(index)
            } else if let Some(at) = added.iter().position(|field| *field == (name.as_str(), value.as_str()))
            {
                Place::Added(at)
            } else if table_bytes + size <= TABLE_BYTES {
                table_bytes += size;
                added.push((name, value));
                Place::Added(added.len() - 1)
            } else {
                Place::Nowhere
            };
            places.push(place);
        }
        let mut block = Self { first: Vec::new(), again: Vec::new(), plain: Vec::new(), table_bytes };
        let mut put = 0;
        for ((name, value), place) in fields.iter().zip(&places) {
            match *place {
                Place::Static(index) => {
                    for out in [&mut block.first, &mut block.again, &mut block.plain] {
                        integer::write(out, 0x80, 7, index);
                    }
                }
                Place::Added(at) => {
                    // The newest entry has the lowest index.
                    let index = |newer: usize| static_table::ENTRIES.len() + newer - at;
                    if at == put {
                        write_literal(&mut block.first, 0x40, 6, name, value);
                        put += 1;
                    } else {
                        integer::write(&mut block.first, 0x80, 7, index(put));
                    }
                    integer::write(&mut block.again, 0x80, 7, index(added.len()));
                    write_literal(&mut block.plain, 0, 4, name, value);
                }
                Place::Nowhere => {
                    for out in [&mut block.first, &mut block.again, &mut block.plain] {
                        write_literal(out, 0, 4, name, value);
                    }
                }
            }
        }
        block
    }
}

/// A change of the table's size, which stands before all fields (section 6.3).
pub(crate) fn write_table_size(out: &mut Vec<u8>, bytes: usize) {
    integer::write(out, 0x20, 5, bytes);
}

/// A field with its value, and with its name unless the static table has it.
fn write_literal(out: &mut Vec<u8>, flags: u8, prefix_bits: u8, name: &str, value: &str) {
    write_literal_name(out, flags, prefix_bits, name);
    write_string(out, value.as_bytes());
}

/// The part of a field before its value.
pub(crate) fn write_literal_name(out: &mut Vec<u8>, flags: u8, prefix_bits: u8, name: &str) {
    let (_, name_index) = static_table::find(name, "");
    integer::write(out, flags, prefix_bits, name_index.unwrap_or(0));
    if name_index.is_none() {
        write_string(out, name.as_bytes());
    }
}

/// In Huffman code where that is shorter (section 5.2).
pub(crate) fn write_string(out: &mut Vec<u8>, text: &[u8]) {
    let coded_bytes = huffman::encoded_bytes(text);
    if coded_bytes < text.len() {
        integer::write(out, 0x80, 7, coded_bytes);
        huffman::encode(text, out);
    } else {
        integer::write(out, 0, 7, text.len());
        out.extend_from_slice(text);
    }
}
