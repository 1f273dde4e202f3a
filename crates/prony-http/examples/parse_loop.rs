//! Reads one answer again and again, so that callgrind can count instructions per response:
//!
//! ```text
//! cargo build --release -p prony-http --example parse_loop
//! valgrind --tool=callgrind --toggle-collect='*read_rounds*' \
//!     target/release/examples/parse_loop nginx whole 10000
//! ```
//!
//! Divide the total by the rounds. The first word is the answer, the second the way it is read: `whole` as
//! the engine does, `next` without the fast way, `miss` with a head that is never the last one.

use std::hint::black_box;
use std::process::ExitCode;

use prony_http::{Event, HeadCache, Limits, RequestKind, ResponseParser};

const NGINX: &str = "HTTP/1.1 200 OK\r\nServer: nginx/1.26.2\r\nDate: Fri, 21 Nov 2025 02:28:00 GMT\r\n\
    Content-Type: text/html\r\nContent-Length: 32\r\nLast-Modified: Wed, 19 Nov 2025 10:00:00 GMT\r\n\
    Connection: keep-alive\r\nETag: \"691d9520-20\"\r\nAccept-Ranges: bytes\r\n\r\n\
    Welcome to the Status Dashboard!";

const NODE: &str = "HTTP/1.1 200 OK\r\nX-Powered-By: Express\r\nContent-Type: text/html; charset=utf-8\r\n\
    Content-Length: 12\r\nETag: W/\"c-Lve95gjOVATpfV8EL5X4nxwjKHE\"\r\nDate: Fri, 21 Nov 2025 02:28:00 GMT\r\n\
    Connection: keep-alive\r\nKeep-Alive: timeout=5\r\n\r\nHello World!";

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nDate: Fri, 21 Nov 2025 02:28:00 GMT\r\nConnection: keep-alive\r\n\
    Keep-Alive: timeout=5\r\nTransfer-Encoding: chunked\r\n\r\nc\r\nHello World!\r\n0\r\n\r\n";

/// More different heads than the cache remembers.
const DIFFERENT: usize = 10;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [answer, way, rounds] = &words[..] else { return usage() };
    let answer = match answer.as_str() {
        "nginx" => NGINX,
        "node" => NODE,
        "chunked" => CHUNKED,
        _ => return usage(),
    };
    let Ok(rounds) = rounds.parse() else { return usage() };
    let answers: Vec<String> = match way.as_str() {
        "whole" | "next" => vec![answer.to_owned()],
        "miss" => {
            (0..DIFFERENT).map(|second| answer.replace("02:28:00", &format!("02:28:0{second}"))).collect()
        }
        _ => return usage(),
    };
    let mut shared = HeadCache::new(RequestKind::Normal, Limits::default());
    // The first round is warm-up: it fills the cache, as the first second of a run does.
    let mut body_bytes = read_rounds(&answers, &mut shared, false, 1);
    body_bytes += read_rounds(&answers, &mut shared, way != "next", rounds);
    black_box(body_bytes);
    ExitCode::SUCCESS
}

#[expect(clippy::print_stderr, reason = "an example is its own composition root")]
fn usage() -> ExitCode {
    eprintln!("usage: parse_loop nginx|node|chunked whole|next|miss ROUNDS");
    ExitCode::from(2)
}

/// Not inlined, so that it can be named to callgrind.
#[inline(never)]
fn read_rounds(answers: &[String], shared: &mut HeadCache, whole_first: bool, rounds: usize) -> u64 {
    let mut parser = ResponseParser::new();
    let mut body_bytes = 0;
    for round in 0..rounds {
        let input = black_box(answers[round % answers.len()].as_bytes());
        if whole_first && let Some(whole) = parser.whole(shared, input) {
            body_bytes += whole.end().body_bytes;
            continue;
        }
        body_bytes += read_steps(&mut parser, shared, input);
    }
    body_bytes
}

fn read_steps(parser: &mut ResponseParser, shared: &mut HeadCache, mut input: &[u8]) -> u64 {
    loop {
        let step = parser.next(shared, input).expect("invariant: the answers above are valid");
        input = &input[step.consumed..];
        match step.event {
            Some(Event::End(end)) => return end.body_bytes,
            Some(_) => {}
            None => return 0,
        }
    }
}
