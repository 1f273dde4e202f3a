//! `truth` over HTTP/2, asked by a client that writes frames by hand.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use prony_targets::truth::log::{Outcome, Record};
use prony_targets::truth::{Config, Delay, Ending, SlowBody, draw, start};
use prony_targets::{Running, StartError};

use crate::client::wait_until_asked;

const MS: Duration = Duration::from_millis(1);
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;

struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

struct Client(TcpStream);

impl Client {
    /// A connection that has sent its preface, its settings and `more`, and read the server's settings.
    fn begin(server: &Running, settings: &[u8], more: &[u8]) -> Self {
        let mut client = Self(TcpStream::connect(server.local_addr()).unwrap());
        // A test that would hang fails instead; no test waits for this.
        client.0.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        client.send(
            &[b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &frame(SETTINGS, 0, 0, settings)[..], more].concat(),
        );
        let first = client.next();
        assert_eq!((first.kind, first.flags, first.payload), (SETTINGS, 0, vec![0, 3, 0, 0, 4, 0]));
        client
    }

    fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
    }

    /// The next frame that is about a request, or ends the connection.
    fn next_of_stream(&mut self) -> Frame {
        loop {
            let frame = self.next();
            if matches!(frame.kind, DATA | HEADERS | RST_STREAM | GOAWAY) {
                return frame;
            }
        }
    }

    fn next(&mut self) -> Frame {
        let mut head = [0; 9];
        self.0.read_exact(&mut head).unwrap();
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        self.0.read_exact(&mut payload).unwrap();
        let stream = u32::from_be_bytes(head[5..].try_into().unwrap());
        Frame { kind: head[3], flags: head[4], stream, payload }
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// `:method: GET`, `:scheme: http`, `:path: /`, all of the static table.
fn get(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_STREAM | END_HEADERS, stream, &[0x82, 0x86, 0x84])
}

/// A stream, the first byte of its response's head (0 for a reset), and its body or the code of the reset.
type Ended = (u32, u8, Vec<u8>);

/// What `config` does with requests on streams 1, 3, …, in the order in which the last frames came, and its records.
fn serve(config: Config, count: u32) -> (Vec<Ended>, Vec<Record>) {
    let (give, take) = sync_channel(10_000);
    let server = start(Config { http2: true, records: Some(give), ..config }).unwrap();
    let requests: Vec<u8> = (0..count).flat_map(|number| get(2 * number + 1)).collect();
    let mut client = Client::begin(&server, b"", &requests);
    let mut heads = std::collections::HashMap::new();
    let mut bodies: std::collections::HashMap<u32, Vec<u8>> = std::collections::HashMap::new();
    let mut ended = Vec::new();
    while ended.len() < count as usize {
        let frame = client.next_of_stream();
        match frame.kind {
            HEADERS => drop(heads.insert(frame.stream, frame.payload[0])),
            DATA => {
                let body = bodies.entry(frame.stream).or_default();
                body.extend(frame.payload);
                if frame.flags & END_STREAM != 0 {
                    ended.push((frame.stream, heads[&frame.stream], body.clone()));
                }
            }
            RST_STREAM => ended.push((frame.stream, 0, frame.payload)),
            kind => panic!("a frame of kind {kind}"),
        }
    }
    let report = server.stop();
    assert_eq!((report.counts.records_lost, report.abandoned), (0, 0));
    assert_eq!((report.counts.connections, report.counts.requests), (1, count.into()));
    let mut records: Vec<_> = take.try_iter().collect();
    records.sort_by_key(|record| record.last_ns);
    (ended, records)
}

#[test]
fn each_stream_is_answered_when_it_is_due_as_drawn() {
    let delay = Delay::Exponential { mean: 2 * MS };
    let (seed, error_share, reset_share) = (42, 0.2, 0.1);
    let config = Config { delay, seed, error_share, reset_share, ..Config::default() };
    let (ended, records) = serve(config, 200);
    assert_eq!(records.len(), 200);
    let mut order: Vec<u64> = records.iter().map(|record| record.id).collect();
    for ((stream, status, body), record) in ended.iter().zip(&records) {
        assert_eq!(u64::from(stream / 2), record.id, "answers go out in the order of the log");
        let drawn = draw(seed, record.id, delay, error_share, reset_share);
        let (expected, outcome) = match drawn.ending {
            Ending::Success => ((0x88, &b"Hello World!"[..]), Outcome::Success),
            Ending::Error => ((0x8e, &b"an error, as drawn\n"[..]), Outcome::Error),
            Ending::Reset => ((0, &[0, 0, 0, 2][..]), Outcome::Reset),
        };
        assert_eq!(((*status, &body[..]), record.outcome), (expected, outcome));
        assert_eq!(u128::from(record.delay_ns), drawn.service.as_nanos());
        assert!(record.stamped && record.residence_ns() >= record.delay_ns, "never early: {record:?}");
    }
    assert!(!order.is_sorted(), "some have overtaken others");
    order.sort_unstable();
    assert!(order.into_iter().eq(0..200));
}

#[test]
fn a_slow_body_takes_its_time() {
    let slow_body = SlowBody { pieces: 4, over: 30 * MS };
    let (ended, records) =
        serve(Config { slow_body: Some(slow_body), body_bytes: 40, ..Config::default() }, 3);
    assert!(ended.iter().all(|(_, _, body)| body.len() == 40));
    assert!(records.iter().all(|record| record.last_ns - record.first_ns >= 30_000_000), "{records:?}");
}

#[test]
fn an_empty_body_and_one_of_many_frames() {
    let (ended, _) = serve(Config { body_bytes: 0, ..Config::default() }, 2);
    assert!(ended.iter().all(|(_, status, body)| *status == 0x88 && body.is_empty()));
    let (ended, _) = serve(Config { body_bytes: 60_000, ..Config::default() }, 1);
    assert_eq!(ended[0].2.len(), 60_000);
}

#[test]
fn a_body_goes_as_far_as_the_windows_allow() {
    let server = start(Config { http2: true, body_bytes: 70_000, ..Config::default() }).unwrap();
    let window = |bytes: u32| [&[0, 4][..], &bytes.to_be_bytes()].concat();
    let mut client = Client::begin(&server, &window(10), &get(1));
    let mut next = || {
        let frame = client.next_of_stream();
        (frame.kind, frame.flags & END_STREAM, frame.payload.len())
    };
    assert_eq!((next().0, next()), (HEADERS, (DATA, 0, 10)));
    client.send(&frame(WINDOW_UPDATE, 0, 1, &5_u32.to_be_bytes()));
    assert_eq!(client.next_of_stream().payload.len(), 5);
    // The stream's is larger than the body now, and the connection's is 65,535.
    client.send(&frame(SETTINGS, 0, 0, &window(1 << 20)));
    let mut came = 15;
    while came < 65_535 {
        came += client.next_of_stream().payload.len();
    }
    assert_eq!(came, 65_535);
    client.send(&frame(WINDOW_UPDATE, 0, 0, &10_000_u32.to_be_bytes()));
    let last = client.next_of_stream();
    assert_eq!((last.payload.len(), last.flags), (70_000 - 65_535, END_STREAM));
    server.stop();
}

#[test]
fn a_body_of_a_request_opens_the_windows_again() {
    let server = start(Config { http2: true, ..Config::default() }).unwrap();
    let head = frame(HEADERS, END_HEADERS, 1, &[0x83, 0x86, 0x84]);
    let data = frame(DATA, 0, 1, &[7; 1000]);
    let mut client = Client::begin(&server, b"", &[head, data].concat());
    assert_eq!((client.next().kind, client.next().stream), (SETTINGS, 0));
    let room = client.next();
    assert_eq!((room.kind, room.stream, &room.payload[..]), (WINDOW_UPDATE, 1, &1000_u32.to_be_bytes()[..]));
    client.send(&frame(DATA, END_STREAM, 1, b""));
    assert_eq!(client.next_of_stream().kind, HEADERS);
    server.stop();
}

#[test]
fn a_request_that_is_given_up_is_unfinished_and_its_place_is_not_answered_early() {
    let (give, take) = sync_channel(10);
    let delay = Delay::Const(30 * MS);
    let server = start(Config { http2: true, delay, records: Some(give), ..Config::default() }).unwrap();
    let cancel = frame(RST_STREAM, 0, 1, &8_u32.to_be_bytes());
    let mut client = Client::begin(&server, b"", &get(1));
    wait_until_asked(&server);
    client.send(&[cancel, get(3)].concat());
    assert_eq!(client.next_of_stream().stream, 3);
    let report = server.stop();
    let mut records: Vec<_> = take.try_iter().collect();
    records.sort_by_key(|record| record.id);
    assert_eq!((report.counts.broken, report.counts.requests), (1, 1));
    let outcomes: Vec<_> = records.iter().map(|record| record.outcome).collect();
    assert_eq!(outcomes, [Outcome::Unfinished, Outcome::Success]);
    assert!(records[1].residence_ns() >= 30_000_000, "{records:?}");
}

#[test]
fn who_leaves_early_is_logged_as_unfinished() {
    let (give, take) = sync_channel(10);
    let delay = Delay::Const(Duration::from_secs(30));
    let server = start(Config { http2: true, delay, records: Some(give), ..Config::default() }).unwrap();
    let client = Client::begin(&server, b"", &[get(1), get(3)].concat());
    wait_until_asked(&server);
    drop(client);
    for _ in 0..2 {
        assert_eq!(take.recv_timeout(Duration::from_mins(1)).unwrap().outcome, Outcome::Unfinished);
    }
    server.stop();
}

#[test]
fn a_stop_answers_requests_in_flight_and_says_that_it_ends() {
    let delay = Delay::Const(50 * MS);
    let server = start(Config { http2: true, delay, ..Config::default() }).unwrap();
    let mut client = Client::begin(&server, b"", &[get(1), get(3)].concat());
    wait_until_asked(&server);
    let report = server.stop();
    assert_eq!((report.counts.requests, report.abandoned), (2, 0));
    let kinds: Vec<u8> = (0..5).map(|_| client.next_of_stream().kind).collect();
    assert_eq!(kinds, [HEADERS, DATA, HEADERS, DATA, GOAWAY]);
}

#[test]
fn a_broken_rule_is_named() {
    let server = start(Config { http2: true, ..Config::default() }).unwrap();
    let check = |frames: &[u8], code: u8| {
        let mut client = Client::begin(&server, b"", frames);
        let last = loop {
            let frame = client.next();
            if frame.kind == GOAWAY {
                break frame;
            }
        };
        assert_eq!(last.payload[7], code, "{frames:x?}");
        assert_eq!(client.0.read(&mut [0; 9]).unwrap_or(0), 0, "and then it closes");
    };
    check(&get(2), 1);
    check(&frame(PING, 0, 0, b"short"), 6);
    check(&frame(WINDOW_UPDATE, 0, 0, &0x7fff_ffff_u32.to_be_bytes()), 3);
    assert_eq!(server.stop().counts.rejected, 3);
}

#[test]
fn pings_and_settings_are_acknowledged() {
    let server = start(Config { http2: true, ..Config::default() }).unwrap();
    let mut client = Client::begin(&server, b"", &frame(PING, 0, 0, b"12345678"));
    let settings = client.next();
    assert_eq!((settings.kind, settings.flags), (SETTINGS, ACK));
    let ping = client.next();
    assert_eq!((ping.kind, ping.flags, &ping.payload[..]), (PING, ACK, &b"12345678"[..]));
    server.stop();
}

#[test]
fn it_closes_no_connection_after_one_answer() {
    let error = start(Config { http2: true, keep_alive: false, ..Config::default() }).unwrap_err();
    assert!(matches!(error, StartError::Setting { setting: "http2", .. }), "{error}");
}
