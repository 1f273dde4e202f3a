//! A thousand clients that send a byte now and then (S13).

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::front::Front;

/// As many as the brief of a slow attack from one machine.
const CLIENTS: usize = 1_000;
/// What a page may take while they hold on; alone it takes about a millisecond, on a machine that does nothing else.
const PAGE_MAX: Duration = Duration::from_secs(2);
/// Longer than the head of a request may take.
const LONGER_THAN_A_HEAD: Duration = Duration::from_secs(25);

#[test]
#[expect(clippy::disallowed_methods, reason = "a test that takes the time of real sockets")]
fn a_thousand_slow_clients_disturb_nobody_and_are_sent_away() {
    let front = Front::new();
    let cookie = front.admin();
    let began = Instant::now();
    let mut clients: Vec<TcpStream> = (0..CLIENTS)
        .map(|number| {
            let mut stream =
                TcpStream::connect(front.address).unwrap_or_else(|error| panic!("{number}: {error}"));
            stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ").expect("written");
            stream
        })
        .collect();
    let mut slowest = Duration::ZERO;
    let mut pages = 0_u32;
    loop {
        let page = Instant::now();
        assert_eq!(front.get("/", &[("Cookie", &cookie)]).status, 200);
        slowest = slowest.max(page.elapsed());
        pages += 1;
        // A byte from each, until they are sent away: then writing fails.
        clients.retain_mut(|client| client.write_all(b"x").is_ok());
        if clients.is_empty() {
            break;
        }
        assert!(began.elapsed() < LONGER_THAN_A_HEAD, "{} clients are still there", clients.len());
    }
    assert!(slowest < PAGE_MAX, "{slowest:?} for a page, {pages} pages");
    assert!(began.elapsed() > Duration::from_secs(8), "they had their ten seconds");
}

#[test]
fn a_body_that_does_not_come_is_given_up() {
    let front = Front::new();
    let mut stream = TcpStream::connect(front.address).expect("a connection");
    let head = "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n";
    stream.write_all(head.as_bytes()).expect("written");
    stream.write_all(b"name=").expect("written");
    stream.set_read_timeout(Some(Duration::from_secs(45))).expect("a timeout");
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).expect("an answer, after 30 s");
    assert_eq!(&answer, b"HTTP/1.1 408");
}
