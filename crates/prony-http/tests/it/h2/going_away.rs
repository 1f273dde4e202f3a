//! GOAWAY: which requests are refused, and may be sent again elsewhere.

use prony_http::h2::{Blocked, ErrorCode};

use super::peer::*;
use super::transcript::Seen;

fn refused(stream: u32) -> Seen {
    Seen::Reset { stream, code: ErrorCode::NO_ERROR, refused: true }
}

/// As nginx does after `keepalive_requests`: the requests that it has read are answered, those behind them refused.
#[test]
fn a_server_that_has_answered_enough_fails_no_request() {
    let mut client = Client::with_requests(0);
    let mut answered = 0;
    for round in 0..100 {
        let streams: Vec<u32> = (0..10).map(|_| client.send().id).collect();
        if round == 99 {
            let bytes = [
                go_away(streams[4], 0, b""),
                frame(HEADERS, END_HEADERS | END_STREAM, streams[4], OK),
                streams[..4]
                    .iter()
                    .flat_map(|stream| frame(HEADERS, END_HEADERS | END_STREAM, *stream, OK))
                    .collect(),
            ];
            let seen = client.read(&bytes.concat());
            let ends = seen.iter().filter(|seen| matches!(seen, Seen::End { status: 200, .. })).count();
            let refusals: Vec<Seen> =
                seen.iter().filter(|seen| matches!(seen, Seen::Reset { .. })).cloned().collect();
            assert_eq!(refusals, streams[5..].iter().map(|stream| refused(*stream)).collect::<Vec<_>>());
            answered += ends;
            continue;
        }
        for stream in streams {
            client.read(&frame(HEADERS, END_HEADERS | END_STREAM, stream, OK));
            answered += 1;
        }
    }
    assert_eq!(answered, 995, "five are for the next connection");
    assert!(client.connection.is_going_away());
    assert_eq!((client.connection.in_flight(), client.connection.finish()), (0, Ok(())));
}

#[test]
fn first_a_warning_then_the_last_stream() {
    let mut client = Client::with_requests(3);
    let seen = client.read(&go_away(0x7fff_ffff, 0, b"soon"));
    let warning =
        Seen::GoAway { last_stream: 0x7fff_ffff, code: ErrorCode::NO_ERROR, debug: b"soon".to_vec() };
    assert_eq!(seen, [warning]);
    let blocked = client.connection.send_request(&client.shared, &mut client.out);
    assert_eq!(blocked, Err(Blocked::GoingAway));
    assert!(Blocked::GoingAway.is_final());
    let seen = client.read(&go_away(1, 0, b""));
    assert_eq!(seen[1..], [refused(3), refused(5)]);
    // What was under way for those is no error.
    assert_eq!(client.read(&data(3, b"late", 0)), []);
    assert_eq!(client.read(&frame(HEADERS, END_HEADERS | END_STREAM, 1, OK)).len(), 2);
}

#[test]
fn what_a_server_says_in_anger_is_passed_on() {
    let debug = b"too_many_pings".repeat(100);
    let bytes = go_away(0, 11, &debug);
    for piece in [1, 7, 100, bytes.len()] {
        let mut client = Client::with_requests(2);
        let seen: Vec<Seen> = bytes.chunks(piece).flat_map(|piece| client.read(piece)).collect();
        let code = ErrorCode::ENHANCE_YOUR_CALM;
        let refused = |stream| Seen::Reset { stream, code, refused: true };
        let expected = [Seen::GoAway { last_stream: 0, code, debug: debug.clone() }, refused(1), refused(3)];
        assert_eq!(seen, expected, "in pieces of {piece}");
    }
}

#[test]
fn a_client_says_goodbye() {
    let mut client = Client::with_requests(0);
    client.connection.close(&mut client.out);
    let sent = client.sent();
    assert_eq!((sent.len(), sent[0].kind, &sent[0].payload[..]), (1, GOAWAY, &[0; 8][..]));
}
