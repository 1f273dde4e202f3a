//! How long connections last, and who ends them.

use std::thread;
use std::time::Duration;

use prony_model::{ErrorKind, RequestPlan, RunPlan, RunResult, Version};

use crate::plans::{closed, get, open, plan, requests, run};
use crate::server::{Server, ok};

const CLOSING: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";

/// Asserts that each connection served one request and that the engine noticed its end: while it was idle, or, where
/// the machine held up the client or the server until the next request was due, by that request's failure.
fn check_idle_ends(result: &RunResult) {
    let (connections, requests) = (&result.connections, &result.requests);
    assert!(connections.closed_by_server >= 1, "{connections:?}");
    assert_eq!(requests.done + requests.failed, 5, "{requests:?}");
    // The last connection may end after the last response.
    let ends = connections.closed_by_server + requests.failed;
    assert!(
        (requests.done - 1..=requests.done).contains(&ends),
        "{requests:?} {connections:?} {:?}",
        result.errors
    );
    let met = [ErrorKind::ClosedReused, ErrorKind::Reset];
    assert!(result.errors.iter().all(|error| met.contains(&error.kind)), "{:?}", result.errors);
}

on_both_drivers! {
    fn a_close_without_an_answer_is_named_by_whether_the_connection_was_new(driver) {
        for (answers, expected) in [(0, ErrorKind::ClosedEarly), (1, ErrorKind::ClosedReused), (3, ErrorKind::ClosedReused)] {
            let server = Server::start(move |peer| {
                for _ in 0..answers {
                    if peer.request().is_none() || !peer.answer(&ok("hello")) {
                        return;
                    }
                }
                peer.request();
            });
            let count = (answers + 1) * 2;
            let result = run(driver, RunPlan { end: requests(count), ..plan(server.url()) });
            assert_eq!((result.requests.done, result.requests.failed), (answers * 2, 2));
            assert_eq!(result.errors.iter().map(|error| error.kind).collect::<Vec<_>>(), [expected]);
        }
    }

    fn without_keep_alive_each_request_has_its_connection(driver) {
        let server = Server::start(|peer| {
            let Some(request) = peer.request() else { return };
            assert!(request.head.contains("\r\nConnection: close\r\n"), "{}", request.head);
            peer.answer(CLOSING);
        });
        let request = RequestPlan { keep_alive: false, ..get() };
        let plan =
            RunPlan { request, load: closed(4), threads: 2, end: requests(41), ..plan(server.url()) };
        let result = run(driver, plan);
        assert_eq!([result.requests.done, server.requests(), server.used_connections()], [41; 3]);
        let connections = &result.connections;
        assert_eq!([connections.attempted, connections.opened], [41; 2]);
        assert_eq!([connections.reused, connections.closed_by_server], [0; 2], "it was asked to close");
    }

    fn a_server_that_closes_keeps_the_time_wait_state(driver) {
        const CONNECTIONS: u64 = 200;
        let server = Server::start(|peer| {
            if peer.request().is_some() {
                peer.answer(CLOSING);
            }
        });
        let request = RequestPlan { keep_alive: false, ..get() };
        let plan = RunPlan { request, load: closed(2), end: requests(CONNECTIONS), ..plan(server.url()) };
        assert_eq!(run(driver, plan).requests.done, CONNECTIONS);
        let port = server.address().port();
        let ends = || time_wait(port);
        // The last connections end behind the run.
        for _ in 0..100 {
            let (of_server, of_client) = ends();
            if of_server + of_client >= CONNECTIONS {
                break;
            }
            thread::sleep(Duration::from_millis(20));
        }
        let (of_server, of_client) = ends();
        // A thread of the server that is held up between its response and its close lets the client be first.
        assert!(of_client * 10 <= CONNECTIONS, "server {of_server}, client {of_client}");
        assert!(of_server * 2 >= CONNECTIONS, "server {of_server}, client {of_client}");
    }

    fn without_keep_alive_in_an_open_loop(driver) {
        let server = Server::answering(&ok("hello"));
        let request = RequestPlan { keep_alive: false, ..get() };
        let plan = RunPlan { request, load: open(1000.0, 8), end: requests(41), ..plan(server.url()) };
        let result = run(driver, plan);
        assert_eq!([result.requests.done, server.requests(), server.used_connections()], [41; 3]);
        assert_eq!(result.connections.reused, 0);
    }

    fn http_1_0_with_and_without_keep_alive(driver) {
        let server = Server::start(|peer| {
            while let Some(request) = peer.request() {
                assert!(request.head.starts_with("GET / HTTP/1.0\r\n"), "{}", request.head);
                let stay = request.head.contains("\r\nConnection: keep-alive\r\n");
                let line = if stay { "Connection: keep-alive\r\n" } else { "" };
                let answer = format!("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n{line}\r\nhello");
                if !peer.answer(answer.as_bytes()) || !stay {
                    return;
                }
            }
        });
        for (keep_alive, connections) in [(true, 1), (false, 7)] {
            let request = RequestPlan { version: Version::Http10, keep_alive, ..get() };
            let result = run(driver, RunPlan { request, end: requests(7), ..plan(server.url()) });
            assert_eq!([result.requests.done, result.connections.opened], [7, connections]);
        }
    }

    fn a_server_that_answers_in_http_1_0_ends_the_connection(driver) {
        let server = Server::start(|peer| {
            peer.request();
            peer.answer(b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello");
        });
        let result = run(driver, RunPlan { end: requests(7), ..plan(server.url()) });
        assert_eq!([result.requests.done, result.connections.opened], [7; 2]);
        assert_eq!(result.connections.closed_by_server, 7);
    }

    fn a_server_may_close_an_idle_connection(driver) {
        let server = Server::start(|peer| {
            peer.request();
            peer.answer(&ok("hello"));
        });
        // 100 ms between the close and the next request.
        let plan = RunPlan { load: open(10.0, 1), end: requests(5), ..plan(server.url()) };
        check_idle_ends(&run(driver, plan));
    }

    fn a_server_may_reset_an_idle_connection(driver) {
        let server = Server::start(|peer| {
            peer.request();
            peer.answer(&ok("hello"));
            // So that the answer is not reset, too.
            thread::sleep(Duration::from_millis(20));
            peer.reset();
        });
        let plan = RunPlan { load: open(10.0, 1), end: requests(5), ..plan(server.url()) };
        check_idle_ends(&run(driver, plan));
    }
}

/// Connections with a server on `port` in the state TIME_WAIT, kept by the server and by its clients: its end is that of
/// whoever closed first.
fn time_wait(port: u16) -> (u64, u64) {
    const TIME_WAIT: &str = "06";
    let table = std::fs::read_to_string("/proc/net/tcp").expect("Linux has it");
    let port = format!(":{port:04X}");
    let mut ends = (0, 0);
    for line in table.lines().skip(1) {
        let fields: Vec<&str> = line.split_whitespace().take(4).collect();
        if let [_, local, remote, TIME_WAIT] = fields[..] {
            ends.0 += u64::from(local.ends_with(&port));
            ends.1 += u64::from(remote.ends_with(&port));
        }
    }
    ends
}
