//! Random answers for the properties: valid ones with what they must be read as, and spoiled ones.

use prony_http::{End, Finish, Framing};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::transcript::{Seen, Transcript};

/// A valid response: its bytes and the events that it must give.
#[derive(Debug, Clone)]
pub(crate) struct Response {
    pub(crate) bytes: Vec<u8>,
    pub(crate) events: Vec<Seen>,
    pub(crate) until_close: bool,
}

/// Any valid response to a GET, small enough for default limits.
pub(crate) fn response() -> impl Strategy<Value = Response> {
    let interim = vec(select(&[100_u16, 102, 103, 199]), 0..3);
    let status = prop_oneof![Just(200_u16), Just(204), Just(304), 200..=599_u16];
    let padding = vec("[a-zA-Z-]{1,8}: ?[ -~\u{e9}]{0,20}", 0..4);
    (interim, status, body(), padding, any::<bool>(), any::<bool>()).prop_map(
        |(interim, status, body, padding, keep_alive, bare_lf)| {
            let eol = if bare_lf { "\n" } else { "\r\n" };
            let mut response = Response { bytes: Vec::new(), events: Vec::new(), until_close: false };
            for status in interim {
                response.bytes.extend(format!("HTTP/1.1 {status} wait{eol}{eol}").into_bytes());
                response.events.push(Seen::Interim(status));
            }
            // The prefix keeps a random name from being one that matters.
            let mut head = format!("HTTP/1.1 {status} Reason{eol}");
            for field in padding {
                head.extend(["X-", field.as_str(), eol]);
            }
            head += &body.field(eol);
            if !keep_alive {
                head.extend(["connection: Close, x", eol]);
            }
            head += eol;
            body.finish(&mut response, status, keep_alive, &head);
            response
        },
    )
}

/// One to four responses in one stream, and the transcript of it. Only the last may end by a close.
pub(crate) fn stream() -> impl Strategy<Value = (Vec<u8>, Transcript)> {
    vec(response(), 1..5).prop_map(|responses| {
        let mut bytes = Vec::new();
        let mut events = Vec::new();
        for response in responses {
            bytes.extend(response.bytes);
            events.extend(response.events);
            if response.until_close {
                let Some(Seen::End(end)) = events.pop() else { unreachable!("every response has an end") };
                return (bytes, Transcript { events, finish: Ok(Finish::BodyEnd(end)) });
            }
        }
        (bytes, Transcript { events, finish: Ok(Finish::Idle) })
    })
}

/// A valid stream with some bytes changed, left out or put in, or its end missing; or no HTTP at all.
pub(crate) fn spoiled() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![any::<u8>(), select(&b"\r\n\t :;,0159af-HT/\x15\x16\x03\x00"[..])];
    let change = (any::<Index>(), 0..4_u8, byte);
    let changed = (stream(), vec(change, 1..6)).prop_map(|((mut bytes, _), changes)| {
        for (place, what, byte) in changes {
            let at = place.index(bytes.len() + 1);
            match what {
                0 if at < bytes.len() => bytes[at] = byte,
                1 if at < bytes.len() => drop(bytes.remove(at)),
                2 => bytes.insert(at, byte),
                _ => bytes.truncate(at),
            }
        }
        bytes
    });
    prop_oneof![8 => changed, 1 => vec(any::<u8>(), 0..200)]
}

#[derive(Debug, Clone)]
enum Body {
    Length(Vec<u8>),
    Chunked { chunks: Vec<Vec<u8>>, extension: &'static str, trailer: &'static str },
    UntilClose(Vec<u8>),
}

fn body() -> impl Strategy<Value = Body> {
    let bytes = || vec(any::<u8>(), 0..60);
    let chunked = (
        vec(vec(any::<u8>(), 1..40), 0..4),
        select(&["", ";a", " ; a=\"b\"", "  "]),
        select(&["", "X: y\r\n", "X:y\nZ-z:\r\n"]),
    );
    prop_oneof![
        3 => bytes().prop_map(Body::Length),
        3 => chunked.prop_map(|(chunks, extension, trailer)| Body::Chunked { chunks, extension, trailer }),
        1 => bytes().prop_map(Body::UntilClose),
    ]
}

impl Body {
    fn field(&self, eol: &str) -> String {
        match self {
            Self::Length(bytes) => format!("Content-Length: {}{eol}", bytes.len()),
            Self::Chunked { .. } => format!("Transfer-Encoding: chunked{eol}"),
            Self::UntilClose(_) => String::new(),
        }
    }

    fn finish(self, response: &mut Response, status: u16, keep_alive: bool, head: &str) {
        let is_empty = matches!(status, 204 | 304);
        let (framing, content, coded) = match self {
            _ if is_empty => (Framing::Empty, Vec::new(), Vec::new()),
            Self::Length(bytes) => (Framing::Length(bytes.len() as u64), bytes.clone(), bytes),
            Self::UntilClose(bytes) => (Framing::UntilClose, bytes.clone(), bytes),
            Self::Chunked { chunks, extension, trailer } => {
                let mut coded = Vec::new();
                for chunk in &chunks {
                    coded.extend(format!("{:x}{extension}\r\n", chunk.len()).into_bytes());
                    coded.extend_from_slice(chunk);
                    coded.extend_from_slice(b"\r\n");
                }
                coded.extend(format!("0{extension}\r\n{trailer}\r\n").into_bytes());
                (Framing::Chunked, chunks.concat(), coded)
            }
        };
        response.until_close = framing == Framing::UntilClose;
        let keep_alive = keep_alive && !response.until_close;
        response.events.push(Seen::Head { status, framing, keep_alive, raw: head.as_bytes().to_vec() });
        let body_bytes = content.len() as u64;
        if body_bytes > 0 {
            response.events.push(Seen::Body(content));
        }
        response.events.push(Seen::End(End { status, keep_alive, body_bytes }));
        response.bytes.extend_from_slice(head.as_bytes());
        response.bytes.extend(coded);
    }
}
