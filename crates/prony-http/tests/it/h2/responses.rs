//! Responses as they are meant, and those that are malformed and fail alone.

use prony_http::h2::{Blocked, ErrorCode, Http2Error, Limits};
use prony_http::{Request, RequestKind};

use super::peer::*;
use super::transcript::Seen;

fn head(stream: u32, status: u16, length: Option<u64>, fields: &[(&str, &str)]) -> Seen {
    let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()));
    Seen::Head { stream, status, length, fields: fields.collect() }
}

fn end(stream: u32, status: u16, body_bytes: u64) -> Seen {
    Seen::End { stream, status, body_bytes, early: false }
}

fn check(bytes: &[Vec<u8>], expected: &[Seen]) {
    let mut client = Client::with_requests(3);
    assert_eq!(client.read(&bytes.concat()), expected);
}

#[test]
fn a_head_alone() {
    check(&[frame(HEADERS, END_HEADERS | END_STREAM, 1, OK)], &[head(1, 200, None, &[]), end(1, 200, 0)]);
}

#[test]
fn bodies_of_streams_that_take_turns() {
    let fields = [(":status", "200"), ("content-length", "4"), ("server", "x")];
    let rest = [("content-length", "4"), ("server", "x")];
    check(
        &[
            headers(3, &fields, 0),
            headers(1, &fields, 0),
            data(1, b"ab", 0),
            data(3, b"1234", END_STREAM),
            data(1, b"", 0),
            data(1, b"cd", 0),
            data(1, b"", END_STREAM),
        ],
        &[
            head(3, 200, Some(4), &rest),
            head(1, 200, Some(4), &rest),
            Seen::Data(1, b"ab".to_vec()),
            Seen::Data(3, b"1234".to_vec()),
            end(3, 200, 4),
            Seen::Data(1, b"cd".to_vec()),
            end(1, 200, 4),
        ],
    );
}

#[test]
fn interim_heads_padding_priority_continuations_and_trailers() {
    let fields = block(&[(":status", "404"), ("a", "b")]);
    let padded = [&[3, 0, 0, 0, 9, 16][..], &fields[..5], &[0; 3]].concat();
    check(
        &[
            headers(1, &[(":status", "103"), ("link", "x")], 0),
            frame(HEADERS, PADDED | PRIORITY, 1, &padded),
            frame(CONTINUATION, 0, 1, b""),
            frame(CONTINUATION, END_HEADERS, 1, &fields[5..]),
            frame(DATA, PADDED, 1, b"\x02hello\0\0"),
            frame(DATA, PADDED, 1, b"\x01\0"),
            headers(1, &[("grpc-status", "0")], END_STREAM),
        ],
        &[
            Seen::Interim(1, 103),
            head(1, 404, None, &[("a", "b")]),
            Seen::Data(1, b"hello".to_vec()),
            Seen::Trailers(1, vec![(b"grpc-status".to_vec(), b"0".to_vec())]),
            end(1, 404, 5),
        ],
    );
}

#[test]
fn what_nobody_needs_is_ignored() {
    check(
        &[
            frame(0xbe, 0xff, 7, b"anything"),
            frame(PRIORITY_FRAME, 0, 1, &[0, 0, 0, 1, 5]),
            frame(PRIORITY_FRAME, 0, 99, &[0, 0, 0, 3, 5]),
            frame(SETTINGS, ACK, 0, b""),
            frame(PING, ACK, 0, b"12345678"),
            frame(0x10, 0, 0, b""),
            frame(HEADERS, END_HEADERS | END_STREAM, 0x8000_0001, OK),
        ],
        &[head(1, 200, None, &[]), end(1, 200, 0)],
    );
}

#[test]
fn pings_and_settings_are_answered() {
    let mut client = Client::with_requests(0);
    client.read(&[frame(PING, 0, 0, b"12345678"), settings(&[(3, 7)])].concat());
    let answers = client.sent();
    assert_eq!((answers[0].kind, answers[0].flags, &answers[0].payload[..]), (PING, ACK, &b"12345678"[..]));
    assert_eq!((answers[1].kind, answers[1].flags, answers[1].payload.len()), (SETTINGS, ACK, 0));
    assert_eq!(answers.len(), 2);
}

#[test]
fn a_client_introduces_itself_and_repeats_its_request_in_few_bytes() {
    let mut client = Client::new(&Request::get("example.org", "/a"), Limits::default());
    client.connection.preface(&client.shared, &mut client.out);
    assert!(client.out.starts_with(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
    for _ in 0..3 {
        client.send();
    }
    let sent = client.sent();
    let kinds: Vec<(u8, u32)> = sent.iter().map(|frame| (frame.kind, frame.stream)).collect();
    assert_eq!(kinds, [(SETTINGS, 0), (WINDOW_UPDATE, 0), (HEADERS, 1), (HEADERS, 3), (HEADERS, 5)]);
    assert_eq!(sent[0].payload[..6], [0, 2, 0, 0, 0, 0], "no pushes");
    let fields = client.fields(&sent[2]);
    assert_eq!(
        fields[..4].iter().map(|field| &field.1[..]).collect::<Vec<_>>(),
        [&b"GET"[..], b"http", b"example.org", b"/a"]
    );
    for again in &sent[3..] {
        assert_eq!((client.fields(again), again.payload.len()), (fields.clone(), 6));
        assert_eq!(again.flags, END_STREAM | END_HEADERS);
    }
}

#[test]
fn malformed_responses_fail_alone() {
    let check = |bytes: &[Vec<u8>], error: Http2Error| {
        let mut client = Client::with_requests(2);
        let seen = client.read(&bytes.concat());
        assert_eq!(seen.last(), Some(&Seen::Malformed(1, error)), "{seen:?}");
        let sent = client.sent();
        assert_eq!((sent.len(), sent[0].kind, sent[0].stream), (1, RST_STREAM, 1), "{error}");
        assert_eq!(sent[0].payload, error.wire_code().0.to_be_bytes());
        // What was under way for it is ignored, and the other goes on.
        let late = [headers(1, &[("a", "b")], 0), data(1, b"late", END_STREAM), number(RST_STREAM, 1, 8)];
        assert_eq!(client.read(&late.concat()), []);
        let other = client.read(&frame(HEADERS, END_HEADERS | END_STREAM, 3, OK));
        assert_eq!(other, [head(3, 200, None, &[]), end(3, 200, 0)]);
        assert_eq!(client.connection.in_flight(), 0);
    };
    let ok = || headers(1, &[(":status", "200")], 0);
    check(&[headers(1, &[(":status", "200"), ("Server", "x")], 0)], Http2Error::FieldName);
    check(&[headers(1, &[(":status", "200"), ("a", "b\n")], 0)], Http2Error::FieldValue);
    check(&[headers(1, &[(":status", "200"), ("connection", "x")], 0)], Http2Error::ConnectionField);
    check(&[headers(1, &[("a", "b")], 0)], Http2Error::PseudoField);
    check(&[headers(1, &[(":status", "2x0")], 0)], Http2Error::Status);
    check(&[headers(1, &[(":status", "101")], 0)], Http2Error::Upgrade);
    check(&[headers(1, &[(":status", "103")], END_STREAM)], Http2Error::NoResponse);
    check(&[data(1, b"early", 0)], Http2Error::DataBeforeHead);
    check(&[ok(), headers(1, &[("a", "b")], 0)], Http2Error::Trailers);
    check(&[ok(), headers(1, &[(":status", "200")], END_STREAM)], Http2Error::PseudoField);
    let interim = headers(1, &[(":status", "102")], 0);
    check(&[interim.repeat(17)], Http2Error::TooManyInterim { limit: 16 });
    let length = |length: &str| headers(1, &[(":status", "200"), ("content-length", length)], 0);
    check(&[length("x")], Http2Error::ContentLength);
    check(&[length("3"), data(1, b"ab", 0), data(1, b"cd", 0)], Http2Error::BodyLong);
    check(&[length("99999999999999")], Http2Error::BodyTooLong);
    check(&[headers(1, &[(":status", "204")], 0), data(1, b"x", 0)], Http2Error::BodyLong);
    check(&[ok(), number(WINDOW_UPDATE, 1, 0)], Http2Error::WindowZero);
    check(&[number(WINDOW_UPDATE, 1, 0x7fff_ffff)], Http2Error::WindowOverflow);
}

#[test]
fn a_body_that_ends_too_soon() {
    let fields = [(":status", "200"), ("content-length", "5")];
    let short = |missing_bytes| Seen::Malformed(1, Http2Error::BodyShort { missing_bytes });
    for (bytes, missing) in [
        (vec![headers(1, &fields, END_STREAM)], 5),
        (vec![headers(1, &fields, 0), data(1, b"abc", END_STREAM)], 2),
        (vec![headers(1, &fields, 0), data(1, b"abcd", 0), headers(1, &[], END_STREAM)], 1),
    ] {
        let mut client = Client::with_requests(1);
        assert_eq!(client.read(&bytes.concat()).last(), Some(&short(missing)));
    }
}

#[test]
fn answers_to_head_have_no_body() {
    let request = Request { method: "HEAD".to_owned(), ..Request::get("a", "/") };
    let mut client = Client::new(&request, Limits::default());
    assert_eq!(client.shared.request().kind(), RequestKind::Head);
    client.send();
    client.send();
    let fields = [(":status", "200"), ("content-length", "5")];
    let bytes =
        [settings(&[]), headers(1, &fields, END_STREAM), headers(3, &fields, 0), data(3, b"hello", 0)];
    let seen = client.read(&bytes.concat());
    assert_eq!(seen[2], end(1, 200, 0));
    assert_eq!(seen[4], Seen::Malformed(3, Http2Error::BodyLong));
}

#[test]
fn resets_by_code() {
    for (code, refused) in [(0, false), (7, true), (8, false), (0xd, false), (0xffff, false)] {
        let mut client = Client::with_requests(1);
        let seen = client.read(&number(RST_STREAM, 1, code));
        assert_eq!(seen, [Seen::Reset { stream: 1, code: ErrorCode(code), refused }]);
        assert_eq!((client.connection.in_flight(), client.sent().len()), (0, 0));
    }
}

#[test]
fn a_request_that_is_given_up() {
    let mut client = Client::with_requests(1);
    let stream = client.send();
    client.sent();
    client.connection.cancel(stream, &mut client.out);
    client.connection.cancel(stream, &mut client.out);
    let sent = client.sent();
    assert_eq!((sent.len(), sent[0].kind, &sent[0].payload[..]), (1, RST_STREAM, &[0, 0, 0, 8][..]));
    // Its head still changes the table, which the next one uses.
    let first = [&[0x48, 3][..], b"418", &[0x40, 1, b'a', 1, b'b']].concat();
    let late = [frame(HEADERS, END_HEADERS, 3, &first), data(3, b"x", END_STREAM)];
    assert_eq!(client.read(&late.concat()), []);
    let seen = client.read(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &[0xbf, 0xbe]));
    assert_eq!(seen, [head(1, 418, None, &[("a", "b")]), end(1, 418, 0)]);
}

#[test]
fn heads_that_repeat_are_the_same_each_time() {
    let mut client = Client::with_requests(0);
    let adds = [&[0x88, 0x61, 3][..], b"now", &[0x40, 1, b'a', 1, b'b']].concat();
    for round in 0..10_u32 {
        let stream = client.send().id;
        // The indices move when another field is added.
        let block: &[u8] = match round {
            0 | 5 => &adds,
            _ => &[0x88, 0xbf, 0xbe],
        };
        let seen = client.read(&frame(HEADERS, END_HEADERS | END_STREAM, stream, block));
        assert_eq!(seen[0], head(stream, 200, None, &[("date", "now"), ("a", "b")]), "round {round}");
    }
    let other = [&[0x88, 0x61, 4][..], b"then", &[0xbf]].concat();
    let stream = client.send().id;
    let seen = client.read(&frame(HEADERS, END_HEADERS | END_STREAM, stream, &other));
    assert_eq!(seen[0], head(stream, 200, None, &[("date", "then"), ("a", "b")]));
    for block in [&[0x88, 0xbf, 0xbe][..], &[0x88, 0xbf, 0xbe]] {
        let stream = client.send().id;
        let seen = client.read(&frame(HEADERS, END_HEADERS | END_STREAM, stream, block));
        assert_eq!(seen[0], head(stream, 200, None, &[("a", "b"), ("date", "then")]), "not as before");
    }
}

#[test]
fn streams_are_limited_by_us_and_by_the_server() {
    let limits = Limits { streams: 3, ..Limits::default() };
    let mut client = Client::new(&Request::get("a", "/"), limits);
    let places: Vec<u16> = (0..3).map(|_| client.send().place).collect();
    assert!(places.iter().all(|place| *place < 3), "{places:?}");
    let blocked = |client: &mut Client| client.connection.send_request(&client.shared, &mut client.out);
    assert_eq!(blocked(&mut client), Err(Blocked::Streams));
    assert_eq!(client.read(&settings(&[(3, 1)])), [Seen::Settings(1)]);
    let ends = |stream| frame(HEADERS, END_HEADERS | END_STREAM, stream, OK);
    client.read(&[ends(1), ends(5)].concat());
    assert_eq!(blocked(&mut client), Err(Blocked::Streams), "the server allows one");
    client.read(&ends(3));
    assert_eq!(blocked(&mut client).map(|stream| stream.id), Ok(7));
    assert_eq!(blocked(&mut client), Err(Blocked::Streams));
    client.read(&settings(&[(3, 0)]));
    client.read(&ends(7));
    assert_eq!(blocked(&mut client), Err(Blocked::Streams), "the server allows none");
}

#[test]
fn a_connection_is_used_again() {
    let mut client = Client::with_requests(2);
    client.read(&[frame(HEADERS, END_HEADERS, 1, &[0x48, 3, b'4', b'1', b'8']), vec![0, 0]].concat());
    client.connection.reset(&client.shared);
    assert_eq!((client.connection.in_flight(), client.connection.finish()), (0, Ok(())));
    client.connection.reset(&client.shared);
    assert_eq!(client.send().id, 1);
    let seen = client.read(&[settings(&[]), frame(HEADERS, END_HEADERS, 1, &[0xbe])].concat());
    assert!(matches!(seen[1], Seen::Failed(Http2Error::Compression(_))), "the table is a new one: {seen:?}");
}

#[test]
fn closes() {
    let mut client = Client::with_requests(1);
    assert_eq!(client.connection.finish(), Err(Http2Error::ClosedEarly));
    let mut client = Client::with_requests(0);
    assert_eq!(client.connection.finish(), Ok(()));
    let mut client = Client::new(&Request::get("a", "/"), Limits::default());
    assert_eq!(client.read(&[0x15, 3, 3, 0, 2, 2, 70]), []);
    assert_eq!(client.connection.finish(), Err(Http2Error::Tls));
}
