//! The compression of header fields (RFC 7541).

pub(crate) mod decoder;
pub(crate) mod encoder;
pub(crate) mod fields;
mod huffman;
pub(crate) mod integer;
pub(crate) mod static_table;
pub(crate) mod table;

#[cfg(test)]
mod tests;

/// See [`crate::h2::for_tests`].
pub(super) mod for_tests {
    use super::fields::{FieldList, ListLimits};
    use super::{decoder, huffman, table};
    use crate::h2::error::{HpackError, Http2Error};

    /// Name and value.
    pub type Field = (Vec<u8>, Vec<u8>);

    /// Decodes the field blocks of one connection.
    #[derive(Debug)]
    pub struct BlockDecoder {
        table: table::Table,
        limits: ListLimits,
    }

    impl BlockDecoder {
        /// A decoder that refuses lists beyond `list_bytes` and `fields`.
        pub fn new(list_bytes: u32, fields: u16) -> Self {
            Self { table: table::Table::new(), limits: ListLimits { bytes: list_bytes, fields } }
        }

        /// The fields of `block`.
        pub fn decode(&mut self, block: &[u8]) -> Result<Vec<Field>, Http2Error> {
            let mut list = FieldList::default();
            decoder::decode(&mut self.table, block, self.limits, &mut list)?;
            Ok(list.fields().map(|(name, value)| (name.to_vec(), value.to_vec())).collect())
        }
    }

    /// `text` in Huffman code.
    pub fn huffman_encoded(text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        huffman::encode(text, &mut out);
        out
    }

    /// What `coded` means.
    pub fn huffman_decoded(coded: &[u8]) -> Result<Vec<u8>, HpackError> {
        let mut out = Vec::new();
        huffman::decode(coded, &mut out).map(|()| out)
    }
}
