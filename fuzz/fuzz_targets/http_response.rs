//! Feeds any bytes in any pieces: the response parser must never panic, and must report the same events and
//! the same end however the bytes were cut and whichever heads it remembers.
//!
//! The first byte of an input chooses the request kind and the limits, the second tells how many bytes after
//! it are places to cut; the rest is the server's answer.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_http::{HeadCache, Limits, RequestKind};

#[path = "../../crates/prony-http/tests/it/transcript.rs"]
mod transcript;

use transcript::{Way, cut, read};

/// Limits that a fuzzer reaches with a few hundred bytes.
const TIGHT: Limits = Limits {
    head_bytes: 100,
    headers: 3,
    body_bytes: 40,
    interim_responses: 1,
    chunk_line_bytes: 20,
    trailer_bytes: 10,
};

fuzz_target!(|input: &[u8]| {
    let [settings, cut_count, rest @ ..] = input else { return };
    let Some((places, answer)) = rest.split_at_checked(usize::from(*cut_count % 16)) else { return };
    // A byte reaches every place of a short answer and some of a long one; byte by byte reaches all.
    let step = answer.len() / 256 + 1;
    let cuts: Vec<usize> = places.iter().map(|place| usize::from(*place) * step).collect();

    let kind = if settings & 1 == 0 { RequestKind::Normal } else { RequestKind::Head };
    let limits = if settings & 2 == 0 { Limits::default() } else { TIGHT };
    let cache = || HeadCache::new(kind, limits);

    let expected = read([answer], &mut cache(), Way::Next);
    assert_eq!(read(answer.chunks(1), &mut cache(), Way::Next), expected, "byte by byte");
    let mut used = cache();
    for way in [Way::Next, Way::WholeFirst, Way::WholeFirst] {
        assert_eq!(read(cut(answer, &cuts), &mut used, way), expected, "{way:?} in pieces");
        assert_eq!(read([answer], &mut used, way), expected, "{way:?} in one piece");
    }
});
