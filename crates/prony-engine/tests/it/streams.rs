//! Streams of events, from servers whose events come at known moments.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use prony_model::{DriverChoice, End, EventStreams, FindingCode, Load, RunPlan, RunResult};

use crate::plans::{plan, run};

/// Between two events.
const GAP: Duration = Duration::from_millis(8);
/// Before the first event.
const WAIT: Duration = Duration::from_millis(20);
/// Events of each response.
const EVENTS: u64 = 5;

/// What a server writes, and the pause before it.
type Pieces = Vec<(Duration, &'static [u8])>;

/// Answers each request with `pieces`; the connection ends where `closes`.
fn server(pieces: Pieces, closes: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let pieces = pieces.clone();
            thread::spawn(move || answer(stream.expect("a connection"), &pieces, closes));
        }
    });
    address
}

fn answer(mut stream: TcpStream, pieces: &Pieces, closes: bool) {
    stream.set_nodelay(true).expect("no delay");
    let mut buffer = [0; 4096];
    let mut head = Vec::new();
    loop {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(count) => head.extend_from_slice(&buffer[..count]),
        }
        if !head.ends_with(b"\r\n\r\n") {
            continue;
        }
        head.clear();
        for (pause, bytes) in pieces {
            thread::sleep(*pause);
            if stream.write_all(bytes).is_err() {
                return;
            }
        }
        if closes {
            return;
        }
    }
}

fn of_events(address: SocketAddr) -> RunPlan {
    let load = Load::Closed { connections: 4 };
    RunPlan { events: true, end: End::Requests(20), load, ..plan(&format!("http://{address}/")) }
}

fn events(result: &RunResult) -> &EventStreams {
    result.events.as_ref().expect("they were asked for")
}

/// Five server-sent events in chunks, with a comment between.
fn server_sent() -> Pieces {
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let mut pieces: Pieces = vec![(Duration::ZERO, head), (WAIT, b"9\r\ndata: a\n\n\r\n")];
    pieces.push((Duration::ZERO, b"9\r\n: noise\n\n\r\n".as_slice()));
    for _ in 1..EVENTS {
        // An event in two chunks: it is complete with the second.
        pieces.push((GAP, b"5\r\ndata:\r\n".as_slice()));
        pieces.push((Duration::ZERO, b"3\r\nb\n\n\r\n".as_slice()));
    }
    pieces.push((Duration::ZERO, b"0\r\n\r\n"));
    pieces
}

fn check_server_sent(driver: DriverChoice) {
    let result = run(driver, of_events(server(server_sent(), false)));
    let found = events(&result);
    assert_eq!((result.requests.done, found.streams, found.without_events), (20, 20, 0));
    assert_eq!((found.events, found.events_min, found.events_max), (100, EVENTS, EVENTS));
    assert_eq!((found.first_response.count, found.first_service.count), (20, 20));
    assert_eq!(found.between.count, 20 * (EVENTS - 1));
    let least = |summary: &prony_model::LatencySummary| summary.min_ms.expect("a minimum");
    let median = |summary: &prony_model::LatencySummary| summary.quantiles_ms["0.5"].expect("a median");
    assert!(least(&found.first_service) >= 20.0, "{found:?}");
    // The first event, not the first byte: the head came 20 ms earlier.
    assert!(median(&found.first_service) >= median(&result.latency.first_byte) + 19.0, "{found:?}");
    assert!(median(&found.between) >= 7.5, "{found:?}");
    assert!(median(&result.latency.service) >= 20.0 + 4.0 * 8.0, "{:?}", result.latency);
    let max = |summary: &prony_model::LatencySummary| summary.max_ms.expect("a maximum");
    assert!(max(&found.first_service) <= max(&result.latency.service));
}

#[test]
fn server_sent_events_are_measured_one_by_one_by_epoll() {
    check_server_sent(DriverChoice::Epoll);
}

#[test]
fn server_sent_events_are_measured_one_by_one_by_io_uring() {
    check_server_sent(DriverChoice::IoUring);
}

#[test]
fn lines_that_come_together_have_no_time_between() {
    let body =
        b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nContent-Length: 11\r\n\r\n{}\n{}\n{}\n{}";
    let result = run(DriverChoice::IoUring, of_events(server(vec![(Duration::ZERO, body)], false)));
    let found = events(&result);
    assert_eq!((found.streams, found.events, found.events_p50), (20, 80, 4));
    // Three lines with the body, the last with its end, which is the same read.
    assert_eq!(found.between.count, 60);
    assert!(found.together >= 40, "{found:?}");
}

#[test]
fn a_stream_that_the_end_of_the_connection_ends() {
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n".as_slice();
    let pieces = vec![(Duration::ZERO, head), (GAP, b"data: 1\n\n".as_slice()), (GAP, b"data: 2\n\ndata: 3")];
    let result = run(DriverChoice::IoUring, of_events(server(pieces, true)));
    let found = events(&result);
    assert_eq!((result.requests.done, found.streams, found.events), (20, 20, 40));
}

#[test]
fn responses_without_events_are_no_streams() {
    let body = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\ndata: a\n\n";
    let result = run(DriverChoice::IoUring, of_events(server(vec![(Duration::ZERO, body)], false)));
    let found = events(&result);
    assert_eq!((result.requests.done, found.streams, found.without_events, found.events), (20, 0, 20, 0));
    assert!(result.findings.iter().any(|finding| finding.code == FindingCode::NoEvents));
}

#[test]
fn a_stream_that_breaks_off_fails_and_its_events_count() {
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        .as_slice();
    let pieces = vec![(Duration::ZERO, head), (Duration::ZERO, b"9\r\ndata: a\n\n\r\n".as_slice())];
    let result = run(DriverChoice::IoUring, of_events(server(pieces, true)));
    let found = events(&result);
    assert_eq!((result.requests.done, result.requests.failed), (0, 20));
    assert_eq!((found.streams, found.events, found.first_response.count), (0, 20, 20));
}
