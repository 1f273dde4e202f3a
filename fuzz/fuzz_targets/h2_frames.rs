//! A server that sends whole frames, most of which are allowed by themselves, so that a fuzzer gets far into a connection:
//! the HTTP/2 client must never panic, and must report and answer the same whether they come at once or byte by byte.
//!
//! Each frame is read from an input as a kind, flags, a stream and a length, then as many bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_http::Request;
use prony_http::h2::{Connection, EncodedRequest, Limits, Scheme, Shared};

#[path = "../../crates/prony-http/tests/it/h2/transcript.rs"]
mod transcript;

use transcript::{Habits, read};

fuzz_target!(|input: &[u8]| {
    let mut sent = vec![0, 0, 0, 4, 0, 0, 0, 0, 0];
    let mut rest = input;
    while let [kind, flags, stream, length, after @ ..] = rest {
        let (payload, after) = after.split_at(usize::from(*length).min(after.len()));
        // The kinds that there are, the four flags that mean something, and a few streams.
        let stream = if stream & 0x80 == 0 { (stream & 7) * 2 + 1 } else { 0 };
        let length = u8::try_from(payload.len()).unwrap_or(u8::MAX);
        sent.extend_from_slice(&[0, 0, length, kind % 11, flags & 0x2d, 0, 0, 0, stream]);
        sent.extend_from_slice(payload);
        rest = after;
    }
    let habits = Habits { first: 4, more: 3, cancels: 7, mixes: false };
    let request = Request { body: vec![7; 40_000], ..Request::get("a", "/") };
    let request = EncodedRequest::new(&request, Scheme::Http).unwrap();
    let mut shared = Shared::new(request, Limits::default());
    let mut connection = Connection::new(&shared);
    let expected = read(&mut connection, &mut shared, habits, [&sent[..]]);
    connection.reset(&shared);
    assert_eq!(read(&mut connection, &mut shared, habits, sent.chunks(1)), expected, "byte by byte");
});
