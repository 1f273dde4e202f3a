//! Flow control: bodies in both directions against a server that counts every byte.

use std::collections::BTreeMap;

use prony_http::Request;
use prony_http::h2::Limits;
use proptest::collection::vec;
use proptest::prelude::*;

use super::peer::*;
use super::transcript::Seen;

fn post(bytes: usize) -> Request {
    let body = (0..=u8::MAX).cycle().take(bytes).collect();
    Request { method: "POST".to_owned(), body, ..Request::get("a", "/") }
}

/// A server that takes bodies within the windows that it has given.
struct Taker {
    connection: i64,
    initial: i64,
    streams: BTreeMap<u32, (i64, Vec<u8>, bool)>,
}

impl Taker {
    fn new() -> Self {
        Self { connection: 65_535, initial: 65_535, streams: BTreeMap::new() }
    }

    /// Takes what the client has sent: it must keep within all windows.
    fn take(&mut self, client: &mut Client) {
        for sent in client.sent() {
            match sent.kind {
                HEADERS => {
                    self.streams.insert(sent.stream, (self.initial, Vec::new(), false));
                }
                DATA => {
                    let (window, body, ended) = self.streams.get_mut(&sent.stream).unwrap();
                    assert!(!*ended, "data behind the end");
                    let bytes = i64::try_from(sent.payload.len()).unwrap();
                    *window -= bytes;
                    self.connection -= bytes;
                    assert!(*window >= 0 && self.connection >= 0, "more than a window allows");
                    body.extend_from_slice(&sent.payload);
                    *ended = sent.flags & END_STREAM != 0;
                }
                _ => {}
            }
        }
    }

    fn take_all(&mut self, client: &mut Client) {
        self.take(client);
        while client.connection.has_more() {
            client.connection.send_more(&client.shared, &mut client.out);
            assert!(client.out.len() <= 5 * 16_393, "a body takes memory: {}", client.out.len());
            assert!(!client.out.is_empty(), "it reported that there was more");
            self.take(client);
        }
    }

    fn open_window(&mut self, client: &mut Client, stream: u32, bytes: u32) {
        match self.streams.get_mut(&stream) {
            Some((window, ..)) => *window += i64::from(bytes),
            None => self.connection += i64::from(bytes),
        }
        assert_eq!(client.read(&number(WINDOW_UPDATE, stream, bytes)), []);
    }

    fn settings(&mut self, client: &mut Client, initial: u32) {
        let change = i64::from(initial) - self.initial;
        self.initial = i64::from(initial);
        self.streams.values_mut().for_each(|(window, ..)| *window += change);
        assert_eq!(client.read(&settings(&[(4, initial)])), [Seen::Settings(u32::MAX)]);
    }
}

#[test]
fn a_body_over_64_kib_waits_for_the_window() {
    let request = post(200_000);
    let mut client = Client::new(&request, Limits::default());
    let mut server = Taker::new();
    client.send();
    client.read(&settings(&[]));
    server.take_all(&mut client);
    assert_eq!(server.streams[&1].1.len(), 65_535);
    server.open_window(&mut client, 0, 1 << 20);
    server.take_all(&mut client);
    assert_eq!(server.streams[&1].1.len(), 65_535, "the stream's own window is empty");
    server.open_window(&mut client, 1, 1);
    server.take_all(&mut client);
    assert_eq!(server.streams[&1].1.len(), 65_536);
    server.open_window(&mut client, 1, 1 << 20);
    server.take_all(&mut client);
    assert_eq!(server.streams[&1], (server.streams[&1].0, request.body, true));
}

#[test]
fn a_window_that_shrinks_below_nothing() {
    let mut client = Client::new(&post(100_000), Limits::default());
    let mut server = Taker::new();
    client.send();
    client.read(&settings(&[]));
    server.take_all(&mut client);
    server.open_window(&mut client, 0, 1 << 20);
    server.settings(&mut client, 10);
    assert_eq!(server.streams[&1].0, 10 - 65_535);
    server.open_window(&mut client, 1, 65_525);
    server.take_all(&mut client);
    assert_eq!(server.streams[&1].1.len(), 65_535, "that only made it nothing");
    server.open_window(&mut client, 1, 5);
    server.take_all(&mut client);
    assert_eq!(server.streams[&1].1.len(), 65_540);
}

#[test]
fn bodies_take_turns() {
    let mut client = Client::new(&post(60_000), Limits::default());
    let mut server = Taker::new();
    client.read(&settings(&[]));
    for _ in 0..4 {
        client.send();
    }
    server.take_all(&mut client);
    let before: Vec<usize> = server.streams.values().map(|(_, body, _)| body.len()).collect();
    for _ in 0..3 {
        server.open_window(&mut client, 0, 16_384);
        server.take_all(&mut client);
    }
    let after: Vec<usize> = server.streams.values().map(|(_, body, _)| body.len()).collect();
    let advanced = before.iter().zip(&after).filter(|(before, after)| after > before).count();
    assert_eq!(advanced, 3, "{before:?} {after:?}");
}

#[test]
fn an_answer_before_the_body_is_sent_ends_the_request() {
    let mut client = Client::new(&post(100_000), Limits::default());
    client.send();
    client.read(&settings(&[]));
    client.sent();
    let seen = client.read(&headers(1, &[(":status", "413")], END_STREAM));
    assert_eq!(seen[1], Seen::End { stream: 1, status: 413, body_bytes: 0, early: true });
    let sent = client.sent();
    assert_eq!((sent.len(), sent[0].kind, &sent[0].payload[..]), (1, RST_STREAM, &[0, 0, 0, 8][..]));
    // A server that wants no more of it may say so, too.
    assert_eq!(client.read(&[number(RST_STREAM, 1, 0), number(WINDOW_UPDATE, 0, 99_999)].concat()), []);
    assert_eq!(client.sent(), [], "nothing is left to send");
}

proptest! {
    #[test]
    fn bodies_arrive_whole_whatever_the_windows_do(
        body_bytes in 0..150_000_usize,
        requests in 1..6_u16,
        steps in vec((0..8_u32, 1..70_000_u32), 0..60),
    ) {
        let request = post(body_bytes);
        let mut client = Client::new(&request, Limits::default());
        let mut server = Taker::new();
        client.read(&settings(&[]));
        for _ in 0..requests {
            client.send();
        }
        server.take_all(&mut client);
        for (what, bytes) in steps {
            let stream = what * 2 + 1;
            match what {
                0 => server.settings(&mut client, bytes),
                _ if server.streams.contains_key(&stream) => server.open_window(&mut client, stream, bytes),
                _ => server.open_window(&mut client, 0, bytes),
            }
            server.take_all(&mut client);
        }
        // Then it opens all windows wide.
        server.open_window(&mut client, 0, 1 << 20);
        for stream in 0..requests {
            server.open_window(&mut client, u32::from(stream) * 2 + 1, 1 << 20);
        }
        server.take_all(&mut client);
        for (_, body, ended) in server.streams.values() {
            prop_assert_eq!(body, &request.body);
            prop_assert!(*ended || body_bytes == 0);
        }
    }

    #[test]
    fn a_server_is_never_left_without_a_window(
        pieces in vec((0..3_u32, 0..16_384_usize, 0..255_usize), 1..200),
    ) {
        let limits = Limits {
            streams: 3,
            stream_window_bytes: 65_535,
            connection_window_bytes: 100_000,
            ..Limits::default()
        };
        let mut client = Client::new(&Request::get("a", "/"), limits);
        client.connection.preface(&client.shared, &mut client.out);
        let mut windows = BTreeMap::from([(0, 65_535_i64), (1, 65_535), (3, 65_535), (5, 65_535)]);
        let mut body = BTreeMap::new();
        client.read(&settings(&[]));
        for stream in [1, 3, 5] {
            client.send();
            client.read(&headers(stream, &[(":status", "200")], 0));
        }
        for (stream, bytes, padding) in pieces {
            for sent in client.sent().iter().filter(|sent| sent.kind == WINDOW_UPDATE) {
                let added = u32::from_be_bytes(sent.payload[..].try_into().unwrap());
                *windows.get_mut(&sent.stream).unwrap() += i64::from(added);
            }
            let stream = stream * 2 + 1;
            let bytes = bytes.min(16_384 - 256);
            let payload = [&[u8::try_from(padding).unwrap()][..], &vec![b'x'; bytes + padding]].concat();
            let counted = i64::try_from(payload.len()).unwrap();
            for id in [0, stream] {
                let window = windows.get_mut(&id).unwrap();
                prop_assert!(*window >= counted, "a server would wait for ever");
                *window -= counted;
            }
            let seen = client.read(&frame(DATA, PADDED, stream, &payload));
            prop_assert!(!matches!(seen.last(), Some(Seen::Failed(_))), "{seen:?}");
            *body.entry(stream).or_insert(0) += bytes;
        }
        for (stream, bytes) in body {
            let seen = client.read(&data(stream, b"", END_STREAM));
            let end = Seen::End { stream, status: 200, body_bytes: bytes as u64, early: false };
            prop_assert_eq!(seen, [end]);
        }
    }
}
