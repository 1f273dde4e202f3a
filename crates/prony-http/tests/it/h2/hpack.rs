//! The decoder of field blocks against an encoder that uses every representation.

use std::collections::VecDeque;

use prony_http::h2::for_tests::{BlockDecoder, huffman_encoded};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

/// How a field is to be written.
#[derive(Debug, Clone)]
struct Choice {
    name: Vec<u8>,
    value: Vec<u8>,
    /// 0: added to the table, 1: not added, 2: never to be added, 3: an entry of the table instead.
    representation: u8,
    huffman: (bool, bool),
    /// Uses the name of an entry of the table.
    named: bool,
    entry: Index,
}

fn choice() -> impl Strategy<Value = Choice> {
    let name = "[a-z][a-z0-9-]{0,12}".prop_map(String::into_bytes);
    let value = prop_oneof![vec(any::<u8>(), 0..40), vec(any::<u8>(), 0..40), vec(97..100_u8, 200..3000)];
    (name, value, 0..4_u8, any::<(bool, bool)>(), any::<bool>(), any::<Index>()).prop_map(
        |(name, value, representation, huffman, named, entry)| Choice {
            name,
            value,
            representation,
            huffman,
            named,
            entry,
        },
    )
}

type Field = (Vec<u8>, Vec<u8>);

/// The encoder's own table: entries, newest first, and how large it may grow.
struct Encoder {
    table: VecDeque<Field>,
    size_max: usize,
}

impl Encoder {
    fn evict(&mut self) {
        let size = |table: &VecDeque<Field>| table.iter().map(|(n, v)| n.len() + v.len() + 32).sum::<usize>();
        while size(&self.table) > self.size_max {
            self.table.pop_back();
        }
    }

    fn resize(&mut self, size_max: usize, out: &mut Vec<u8>) {
        self.size_max = size_max;
        self.evict();
        integer(out, 0x20, 5, size_max);
    }

    /// Writes one field, and returns what it is.
    fn write(&mut self, choice: &Choice, out: &mut Vec<u8>) -> Field {
        let entry = (!self.table.is_empty()).then(|| choice.entry.index(self.table.len()));
        if let (3, Some(at)) = (choice.representation, entry) {
            integer(out, 0x80, 7, 62 + at);
            return self.table[at].clone();
        }
        let (flags, prefix_bits) =
            [(0x40, 6), (0x00, 4), (0x10, 4), (0x40, 6)][usize::from(choice.representation)];
        let name = if let Some(at) = entry.filter(|_| choice.named) {
            integer(out, flags, prefix_bits, 62 + at);
            self.table[at].0.clone()
        } else {
            integer(out, flags, prefix_bits, 0);
            string(out, &choice.name, choice.huffman.0);
            choice.name.clone()
        };
        string(out, &choice.value, choice.huffman.1);
        let field = (name, choice.value.clone());
        if flags == 0x40 {
            let size = field.0.len() + field.1.len() + 32;
            self.table.push_front(field.clone());
            if size > self.size_max {
                self.table.clear();
            }
            self.evict();
        }
        field
    }
}

fn integer(out: &mut Vec<u8>, flags: u8, prefix_bits: u32, value: usize) {
    let mask = (1 << prefix_bits) - 1;
    if value < mask {
        return out.push(flags | u8::try_from(value).unwrap());
    }
    out.push(flags | u8::try_from(mask).unwrap());
    let mut rest = value - mask;
    while rest > 127 {
        out.push(u8::try_from(rest % 128).unwrap() | 0x80);
        rest /= 128;
    }
    out.push(u8::try_from(rest).unwrap());
}

fn string(out: &mut Vec<u8>, text: &[u8], is_huffman: bool) {
    let coded = huffman_encoded(text);
    let (flag, bytes) = if is_huffman { (0x80, &coded[..]) } else { (0, text) };
    integer(out, flag, 7, bytes.len());
    out.extend_from_slice(bytes);
}

proptest! {
    #[test]
    fn what_was_encoded_is_decoded(
        blocks in vec((vec(0..=4096_usize, 0..2), vec(choice(), 0..12)), 1..12),
    ) {
        let mut encoder = Encoder { table: VecDeque::new(), size_max: 4096 };
        let mut decoder = BlockDecoder::new(u32::MAX, u16::MAX);
        for (sizes, choices) in blocks {
            let mut block = Vec::new();
            for size_max in sizes {
                encoder.resize(size_max, &mut block);
            }
            let fields: Vec<Field> =
                choices.iter().map(|choice| encoder.write(choice, &mut block)).collect();
            prop_assert_eq!(decoder.decode(&block), Ok(fields));
        }
    }

    #[test]
    fn any_bytes_are_decoded_within_bounds_or_refused(blocks in vec(vec(any::<u8>(), 0..200), 1..10)) {
        let mut decoder = BlockDecoder::new(2000, 20);
        for block in blocks {
            let Ok(fields) = decoder.decode(&block) else { return Ok(()) };
            let counted: usize = fields.iter().map(|(name, value)| name.len() + value.len() + 32).sum();
            prop_assert!(counted <= 2000 && fields.len() <= 20);
        }
    }
}
