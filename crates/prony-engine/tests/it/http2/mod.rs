//! HTTP/2 against servers that do frame by frame what a script says.

mod broken;
mod load;
mod refused;
mod retries;
mod sessions;
mod truth;

use std::collections::{BTreeMap, VecDeque};

use prony_http::h2::for_tests::BlockDecoder;
use prony_model::{RequestPlan, RunPlan, RunResult, Version};

use crate::plans::{closed, get, plan, requests};
use crate::server::Peer;

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const ACK: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

/// `:status: 200`, of the static table.
pub(crate) const STATUS_200: &[u8] = &[0x88];

/// A frame as it stands on the wire.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a short payload").to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// A setting in the payload of SETTINGS.
pub(crate) fn setting(id: u16, value: u32) -> Vec<u8> {
    [&id.to_be_bytes()[..], &value.to_be_bytes()].concat()
}

/// A 200 with `body`, in frames that a client must take.
pub(crate) fn answer(stream: u32, body: &[u8]) -> Vec<u8> {
    let mut frames = frame(HEADERS, END_HEADERS, stream, STATUS_200);
    let mut pieces = body.chunks(16_384).peekable();
    while let Some(piece) = pieces.next() {
        let flags = if pieces.peek().is_some() { 0 } else { END_STREAM };
        frames.extend(frame(DATA, flags, stream, piece));
    }
    if body.is_empty() {
        frames.extend(frame(DATA, END_STREAM, stream, b""));
    }
    frames
}

pub(crate) fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &code.to_be_bytes())
}

pub(crate) fn go_away(last: u32, code: u32, words: &[u8]) -> Vec<u8> {
    frame(GOAWAY, 0, 0, &[&last.to_be_bytes()[..], &code.to_be_bytes(), words].concat())
}

/// What a client sent.
pub(crate) enum Sent {
    /// A whole request on this stream, with its body.
    Request(u32, Vec<u8>),
    /// It gave this stream up, with this code.
    Reset(u32, u32),
}

/// A server's side of a connection.
pub(crate) struct Frames<'a> {
    pub(crate) peer: &'a mut Peer,
    /// Bodies that are not complete, by stream.
    open: Vec<(u32, Vec<u8>)>,
    found: VecDeque<Sent>,
    decoder: BlockDecoder,
    /// The fields of requests, by stream.
    fields: BTreeMap<u32, Vec<(String, String)>>,
}

impl<'a> Frames<'a> {
    /// Reads the preface and sends SETTINGS with `settings`; `None` where the client has gone.
    pub(crate) fn begin(peer: &'a mut Peer, settings: &[u8]) -> Option<Self> {
        let preface = peer.take(24)?;
        assert_eq!(preface, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        peer.answer(&frame(SETTINGS, 0, 0, settings));
        let (open, found, fields) = (Vec::new(), VecDeque::new(), BTreeMap::new());
        Some(Self { peer, open, found, decoder: BlockDecoder::new(1 << 20, 1000), fields })
    }

    /// The next thing that the client sent beyond what the protocol itself needs; `None` where it has gone.
    pub(crate) fn next(&mut self) -> Option<Sent> {
        loop {
            if let Some(sent) = self.found.pop_front() {
                return Some(sent);
            }
            self.read()?;
        }
    }

    /// The stream of the next request.
    pub(crate) fn request(&mut self) -> Option<u32> {
        loop {
            if let Sent::Request(stream, _) = self.next()? {
                return Some(stream);
            }
        }
    }

    /// The next requests with their bodies: all that have come, and one at least.
    pub(crate) fn requests(&mut self) -> Option<Vec<(u32, Vec<u8>)>> {
        let mut requests = Vec::new();
        while requests.is_empty() || self.peer.has_more() || !self.found.is_empty() {
            match self.found.pop_front() {
                Some(Sent::Request(stream, body)) => requests.push((stream, body)),
                Some(Sent::Reset(..)) => {}
                None => self.read()?,
            }
        }
        Some(requests)
    }

    /// The value of a field of the request on `stream`, once.
    pub(crate) fn field(&self, stream: u32, name: &str) -> Option<&str> {
        let mut fields = self.fields.get(&stream)?.iter().filter(|(found, _)| found == name);
        let (_, value) = fields.next()?;
        assert!(fields.next().is_none(), "{name} stands there twice");
        Some(value)
    }

    fn read(&mut self) -> Option<()> {
        let head = self.peer.take(9)?;
        let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        let (kind, flags) = (head[3], head[4]);
        let stream = u32::from_be_bytes(head[5..9].try_into().expect("four bytes"));
        let payload = self.peer.take(length)?;
        match kind {
            HEADERS => {
                let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
                let fields = self.decoder.decode(&payload).expect("a block that can be decoded");
                let fields = fields.into_iter().map(|(name, value)| (text(name), text(value))).collect();
                self.fields.insert(stream, fields);
                self.open.push((stream, Vec::new()));
                assert!(flags & END_HEADERS != 0, "a short request");
            }
            DATA => {
                let (_, body) =
                    self.open.iter_mut().find(|(open, _)| *open == stream).expect("an open stream");
                body.extend(&payload);
                let room = u32::try_from(length).expect("a frame").to_be_bytes();
                if length > 0 {
                    self.peer.answer(&frame(WINDOW_UPDATE, 0, 0, &room));
                    self.peer.answer(&frame(WINDOW_UPDATE, 0, stream, &room));
                }
            }
            SETTINGS if flags & ACK == 0 => drop(self.peer.answer(&frame(SETTINGS, ACK, 0, b""))),
            PING if flags & ACK == 0 => drop(self.peer.answer(&frame(PING, ACK, 0, &payload))),
            RST_STREAM => {
                let code = u32::from_be_bytes(payload[..4].try_into().expect("four bytes"));
                self.open.retain(|(open, _)| *open != stream);
                self.found.push_back(Sent::Reset(stream, code));
            }
            _ => {}
        }
        if matches!(kind, HEADERS | DATA) && flags & END_STREAM != 0 {
            let at = self.open.iter().position(|(open, _)| *open == stream).expect("an open stream");
            self.peer.count_request();
            self.found.push_back(Sent::Request(stream, self.open.remove(at).1));
        }
        Some(())
    }
}

/// Answers each request with `hello`.
pub(crate) fn serve(peer: &mut Peer) {
    let Some(mut frames) = Frames::begin(peer, b"") else { return };
    while let Some(stream) = frames.request()
        && frames.peer.answer(&answer(stream, b"hello"))
    {}
}

/// A GET with so many streams.
pub(crate) fn streams(count: u32) -> RequestPlan {
    RequestPlan { version: Version::Http2, pipeline: count, ..get() }
}

/// `count` requests of `url` over so many connections with so many streams.
pub(crate) fn load(url: &str, connections: u32, streams_each: u32, count: u64) -> RunPlan {
    RunPlan { request: streams(streams_each), load: closed(connections), end: requests(count), ..plan(url) }
}

/// How often the server refused a request that was sent again.
pub(crate) fn refused(result: &RunResult) -> u64 {
    result.http2.expect("HTTP/2 was spoken").refused
}
