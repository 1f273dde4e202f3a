//! Decodes any bytes in every coding: no panic, never more than was asked for, the same whatever the memory held before, and
//! the same with more room.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_http::coding::{CodingError, decode};

/// Bytes that may come out.
const MOST: usize = 1 << 16;

fuzz_target!(|input: &[u8]| {
    let Some((choice, body)) = input.split_first() else { return };
    let coding: &[u8] = match choice % 5 {
        0 => b"gzip",
        1 => b"deflate",
        2 => b"br",
        3 => b"zstd",
        _ => b"identity",
    };
    let (mut decoded, mut again) = (Vec::new(), vec![7; 100]);
    let result = decode(coding, body, MOST, &mut decoded);
    assert!(decoded.len() <= MOST + 1);
    let with_room = decode(coding, body, 2 * MOST, &mut again);
    match result {
        Ok(()) => assert_eq!((with_room, again), (Ok(()), decoded)),
        Err(CodingError::TooLong) => {}
        Err(error) => assert_eq!(with_room, Err(error)),
    }
});
