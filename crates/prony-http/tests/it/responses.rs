//! Tables: whole answers and what is made of them.

use prony_http::{Finish, HeadCache, Limits, ProtocolError, RequestKind, ResponseParser};

use crate::transcript::{Seen, Transcript, Way, cut, read};

const LIMITS: Limits = Limits {
    head_bytes: 80,
    headers: 3,
    body_bytes: 30,
    interim_responses: 2,
    chunk_line_bytes: 18,
    trailer_bytes: 16,
};

/// The events of `answer`, in words, and the words or the code for its end: the same in pieces of any size.
fn check(kind: RequestKind, answer: &str, expected: &str) {
    let bytes = answer.as_bytes();
    for piece_bytes in 1..=bytes.len().max(1) {
        let mut shared = HeadCache::new(kind, LIMITS);
        let found = words(&read(bytes.chunks(piece_bytes), &mut shared, Way::Next));
        assert_eq!(found, expected, "{answer:?} in pieces of {piece_bytes}");
    }
}

fn normal(answer: &str, expected: &str) {
    check(RequestKind::Normal, answer, expected);
}

fn words(transcript: &Transcript) -> String {
    let mut words: Vec<String> = transcript
        .events
        .iter()
        .map(|event| match event {
            Seen::Interim(status) => format!("interim {status}"),
            Seen::Head { status, framing, keep_alive, .. } => {
                format!("head {status} {framing:?} {keep_alive}")
            }
            Seen::Body(bytes) => format!("body {}", bytes.escape_ascii()),
            Seen::End(end) => format!("end {}", end.body_bytes),
        })
        .collect();
    words.push(match transcript.finish {
        Ok(Finish::Idle) => "idle".to_owned(),
        Ok(Finish::BodyEnd(end)) => format!("end by close {}", end.body_bytes),
        Err(error) => error.code().to_owned(),
    });
    words.join("; ")
}

#[test]
fn complete_responses() {
    normal("", "idle");
    normal(
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "head 200 Length(5) true; body hello; end 5; idle",
    );
    normal("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "head 200 Length(0) true; end 0; idle");
    normal(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x=y\r\nd\r\n0\r\nA: b\r\n\r\n",
        "head 200 Chunked true; body abcd; end 4; idle",
    );
    normal(
        "HTTP/1.0 200 OK\r\n\r\nuntil close",
        "head 200 UntilClose false; body until close; end by close 11",
    );
    normal("HTTP/1.1 204 No Content\r\n\r\n", "head 204 Empty true; end 0; idle");
    normal("HTTP/1.1 304 x\r\nContent-Length: 9\r\n\r\n", "head 304 Empty true; end 0; idle");
    check(
        RequestKind::Head,
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "head 200 Empty true; end 0; head 200 Empty true; end 0; idle",
    );
}

#[test]
fn bare_line_feeds_end_the_lines_of_a_head() {
    normal("HTTP/1.1 200 OK\nContent-Length: 1\n\nx", "head 200 Length(1) true; body x; end 1; idle");
    normal("HTTP/1.1 200 OK\r\nContent-Length: 1\n\r\nx", "head 200 Length(1) true; body x; end 1; idle");
}

#[test]
fn interim_responses() {
    let last = "HTTP/1.1 204 x\r\n\r\n";
    let interim = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
    normal(&format!("{interim}{last}"), "interim 103; head 204 Empty true; end 0; idle");
    normal(
        &format!("{interim}{interim}{last}{interim}{last}"),
        "interim 103; interim 103; head 204 Empty true; end 0; interim 103; head 204 Empty true; end 0; idle",
    );
    normal(&interim.repeat(3), "interim 103; interim 103; too-many-interim");
    normal(interim, "interim 103; closed-in-head");
    normal("HTTP/1.1 101 x\r\n\r\n", "upgrade");
}

#[test]
fn other_protocols() {
    normal("\x15\x03\x01\x00\x02\x02\x46", "tls");
    normal("\x00\x00\x12\x04\x00\x00\x00\x00\x00", "http2");
    normal("HTTP/2 200\r\n\r\n", "http2");
    normal("HTTP/1.2 200 OK\r\n\r\n", "http-version");
    normal("SSH-2.0-OpenSSH_9.2\r\n", "not-http");
    normal("220 mail ESMTP\r\n", "not-http");
    normal("\r\nHTTP/1.1 204 x\r\n\r\n", "stray-line");
}

#[test]
fn a_body_longer_than_announced_shows_at_the_next_response() {
    let short = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    normal(&format!("{short}\r\n{short}"), "head 200 Length(1) true; body x; end 1; stray-line");
    normal(&format!("{short}y"), "head 200 Length(1) true; body x; end 1; not-http");
}

#[test]
fn malformed_heads() {
    for (head, code) in [
        ("HTTP/1.1 OK", "status-line"),
        ("HTTP/1.1", "status-line"),
        ("HTTP/1.1 700 x", "status-range"),
        ("HTTP/1.1 200 OK\r\nA b", "header-name"),
        ("HTTP/1.1 200 OK\r\nA: \x01", "header-value"),
        ("HTTP/1.1 200 OK\r\n\rA: b", "line-end"),
        ("HTTP/1.1 200 OK\r\nA: b\r\n\tc", "folded-header"),
        ("HTTP/1.1 200 OK\r\nA:1\r\nB:2\r\nC:3\r\nD:4", "too-many-headers"),
        ("HTTP/1.1 200 OK\r\nContent-Length: -1", "content-length"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1, 2", "content-length-conflict"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked;q", "transfer-encoding"),
        ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked", "transfer-encoding-in-http10"),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: a\r\nContent-Length: 1",
            "transfer-encoding-and-content-length",
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 31", "body-too-long"),
    ] {
        normal(&format!("{head}\r\n\r\n"), code);
    }
}

#[test]
fn malformed_bodies() {
    for (body, outcome) in [
        ("\r\n", "chunk-size"),
        ("11111111111111111", "chunk-size-overflow"),
        ("1;aaaaaaaaaaaaaaaaa", "chunk-line-too-long"),
        ("1\r\nxy", "body x; chunk-end"),
        ("0\r\nHTTP/1.1", "trailer"),
        ("0\r\nA: aaaaaaaaaaaaaaaa", "trailers-too-long"),
        ("1F\r\n", "body-too-long"),
    ] {
        let answer = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
        normal(&answer, &format!("head 200 Chunked true; {outcome}"));
    }
}

#[test]
fn endless_answers() {
    let fill = |length: usize| "x".repeat(length);
    // A head of exactly the limit is read.
    normal(&format!("HTTP/1.1 204 {}\r\n\r\n", fill(80 - 17)), "head 204 Empty true; end 0; idle");
    normal(&format!("HTTP/1.1 204 {}\r\n\r\n", fill(80 - 16)), "head-too-long");
    normal(&format!("HTTP/1.1 204 {}", fill(1000)), "head-too-long");
    let until_close = "HTTP/1.1 200 OK\r\n\r\n";
    let thirty = fill(30);
    normal(
        &format!("{until_close}{thirty}"),
        &format!("head 200 UntilClose false; body {thirty}; end by close 30"),
    );
    normal(
        &format!("{until_close}{}", fill(31)),
        &format!("head 200 UntilClose false; body {thirty}; body-too-long"),
    );
}

#[test]
fn early_closes() {
    for start in ["H", "HTTP/1.1 200 OK\r\nContent-Le", "\x15"] {
        normal(start, "closed-in-head");
    }
    normal(
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
        "head 200 Length(5) true; body hel; closed-in-body",
    );
    for (body, seen) in [("", ""), ("5", ""), ("1\r\nx\r\n0\r\n", "body x; ")] {
        normal(
            &format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}"),
            &format!("head 200 Chunked true; {seen}closed-in-chunks"),
        );
    }
}

#[test]
fn a_close_before_the_end_was_asked_for_is_the_end() {
    let answer = &b"HTTP/1.1 204 x\r\n\r\n"[..];
    let mut shared = HeadCache::new(RequestKind::Normal, LIMITS);
    let mut parser = ResponseParser::new();
    parser.next(&mut shared, answer).unwrap();
    assert!(!parser.is_idle());
    assert!(matches!(parser.finish(), Ok(Finish::BodyEnd(end)) if end.status == 204));
}

#[test]
fn a_reset_parser_is_like_a_new_one() {
    let mut shared = HeadCache::new(RequestKind::Normal, LIMITS);
    let mut parser = ResponseParser::new();
    for spoiled in ["nonsense", "HTTP/1.1 103 x\r\n\r\n", "HTTP/1.1 20", "HTTP/1.1 200 OK\r\n\r\nbody"] {
        let mut input = spoiled.as_bytes();
        while let Ok(step) = parser.next(&mut shared, input) {
            if step.event.is_none() {
                break;
            }
            input = &input[step.consumed..];
        }
        assert!(!parser.is_idle(), "{spoiled:?}");
        parser.reset();
        assert!(parser.is_idle(), "{spoiled:?}");
        assert_eq!(parser.finish(), Ok(Finish::Idle), "{spoiled:?}");
    }
}

#[test]
fn whole_takes_what_is_all_there() {
    let page = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let mut shared = HeadCache::new(RequestKind::Normal, LIMITS);
    let parser = ResponseParser::new();
    assert_eq!(parser.whole(&mut shared, page.as_bytes()), None, "an unknown head");
    read(cut(page.as_bytes(), &[]), &mut shared, Way::Next);
    let twice = page.repeat(2);
    let whole = parser.whole(&mut shared, twice.as_bytes()).expect("a known head");
    assert_eq!((whole.consumed, whole.body, whole.end().body_bytes), (page.len(), &b"hello"[..], 5));
    assert_eq!(parser.whole(&mut shared, &page.as_bytes()[..page.len() - 1]), None, "a missing byte");
    let mut busy = ResponseParser::new();
    busy.next(&mut shared, b"HTTP").unwrap();
    assert_eq!(busy.whole(&mut shared, page.as_bytes()), None, "a head under way");
    assert_eq!(busy.finish(), Err(ProtocolError::ClosedEarly { during: prony_http::Part::Head }));
}

#[test]
fn a_parser_fits_in_a_cache_line() {
    assert!(size_of::<ResponseParser>() <= 64, "{}", size_of::<ResponseParser>());
}
