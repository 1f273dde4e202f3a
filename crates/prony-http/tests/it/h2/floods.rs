//! Servers that send what is allowed one by one and never ends.

use prony_http::Request;
use prony_http::h2::{Http2Error, Limits};

use super::peer::*;
use super::transcript::Seen;

const LIMITS: Limits = Limits {
    streams: 4,
    stream_window_bytes: 1 << 20,
    connection_window_bytes: 1 << 20,
    block_bytes: 20_000,
    list_bytes: 10_000,
    fields: 50,
    body_bytes: 100_000,
    interim_responses: 4,
    barren_frames: 100,
};

/// A client with one request in flight, whose head has come, and one that was given up.
fn client() -> Client {
    let mut client = Client::new(&Request::get("a", "/"), LIMITS);
    client.send();
    client.read(&[settings(&[]), frame(HEADERS, END_HEADERS, 1, OK)].concat());
    let given_up = client.send();
    client.connection.cancel(given_up, &mut client.out);
    client.out.clear();
    client
}

fn is_calmed(mut client: Client, frame: &[u8], error: Http2Error) {
    // Each frame alone is allowed, and answers are read at once.
    for _ in 0..200 {
        match &client.read(frame)[..] {
            [.., Seen::Failed(found)] => {
                assert_eq!(*found, error);
                let sent = client.sent();
                assert_eq!(sent.last().unwrap().payload[4..], [0, 0, 0, 11], "ENHANCE_YOUR_CALM");
                return;
            }
            _ => client.out.clear(),
        }
    }
    panic!("it is read without end");
}

#[test]
fn frames_that_bring_nothing_forward() {
    let error = Http2Error::Flood { limit: 100 };
    for kind in [
        settings(&[]),
        settings(&[(4, 1)]),
        frame(SETTINGS, ACK, 0, &[]),
        frame(PING, 0, 0, &[7; 8]),
        frame(PING, ACK, 0, &[7; 8]),
        data(1, b"", 0),
        frame(DATA, PADDED, 1, &[2, 0, 0]),
        data(3, b"for the one that was given up", 0),
        frame(HEADERS, END_HEADERS, 3, OK),
        frame(PRIORITY_FRAME, 0, 1, &[0; 5]),
        number(RST_STREAM, 3, 8),
        number(WINDOW_UPDATE, 0, 1),
        number(WINDOW_UPDATE, 1, 1),
        number(WINDOW_UPDATE, 3, 1),
        go_away(0x7fff_ffff, 0, b""),
        frame(0xbe, 0, 0, b"unknown"),
    ] {
        is_calmed(client(), &kind, error);
    }
}

#[test]
fn progress_ends_a_flood() {
    let mut client = client();
    for _ in 0..20 {
        let pings = frame(PING, 0, 0, &[7; 8]).repeat(90);
        assert_eq!(client.read(&pings), []);
        assert_eq!(client.read(&data(1, b"x", 0)), [Seen::Data(1, b"x".to_vec())]);
    }
}

#[test]
fn a_server_that_reads_no_answers() {
    let limits = Limits { barren_frames: u32::MAX, ..LIMITS };
    let mut client = Client::new(&Request::get("a", "/"), limits);
    client.read(&settings(&[]));
    let pings = frame(PING, 0, 0, &[7; 8]).repeat(1000);
    for _ in 0..100 {
        if let [Seen::Failed(error)] = client.read(&pings)[..] {
            assert_eq!(error, Http2Error::AnswersUnread { limit_bytes: 1 << 20 });
            assert!(client.out.len() < (1 << 20) + 100);
            return;
        }
    }
    panic!("answers pile up without end");
}

#[test]
fn continuations_without_end() {
    let begun = || {
        let mut client = client();
        client.send();
        client.read(&frame(HEADERS, 0, 5, &[]));
        client
    };
    is_calmed(begun(), &frame(CONTINUATION, 0, 5, &[]), Http2Error::TooManyContinuations { limit: 64 });
    let long = frame(CONTINUATION, 0, 5, &[b'x'; 5000]);
    is_calmed(begun(), &long, Http2Error::BlockTooLong { limit_bytes: 20_000 });
}

#[test]
fn lists_of_fields_that_expand() {
    let sent = |block: &[u8], error: Http2Error| {
        let mut client = client();
        client.send();
        is_calmed(client, &frame(HEADERS, END_HEADERS, 5, block), error);
    };
    // 4,000 bytes in the table, and each further byte of the block names them again.
    let mut bomb = [&[0x88, 0x61, 0x7f][..], &[0xa1, 0x1e]].concat();
    bomb.extend_from_slice(&[b'x'; 4000]);
    bomb.extend_from_slice(&[0xbe; 10_000]);
    sent(&bomb, Http2Error::ListTooLong { limit_bytes: 10_000 });
    sent(&[0x88; 51], Http2Error::TooManyFields { limit: 50 });
}

#[test]
fn bodies_without_end() {
    let mut client = client();
    let mut seen = Vec::new();
    for _ in 0..20 {
        seen.extend(client.read(&data(1, &[b'x'; 10_000], 0)));
    }
    assert_eq!(seen.last(), Some(&Seen::Malformed(1, Http2Error::BodyTooLong)));
}

#[test]
fn resets_of_all_requests_are_failures_not_a_flood() {
    let mut client = Client::with_requests(0);
    for _ in 0..20_000 {
        let stream = client.send().id;
        let seen = client.read(&number(RST_STREAM, stream, 7));
        assert!(matches!(seen[..], [Seen::Reset { refused: true, .. }]));
        client.out.clear();
    }
}
