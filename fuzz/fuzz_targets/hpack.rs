//! Decodes any field blocks of one connection: the decoder must never panic and must keep its limits, and the Huffman code
//! of a text is the only one that decodes to it.
//!
//! A byte before each block is its length.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_http::h2::for_tests::{BlockDecoder, huffman_decoded, huffman_encoded};

const LIST_BYTES: u32 = 5000;
const FIELDS: u16 = 40;

fuzz_target!(|input: &[u8]| {
    if let Ok(text) = huffman_decoded(input) {
        assert_eq!(huffman_encoded(&text), input);
    }
    assert_eq!(huffman_decoded(&huffman_encoded(input)).as_deref(), Ok(input));
    let (mut decoder, mut rest) = (BlockDecoder::new(LIST_BYTES, FIELDS), input);
    while let [length, after @ ..] = rest {
        let (block, after) = after.split_at(usize::from(*length).min(after.len()));
        let Ok(fields) = decoder.decode(block) else { return };
        let counted: usize = fields.iter().map(|(name, value)| name.len() + value.len() + 32).sum();
        assert!(counted <= LIST_BYTES as usize && fields.len() <= usize::from(FIELDS));
        rest = after;
    }
});
