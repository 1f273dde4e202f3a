//! Sends requests over HTTP/2 and reads their answers again and again, ten at a time, so that callgrind can count
//! instructions per response:
//!
//! ```text
//! cargo build --release -p prony-http --example h2_loop
//! valgrind --tool=callgrind --toggle-collect='*exchange_rounds*' target/release/examples/h2_loop table 10000
//! ```
//!
//! Divide the total by ten times the rounds. The first word is how the server writes its heads: `table` as nghttp2 and
//! Go do, whose repeated heads are a byte for each field; `add` as nginx does, which adds all fields to the table each
//! time; `literal` without a table; `miss` as the first response of each second, with another date. All have the fields
//! and the body of `parse_loop nginx`.

use std::hint::black_box;
use std::process::ExitCode;

use prony_http::Request;
use prony_http::h2::{Connection, EncodedRequest, Event, Limits, Scheme, Shared};

const STREAMS: u32 = 10;
const BODY: &[u8] = b"Welcome to the Status Dashboard!";

/// Index of the name in the static table, and the value.
const FIELDS: [(u8, &str); 7] = [
    (54, "nginx/1.26.2"),
    (33, "Fri, 21 Nov 2025 02:28:00 GMT"),
    (31, "text/html"),
    (28, "32"),
    (44, "Wed, 19 Nov 2025 10:00:00 GMT"),
    (34, "\"691d9520-20\""),
    (18, "bytes"),
];

/// How a server writes its heads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Table,
    Add,
    Literal,
    Miss,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [way, rounds] = &words[..] else { return usage() };
    let way = match way.as_str() {
        "table" => Way::Table,
        "add" => Way::Add,
        "literal" => Way::Literal,
        "miss" => Way::Miss,
        _ => return usage(),
    };
    let Ok(rounds) = rounds.parse() else { return usage() };
    let request = EncodedRequest::new(&Request::get("127.0.0.1:8080", "/status"), Scheme::Http)
        .expect("invariant: the request above is valid");
    let mut shared = Shared::new(request, Limits::default());
    let mut connection = Connection::new(&shared);
    let mut answers = answers(&first_block(way));
    answers.splice(0..0, [0, 0, 0, 4, 0, 0, 0, 0, 0]);
    // The first round is warm-up: it fills tables and buffers.
    let mut body_bytes = exchange_rounds(&mut connection, &mut shared, &mut answers, 9, way, 1);
    let mut answers = self::answers(&next_block(way));
    body_bytes += exchange_rounds(&mut connection, &mut shared, &mut answers, 0, way, rounds);
    black_box(body_bytes);
    ExitCode::SUCCESS
}

#[expect(clippy::print_stderr, reason = "an example is its own composition root")]
fn usage() -> ExitCode {
    eprintln!("usage: h2_loop table|add|literal|miss ROUNDS");
    ExitCode::from(2)
}

/// The head of the first response on a connection.
fn first_block(way: Way) -> Vec<u8> {
    let mut block = vec![0x88];
    for (index, value) in FIELDS {
        let length = u8::try_from(value.len()).expect("invariant: the values above are short");
        match way {
            Way::Table | Way::Add => block.push(0x40 | index),
            // Four bits of the index, and the rest behind them.
            Way::Literal | Way::Miss => block.extend_from_slice(&[0x0f, index - 15]),
        }
        block.push(length);
        block.extend_from_slice(value.as_bytes());
    }
    block
}

/// The head of each further one.
fn next_block(way: Way) -> Vec<u8> {
    match way {
        Way::Table => vec![0x88, 0xc4, 0xc3, 0xc2, 0xc1, 0xc0, 0xbf, 0xbe],
        Way::Add | Way::Literal | Way::Miss => first_block(way),
    }
}

/// Ten responses with the same head.
fn answers(block: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..STREAMS {
        for (kind, flags, payload) in [(1, 4, block), (0, 1, BODY)] {
            let length = u8::try_from(payload.len()).expect("invariant: the payloads above are short");
            bytes.extend_from_slice(&[0, 0, length, kind, flags, 0, 0, 0, 0]);
            bytes.extend_from_slice(payload);
        }
    }
    bytes
}

/// Not inlined, so that it can be named to callgrind. The answers begin after `start` bytes of other frames.
#[inline(never)]
fn exchange_rounds(
    connection: &mut Connection,
    shared: &mut Shared,
    answers: &mut [u8],
    start: usize,
    way: Way,
    rounds: u32,
) -> u64 {
    let mut out = Vec::new();
    let mut body_bytes = 0;
    for round in 0..rounds {
        out.clear();
        let mut at = start;
        for place in 0..STREAMS {
            let sent = connection.send_request(shared, &mut out).expect("invariant: ten streams are few");
            let head_bytes = usize::from(answers[at + 2]);
            answers[at + 5..at + 9].copy_from_slice(&sent.id.to_be_bytes());
            if way == Way::Miss {
                // A digit of the date's seconds.
                let digit = u8::try_from((round + place) % 10).expect("invariant: it is below 10");
                answers[at + 9 + 1 + 15 + 3 + 24] = b'0' + digit;
            }
            at += 9 + head_bytes;
            answers[at + 5..at + 9].copy_from_slice(&sent.id.to_be_bytes());
            at += 9 + BODY.len();
        }
        black_box(&out);
        let mut input = black_box(&answers[..]);
        loop {
            let step =
                connection.next(shared, input, &mut out).expect("invariant: the answers above are valid");
            input = &input[step.consumed..];
            match step.event {
                Some(Event::End { end, .. }) => body_bytes += end.body_bytes,
                Some(_) => {}
                None => break,
            }
        }
    }
    body_bytes
}
