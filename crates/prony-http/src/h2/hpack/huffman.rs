//! The Huffman code of strings (RFC 7541 section 5.2 and appendix B).
//!
//! The code is canonical: among codes of one length those of smaller symbols come first, and each length begins where
//! the one before has ended. So the lengths say all, and the tables are computed from them when this is compiled.

use crate::h2::error::HpackError;

/// Symbols: all bytes and the end of a string, which is never sent.
const SYMBOLS: usize = 257;
const LONGEST: u8 = 30;

/// Bits of the code of each symbol.
#[rustfmt::skip]
const LENGTHS: [u8; SYMBOLS] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

/// The codes, in their low bits.
const CODES: [u32; SYMBOLS] = {
    let mut codes = [0; SYMBOLS];
    let mut code = 0;
    let mut length = 1;
    while length <= LONGEST {
        let mut symbol = 0;
        while symbol < SYMBOLS {
            if LENGTHS[symbol] == length {
                codes[symbol] = code;
                code += 1;
            }
            symbol += 1;
        }
        code <<= 1;
        length += 1;
    }
    codes
};

/// Inner nodes of the tree of codes: one less than it has leaves.
const NODES: usize = SYMBOLS - 1;
/// A child from here on is the leaf of a symbol; below, it is a node. The root is nobody's child.
const LEAF: u16 = 0x100;

/// The children of each node.
const TREE: [[u16; 2]; NODES] = {
    let mut tree = [[0; 2]; NODES];
    let mut nodes: u16 = 1;
    let mut symbol: u16 = 0;
    while (symbol as usize) < SYMBOLS {
        let (code, length) = (CODES[symbol as usize], LENGTHS[symbol as usize]);
        let mut node = 0;
        let mut left = length;
        while left > 1 {
            left -= 1;
            let bit = (code >> left & 1) as usize;
            if tree[node][bit] == 0 {
                tree[node][bit] = nodes;
                nodes += 1;
            }
            node = tree[node][bit] as usize;
        }
        tree[node][(code & 1) as usize] = LEAF + symbol;
        symbol += 1;
    }
    tree
};

/// What four bits lead to from a node.
#[derive(Clone, Copy)]
struct Step {
    /// The next node.
    node: u16,
    /// A symbol that ended on the way, if `has_symbol`; at most one, for the shortest code has five bits.
    symbol: u8,
    has_symbol: bool,
    /// The end of the string was encoded, which is an error.
    fails: bool,
}

/// Steps from each node by each value of four bits.
static STEPS: [[Step; 16]; NODES] = {
    let mut steps = [[Step { node: 0, symbol: 0, has_symbol: false, fails: false }; 16]; NODES];
    let mut from: u16 = 0;
    while (from as usize) < NODES {
        let mut bits = 0;
        while bits < 16 {
            let step = &mut steps[from as usize][bits];
            let mut node = from;
            let mut shift = 4;
            while shift > 0 {
                shift -= 1;
                let child = TREE[node as usize][bits >> shift & 1];
                if child == LEAF + 256 {
                    step.fails = true;
                    node = 0;
                } else if child >= LEAF {
                    step.symbol = (child & 0xff) as u8;
                    step.has_symbol = true;
                    node = 0;
                } else {
                    node = child;
                }
            }
            step.node = node;
            bits += 1;
        }
        from += 1;
    }
    steps
};

/// Whether a string may end at a node: after less than eight bits, all of them set.
static MAY_END: [bool; NODES] = {
    let mut may_end = [false; NODES];
    let mut node = 0;
    let mut bits = 0;
    while bits < 8 {
        may_end[node] = true;
        node = TREE[node][1] as usize;
        bits += 1;
    }
    may_end
};

/// Appends what `coded` means to `out`.
pub(crate) fn decode(coded: &[u8], out: &mut Vec<u8>) -> Result<(), HpackError> {
    let mut node = 0;
    let mut fails = false;
    for byte in coded {
        for bits in [byte >> 4, byte & 0xf] {
            let step = &STEPS[usize::from(node)][usize::from(bits)];
            if step.has_symbol {
                out.push(step.symbol);
            }
            fails |= step.fails;
            node = step.node;
        }
        if fails {
            return Err(HpackError::Huffman);
        }
    }
    if MAY_END[usize::from(node)] { Ok(()) } else { Err(HpackError::Huffman) }
}

/// Bytes that [`encode`] appends for `text`.
pub(crate) fn encoded_bytes(text: &[u8]) -> usize {
    let bits: usize = text.iter().map(|byte| usize::from(LENGTHS[usize::from(*byte)])).sum();
    bits.div_ceil(8)
}

/// Appends the code of `text` to `out`.
pub(crate) fn encode(text: &[u8], out: &mut Vec<u8>) {
    let (mut bits, mut count) = (0_u64, 0_u32);
    for byte in text {
        let symbol = usize::from(*byte);
        bits = bits << LENGTHS[symbol] | u64::from(CODES[symbol]);
        count += u32::from(LENGTHS[symbol]);
        while count >= 8 {
            count -= 8;
            out.push((bits >> count & 0xff) as u8);
        }
    }
    if count > 0 {
        // Padded with the first bits of the code for the end of a string, which are all set.
        out.push((bits << (8 - count) & 0xff) as u8 | 0xff >> count);
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn codes_are_those_of_the_appendix() {
        for (symbol, code, length) in [
            (0, 0x1ff8, 13),
            (usize::from(b'0'), 0, 5),
            (usize::from(b'A'), 0x21, 6),
            (usize::from(b'z'), 0x7b, 7),
            (127, 0xfff_fffc, 28),
            (128, 0xf_ffe6, 20),
            (255, 0x3ff_ffee, 26),
            (256, 0x3fff_ffff, 30),
        ] {
            assert_eq!((CODES[symbol], LENGTHS[symbol]), (code, length), "symbol {symbol}");
        }
    }

    #[test]
    fn wrong_padding_and_an_encoded_end_are_refused() {
        let decoded = |coded: &[u8]| {
            let mut out = Vec::new();
            decode(coded, &mut out).map(|()| out)
        };
        assert_eq!(decoded(&[]), Ok(vec![]));
        // `0` is 00000, `a` is 00011.
        assert_eq!(decoded(&[0b0000_0111]), Ok(b"0".to_vec()));
        assert_eq!(decoded(&[0b0000_0110]), Err(HpackError::Huffman), "padding with a zero");
        assert_eq!(decoded(&[0b0000_0111, 0xff]), Err(HpackError::Huffman), "padding of eleven bits");
        assert_eq!(decoded(&[0xff]), Err(HpackError::Huffman), "padding of eight bits");
        assert_eq!(decoded(&[0xff, 0xff, 0xff, 0xff]), Err(HpackError::Huffman), "the end of a string");
        assert_eq!(decoded(&[0xff, 0xff, 0xff, 0xfc]), Err(HpackError::Huffman), "a code that is cut");
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded(text in vec(any::<u8>(), 0..100)) {
            let (mut coded, mut decoded) = (Vec::new(), Vec::new());
            encode(&text, &mut coded);
            prop_assert_eq!(coded.len(), encoded_bytes(&text));
            decode(&coded, &mut decoded).unwrap();
            prop_assert_eq!(decoded, text);
        }

        #[test]
        fn each_string_has_one_code(coded in vec(any::<u8>(), 0..40)) {
            let mut decoded = Vec::new();
            if decode(&coded, &mut decoded).is_ok() {
                let mut again = Vec::new();
                encode(&decoded, &mut again);
                prop_assert_eq!(again, coded);
            }
        }
    }
}
