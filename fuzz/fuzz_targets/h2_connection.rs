//! Feeds any bytes in any pieces, after an empty SETTINGS frame or without it: the HTTP/2 client must never panic, and must
//! report and answer the same however the bytes were cut and whatever its connection has seen before.
//!
//! The first byte of an input chooses limits and the request's body, the second how many requests are sent, the third how
//! many bytes after it are places to cut; the rest is what the server sends.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_http::Request;
use prony_http::h2::{Connection, EncodedRequest, Limits, Scheme, Shared};

#[path = "../../crates/prony-http/tests/it/h2/transcript.rs"]
mod transcript;

use transcript::{Habits, read};

/// Limits that a fuzzer reaches with a few hundred bytes.
const TIGHT: Limits = Limits {
    streams: 3,
    stream_window_bytes: 65_535,
    connection_window_bytes: 65_535,
    block_bytes: 100,
    list_bytes: 300,
    fields: 5,
    body_bytes: 60,
    interim_responses: 1,
    barren_frames: 6,
};

fuzz_target!(|input: &[u8]| {
    let [settings, requests, cut_count, rest @ ..] = input else { return };
    let Some((places, frames)) = rest.split_at_checked(usize::from(*cut_count % 16)) else { return };
    let limits = if settings & 1 == 0 { Limits::default() } else { TIGHT };
    let body = if settings & 2 == 0 { Vec::new() } else { vec![7; 20_000] };
    let method = if settings & 4 == 0 { "GET" } else { "HEAD" };
    let request = Request { body, method: method.to_owned(), ..Request::get("a", "/") };
    let habits = Habits {
        first: u16::from(requests & 7),
        more: u16::from(requests >> 3 & 3),
        cancels: u32::from(requests >> 5),
        mixes: settings & 16 != 0,
    };
    let begin: &[u8] = if settings & 8 == 0 { &[0, 0, 0, 4, 0, 0, 0, 0, 0] } else { &[] };
    let sent = [begin, frames].concat();

    let step = sent.len() / 256 + 1;
    let mut cuts: Vec<usize> =
        places.iter().map(|place| (usize::from(*place) * step).min(sent.len())).collect();
    cuts.extend([0, sent.len()]);
    cuts.sort_unstable();

    let mut shared = Shared::new(EncodedRequest::new(&request, Scheme::Http).unwrap(), limits);
    let mut connection = Connection::new(&shared);
    let expected = read(&mut connection, &mut shared, habits, [&sent[..]]);
    connection.reset(&shared);
    let found = read(&mut connection, &mut shared, habits, sent.chunks(1));
    assert_eq!(found, expected, "byte by byte");
    connection.reset(&shared);
    let pieces = cuts.windows(2).map(|pair| &sent[pair[0]..pair[1]]);
    assert_eq!(read(&mut connection, &mut shared, habits, pieces), expected, "in pieces");
});
