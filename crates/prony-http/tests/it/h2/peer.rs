//! What a scripted server writes, and what it sees of the client.

use prony_http::Request;
use prony_http::h2::for_tests::BlockDecoder;
use prony_http::h2::{Connection, EncodedRequest, Limits, Scheme, Shared, Stream};

use super::transcript::{Seen, feed};

pub(super) const END_STREAM: u8 = 0x1;
pub(super) const ACK: u8 = 0x1;
pub(super) const END_HEADERS: u8 = 0x4;
pub(super) const PADDED: u8 = 0x8;
pub(super) const PRIORITY: u8 = 0x20;

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const PRIORITY_FRAME: u8 = 2;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PUSH_PROMISE: u8 = 5;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

/// `:status: 200` in the static table.
pub(super) const OK: &[u8] = &[0x88];

/// A frame, whether it is allowed or not.
pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

pub(super) fn settings(settings: &[(u16, u32)]) -> Vec<u8> {
    let payload =
        settings.iter().flat_map(|(id, value)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat());
    frame(SETTINGS, 0, 0, &payload.collect::<Vec<u8>>())
}

/// Fields as literals that leave all tables alone.
pub(super) fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            assert!(text.len() < 127);
            block.push(u8::try_from(text.len()).unwrap());
            block.extend_from_slice(text.as_bytes());
        }
    }
    block
}

pub(super) fn headers(stream: u32, fields: &[(&str, &str)], flags: u8) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | flags, stream, &block(fields))
}

pub(super) fn data(stream: u32, bytes: &[u8], flags: u8) -> Vec<u8> {
    frame(DATA, flags, stream, bytes)
}

pub(super) fn number(kind: u8, stream: u32, number: u32) -> Vec<u8> {
    frame(kind, 0, stream, &number.to_be_bytes())
}

pub(super) fn go_away(last_stream: u32, code: u32, debug: &[u8]) -> Vec<u8> {
    frame(GOAWAY, 0, 0, &[&last_stream.to_be_bytes()[..], &code.to_be_bytes(), debug].concat())
}

/// A client with its connection, before a server has sent anything.
pub(super) struct Client {
    pub(super) shared: Shared,
    pub(super) connection: Connection,
    pub(super) out: Vec<u8>,
    decoder: BlockDecoder,
}

/// A frame that the client sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
    pub(super) payload: Vec<u8>,
}

impl Client {
    pub(super) fn new(request: &Request, limits: Limits) -> Self {
        let request = EncodedRequest::new(request, Scheme::Http).unwrap();
        let shared = Shared::new(request, limits);
        let connection = Connection::new(&shared);
        Self { shared, connection, out: Vec::new(), decoder: BlockDecoder::new(1 << 20, 1000) }
    }

    /// A client that has sent its preface and so many requests without a body, and has read empty SETTINGS.
    pub(super) fn with_requests(count: u16) -> Self {
        let mut client = Self::new(&Request::get("a", "/"), Limits::default());
        client.connection.preface(&client.shared, &mut client.out);
        for _ in 0..count {
            client.send();
        }
        let seen = client.read(&settings(&[]));
        assert_eq!(seen, [Seen::Settings(u32::MAX)]);
        client.out.clear();
        client
    }

    pub(super) fn send(&mut self) -> Stream {
        self.connection.send_request(&self.shared, &mut self.out).unwrap()
    }

    /// What the client makes of these bytes; the last of it may be an error.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Vec<Seen> {
        let mut seen = Vec::new();
        feed(&mut self.connection, &mut self.shared, bytes, &mut self.out, &mut seen, |_, _, _, _| {});
        seen
    }

    /// The frames that the client has sent since.
    pub(super) fn sent(&mut self) -> Vec<Sent> {
        let bytes = std::mem::take(&mut self.out);
        let mut rest = bytes.strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap_or(&bytes);
        let mut frames = Vec::new();
        while let [a, b, c, kind, flags, s0, s1, s2, s3, payload @ ..] = rest {
            let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
            assert!(length <= 16_384, "too long a frame");
            let stream = u32::from_be_bytes([*s0, *s1, *s2, *s3]);
            let (payload, after) = payload.split_at(length);
            frames.push(Sent { kind: *kind, flags: *flags, stream, payload: payload.to_vec() });
            rest = after;
        }
        assert!(rest.is_empty(), "the client sent half a frame");
        frames
    }

    /// The fields of a request's head.
    pub(super) fn fields(&mut self, sent: &Sent) -> Vec<(Vec<u8>, Vec<u8>)> {
        assert_eq!(sent.kind, HEADERS);
        self.decoder.decode(&sent.payload).unwrap()
    }
}
