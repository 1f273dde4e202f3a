//! A server that breaks each rule that RFC 9113 calls a connection error, one at a time.

use prony_http::Request;
use prony_http::h2::{Blocked, FrameKind, HpackError, Http2Error, Limits};

use super::peer::*;
use super::transcript::Seen;

/// After three requests, the first of them answered in full and the second in part, `bytes` end the connection.
fn check(bytes: &[Vec<u8>], error: Http2Error, wire_code: u32) {
    let mut client = Client::with_requests(3);
    let before = [frame(HEADERS, END_HEADERS | END_STREAM, 1, OK), frame(HEADERS, END_HEADERS, 3, OK)];
    assert_eq!(client.read(&before.concat()).len(), 3);
    let seen = client.read(&bytes.concat());
    assert_eq!(seen.last(), Some(&Seen::Failed(error)), "{seen:?}");
    let sent = client.sent();
    let last = sent.last().expect("a GOAWAY");
    assert_eq!((last.kind, last.stream), (GOAWAY, 0), "{error}");
    assert_eq!(last.payload, [[0; 4], wire_code.to_be_bytes()].concat(), "{error}");
    let again = client.connection.send_request(&client.shared, &mut client.out);
    assert_eq!(again, Err(Blocked::Failed));
    assert!(error.to_string().contains("RFC "), "which rule: {error}");
}

const PROTOCOL_ERROR: u32 = 1;
const FLOW_CONTROL_ERROR: u32 = 3;
const STREAM_CLOSED: u32 = 5;
const FRAME_SIZE_ERROR: u32 = 6;
const COMPRESSION_ERROR: u32 = 9;

#[test]
fn section_3_4_the_first_frame_is_settings() {
    let first = |bytes: &[u8], error: Http2Error| {
        let mut client = Client::new(&Request::get("a", "/"), Limits::default());
        assert_eq!(client.read(bytes), [Seen::Failed(error)], "{bytes:x?}");
    };
    first(&frame(PING, 0, 0, &[0; 8]), Http2Error::NoSettings);
    first(&frame(SETTINGS, ACK, 0, &[]), Http2Error::NoSettings);
    first(&frame(GOAWAY, 0, 0, &[0; 8]), Http2Error::NoSettings);
    first(&[0; 9], Http2Error::NoSettings);
    first(b"HTTP/1.1 400 Bad Request\r\n", Http2Error::Http1);
    first(b"HTTP/1.0 505 x\r\n", Http2Error::Http1);
    first(b"SSH-2.0-OpenSSH\r\n", Http2Error::NoSettings);
    first(&[0x15, 3, 1, 0, 2, 2, 22, 0, 0], Http2Error::Tls);
    first(&[0x16, 3, 3, 0, 99, 2, 22, 0, 0], Http2Error::Tls);
}

#[test]
fn section_4_2_frame_sizes() {
    let long = vec![0; 16_385];
    for (kind, stream) in [(DATA, 3), (HEADERS, 3), (SETTINGS, 0), (GOAWAY, 0), (0xbe, 3)] {
        let error = Http2Error::FrameTooLong { kind: FrameKind(kind), bytes: 16_385 };
        check(&[frame(kind, 0, stream, &long)], error, FRAME_SIZE_ERROR);
    }
    for (kind, flags, stream, bytes) in [
        (PRIORITY_FRAME, 0, 3, 4),
        (PRIORITY_FRAME, 0, 3, 6),
        (RST_STREAM, 0, 3, 3),
        (RST_STREAM, 0, 3, 5),
        (SETTINGS, 0, 0, 5),
        (SETTINGS, 0, 0, 7),
        (SETTINGS, ACK, 0, 6),
        (PING, 0, 0, 7),
        (PING, ACK, 0, 9),
        (GOAWAY, 0, 0, 7),
        (WINDOW_UPDATE, 0, 0, 3),
        (WINDOW_UPDATE, 0, 3, 5),
        (DATA, PADDED, 3, 0),
        (HEADERS, PADDED, 3, 0),
        (HEADERS, PRIORITY, 3, 4),
    ] {
        let error = Http2Error::FrameLength { kind: FrameKind(kind), bytes: u32::try_from(bytes).unwrap() };
        check(&[frame(kind, flags, stream, &vec![0; bytes])], error, FRAME_SIZE_ERROR);
    }
}

#[test]
fn section_4_3_field_blocks() {
    let bad = |block: &[u8], error: HpackError| {
        check(&[frame(HEADERS, END_HEADERS, 5, block)], Http2Error::Compression(error), COMPRESSION_ERROR);
    };
    bad(&[0xbe], HpackError::Index);
    bad(&[0x80], HpackError::Index);
    bad(&[0x00, 0x05, b'a'], HpackError::Truncated);
    bad(&[0x3f, 0xe2, 0x1f], HpackError::TableSize);
    bad(&[0x88, 0x20], HpackError::LateTableSize);
    bad(&[0x00, 0x81, 0x00, 0x00], HpackError::Huffman);
    // Also where the block itself is of no more use.
    let mut client = Client::with_requests(1);
    let stream = client.send();
    client.connection.cancel(stream, &mut client.out);
    let seen = client.read(&frame(HEADERS, END_HEADERS, stream.id, &[0xbe]));
    assert_eq!(seen, [Seen::Failed(Http2Error::Compression(HpackError::Index))]);
}

#[test]
fn section_5_1_frames_on_streams_that_are_idle_or_closed() {
    let idle = |kind: u8, stream: u32, bytes: Vec<u8>| {
        check(&[bytes], Http2Error::IdleStream { kind: FrameKind(kind), stream }, PROTOCOL_ERROR);
    };
    for stream in [7, 9, 0x7fff_ffff, 2, 4] {
        idle(DATA, stream, data(stream, b"x", 0));
        idle(HEADERS, stream, frame(HEADERS, END_HEADERS, stream, OK));
        idle(RST_STREAM, stream, number(RST_STREAM, stream, 8));
        idle(WINDOW_UPDATE, stream, number(WINDOW_UPDATE, stream, 8));
    }
    let closed = |kind: u8, bytes: Vec<u8>| {
        let error = Http2Error::ClosedStream { kind: FrameKind(kind), stream: 1 };
        check(&[bytes], error, STREAM_CLOSED);
    };
    closed(DATA, data(1, b"x", 0));
    closed(HEADERS, frame(HEADERS, END_HEADERS | END_STREAM, 1, OK));
    // The server's own reset closes a stream, too.
    let error = Http2Error::ClosedStream { kind: FrameKind::DATA, stream: 3 };
    check(&[number(RST_STREAM, 3, 8), data(3, b"x", 0)], error, STREAM_CLOSED);
    // These may still be under way when a stream has ended.
    let mut client = Client::with_requests(1);
    let late = [
        frame(HEADERS, END_HEADERS | END_STREAM, 1, OK),
        number(WINDOW_UPDATE, 1, 1),
        number(RST_STREAM, 1, 0),
        frame(PRIORITY_FRAME, 0, 1, &[0; 5]),
    ];
    assert_eq!(client.read(&late.concat()).len(), 2);
}

#[test]
fn section_6_frames_belong_to_streams_or_to_the_connection() {
    for (kind, stream, bytes) in [
        (DATA, 0, 1),
        (HEADERS, 0, 1),
        (PRIORITY_FRAME, 0, 5),
        (RST_STREAM, 0, 4),
        (CONTINUATION, 0, 1),
        (SETTINGS, 3, 0),
        (PING, 3, 8),
        (GOAWAY, 3, 8),
    ] {
        let error = Http2Error::FrameStream { kind: FrameKind(kind), stream };
        check(&[frame(kind, END_HEADERS & !ACK, stream, &vec![0; bytes])], error, PROTOCOL_ERROR);
    }
}

#[test]
fn sections_6_1_and_6_2_padding() {
    for kind in [DATA, HEADERS] {
        let error = Http2Error::Padding { kind: FrameKind(kind) };
        check(&[frame(kind, PADDED | END_HEADERS, 3, &[3, 0, 0])], error, PROTOCOL_ERROR);
        check(&[frame(kind, PADDED | END_HEADERS, 3, &[1])], error, PROTOCOL_ERROR);
    }
    let error = Http2Error::Padding { kind: FrameKind::HEADERS };
    check(&[frame(HEADERS, PADDED | PRIORITY, 3, &[1, 0, 0, 0, 0, 0])], error, PROTOCOL_ERROR);
}

#[test]
fn section_6_5_2_settings() {
    check(&[settings(&[(2, 1)])], Http2Error::EnablePush, PROTOCOL_ERROR);
    check(&[settings(&[(2, 2)])], Http2Error::EnablePush, PROTOCOL_ERROR);
    check(&[settings(&[(4, 1 << 31)])], Http2Error::InitialWindow, FLOW_CONTROL_ERROR);
    check(&[settings(&[(5, 16_383)])], Http2Error::MaxFrameSize, PROTOCOL_ERROR);
    check(&[settings(&[(5, 1 << 24)])], Http2Error::MaxFrameSize, PROTOCOL_ERROR);
}

#[test]
fn section_6_6_pushes() {
    let promise = [&2_u32.to_be_bytes()[..], OK].concat();
    check(&[frame(PUSH_PROMISE, END_HEADERS, 3, &promise)], Http2Error::Push, PROTOCOL_ERROR);
    check(&[frame(PUSH_PROMISE, 0, 0, &[])], Http2Error::Push, PROTOCOL_ERROR);
}

#[test]
fn section_6_8_a_goaway_takes_nothing_back() {
    check(
        &[go_away(3, 0, b""), go_away(5, 0, b"")],
        Http2Error::GoAwayRaised { last_stream: 5 },
        PROTOCOL_ERROR,
    );
}

#[test]
fn section_6_9_windows() {
    check(&[number(WINDOW_UPDATE, 0, 0)], Http2Error::WindowZero, PROTOCOL_ERROR);
    check(&[number(WINDOW_UPDATE, 0, 1 << 31)], Http2Error::WindowZero, PROTOCOL_ERROR);
    let most = 0x7fff_ffff - 65_535;
    check(
        &[number(WINDOW_UPDATE, 0, most), number(WINDOW_UPDATE, 0, 1)],
        Http2Error::WindowOverflow,
        FLOW_CONTROL_ERROR,
    );
    check(
        &[number(WINDOW_UPDATE, 3, most), settings(&[(4, 65_536)])],
        Http2Error::WindowOverflow,
        FLOW_CONTROL_ERROR,
    );
}

#[test]
fn section_6_10_nothing_comes_between_the_frames_of_a_block() {
    let begun = || frame(HEADERS, 0, 5, &[]);
    for (kind, stream, bytes) in [
        (DATA, 3, 1),
        (HEADERS, 5, 1),
        (PRIORITY_FRAME, 3, 5),
        (RST_STREAM, 5, 4),
        (SETTINGS, 0, 0),
        (PUSH_PROMISE, 5, 4),
        (PING, 0, 8),
        (GOAWAY, 0, 8),
        (WINDOW_UPDATE, 0, 4),
        (CONTINUATION, 3, 0),
        (0xbe, 5, 1),
    ] {
        let error = Http2Error::Interleaved { kind: FrameKind(kind) };
        check(&[begun(), frame(kind, 0, stream, &vec![1; bytes])], error, PROTOCOL_ERROR);
    }
    check(&[frame(CONTINUATION, END_HEADERS, 3, OK)], Http2Error::Continuation, PROTOCOL_ERROR);
    let complete = frame(HEADERS, END_HEADERS, 5, OK);
    let more = frame(CONTINUATION, END_HEADERS, 5, &[]);
    check(&[complete, more], Http2Error::Continuation, PROTOCOL_ERROR);
}
