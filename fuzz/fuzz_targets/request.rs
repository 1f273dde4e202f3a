//! Feeds any bytes in any pieces: the servers' reader of requests must never panic, and must make the same requests
//! and the same end of them however the bytes were cut.
//!
//! The first byte of an input tells how many bytes after it are places to cut; the rest is what a client sends.
#![no_main]

use libfuzzer_sys::fuzz_target;

// The crate keeps its reader to itself, and it knows nothing of the rest of the crate.
#[path = "../../crates/prony-targets/src/service/chunks.rs"]
mod chunks;
#[path = "../../crates/prony-targets/src/head.rs"]
#[allow(dead_code, reason = "the servers use more of it")]
mod head;
#[path = "../../crates/prony-targets/src/service/request_decoder.rs"]
#[allow(dead_code, reason = "the servers use more of it")]
mod request_decoder;

use head::Reject;
use request_decoder::{Next, RequestDecoder};

/// A request: method, target, body.
type Seen = (String, String, Vec<u8>);

fn read_all<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Seen>, Result<(), Reject>) {
    let (mut intake, mut rest, mut requests) = (RequestDecoder::default(), Vec::new(), Vec::new());
    for piece in pieces {
        rest.extend_from_slice(piece);
        loop {
            let (used, next) = match intake.next(&rest) {
                Ok(found) => found,
                Err(reject) => return (requests, Err(reject)),
            };
            let waits = matches!(next, Next::More);
            if let Next::Request(head, body) = next {
                requests.push((head.verb.to_owned(), head.target.to_owned(), body.to_vec()));
            }
            rest.drain(..used);
            if waits {
                break;
            }
        }
    }
    (requests, Ok(()))
}

fuzz_target!(|input: &[u8]| {
    let [cut_count, rest @ ..] = input else { return };
    let Some((places, sent)) = rest.split_at_checked(usize::from(*cut_count % 16)) else { return };
    // A byte reaches every place of a short input and some of a long one; byte by byte reaches all.
    let step = sent.len() / 256 + 1;
    let mut cuts: Vec<usize> =
        places.iter().map(|place| (usize::from(*place) * step).min(sent.len())).collect();
    cuts.extend([0, sent.len()]);
    cuts.sort_unstable();
    let expected = read_all([sent]);
    assert_eq!(read_all(sent.chunks(1)), expected, "byte by byte");
    assert_eq!(read_all(cuts.windows(2).map(|pair| &sent[pair[0]..pair[1]])), expected, "in pieces");
});
