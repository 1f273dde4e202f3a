//! Failures by kind, each with its first example in words.

use prony_model::{BodyCheck, Checks, ErrorKind, RequestPlan, RunPlan, RunResult, StatusSet};

use crate::plans::{closed, failures, get, impatient, open, plan, requests, run};
use crate::server::{Peer, Server, ok};

/// All that failed did so by `kind`: so many, the first one in these words.
fn check(result: &RunResult, kind: ErrorKind, count: u64, words: &str) {
    assert_eq!(result.requests.failed, count, "{:?}", result.errors);
    let error = failures(result, kind);
    assert_eq!(error.count, count, "{:?}", result.errors);
    assert!(error.first_example.contains(words), "`{}` does not say `{words}`", error.first_example);
}

/// Answers the first `good` requests of all and does `then` with every later one.
fn good_until(good: u64, then: impl Fn(&mut Peer) + Send + Sync + 'static) -> Server {
    Server::start(move |peer| {
        while let Some(request) = peer.request() {
            if request.number >= good {
                return then(peer);
            }
            peer.answer(&ok("hello"));
        }
    })
}

on_both_drivers! {
    fn refused_in_the_middle_of_a_run(driver) {
        let server = Server::start(|peer| {
            if peer.request().is_some_and(|request| request.number == 3) {
                peer.stop_listening();
            }
            peer.answer(&ok("hello"));
        });
        let request = RequestPlan { keep_alive: false, ..get() };
        let result = run(driver, RunPlan { request, end: requests(10), ..plan(server.url()) });
        assert_eq!([result.requests.done, server.requests()], [4; 2]);
        check(&result, ErrorKind::Refused, 6, "refused");
        assert_eq!([result.connections.attempted, result.connections.opened], [10, 4]);
    }

    fn refused_in_an_open_loop(driver) {
        let server = Server::start(|peer| {
            if peer.request().is_some_and(|request| request.number == 3) {
                peer.stop_listening();
            }
            peer.answer(&ok("hello"));
        });
        let request = RequestPlan { keep_alive: false, ..get() };
        let load = open(500.0, 1);
        let result = run(driver, RunPlan { request, load, end: requests(50), ..plan(server.url()) });
        assert_eq!([result.requests.done, server.requests()], [4; 2]);
        check(&result, ErrorKind::Refused, 46, "refused");
    }

    fn reset(driver) {
        let server = good_until(2, Peer::reset);
        let result = run(driver, RunPlan { end: requests(5), ..plan(server.url()) });
        assert_eq!(result.requests.done, 2);
        check(&result, ErrorKind::Reset, 3, "reset");
    }

    fn closed_before_the_answer_was_complete(driver) {
        let partial: [&[u8]; 5] = [
            b"",
            b"HTTP/1.1 200",
            b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
            b"HTTP/1.1 100 Continue\r\n\r\n",
        ];
        for answer in partial {
            // Each on a connection of its own: where answers came before, a close without a byte has another name.
            let server = Server::start(move |peer| {
                if peer.request().is_some() {
                    peer.answer(answer);
                }
            });
            let result = run(driver, RunPlan { end: requests(3), ..plan(server.url()) });
            check(&result, ErrorKind::ClosedEarly, 3, "closed");
        }
    }

    fn no_answer_in_time(driver) {
        let server = good_until(4, Peer::hold);
        let timeouts = impatient(250);
        let plan =
            RunPlan { timeouts, load: closed(2), end: requests(8), ..plan(server.url()) };
        let result = run(driver, plan);
        assert_eq!(result.requests.done, 4);
        check(&result, ErrorKind::RequestTimeout, 4, "no response in time");
        // Each waited its time, and the next one found a new connection.
        let waited = &result.outcomes.iter().find(|outcome| outcome.outcome == "request-timeout");
        assert!(waited.is_some_and(|waited| waited.response.min_ms >= Some(250.0)), "{waited:?}");
        assert_eq!(result.connections.opened, result.connections.attempted);
    }

    fn a_body_without_an_end(driver) {
        let server = good_until(2, |peer| {
            peer.answer(b"HTTP/1.1 200 OK\r\n\r\n");
            while peer.answer(&[b'x'; 4096]) {}
        });
        let result =
            run(driver, RunPlan { timeouts: impatient(250), end: requests(4), ..plan(server.url()) });
        assert_eq!(result.requests.done, 2);
        check(&result, ErrorKind::RequestTimeout, 2, "no response in time");
    }

    fn statuses(driver) {
        for (line, words, name) in [
            ("404 Not Found", "404 Not Found for GET /", "unexpected-4xx"),
            ("500 Internal Server Error", "500 Internal Server Error for GET /", "unexpected-5xx"),
        ] {
            let bad = format!("HTTP/1.1 {line}\r\nContent-Length: 0\r\n\r\n");
            let server = Server::start(move |peer| {
                while let Some(request) = peer.request() {
                    let answer = if request.number % 3 == 2 { bad.clone().into_bytes() } else { ok("hello") };
                    peer.answer(&answer);
                }
            });
            let result = run(driver, RunPlan { end: requests(30), ..plan(server.url()) });
            assert_eq!([result.requests.answered, result.requests.done], [30, 20]);
            check(&result, ErrorKind::Status, 10, words);
            assert_eq!(result.connections.opened, 1, "an unexpected status does not end a connection");
            assert!(result.outcomes.iter().any(|outcome| outcome.outcome == name));
        }
    }

    fn statuses_as_expected(driver) {
        let server = Server::answering(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
        let status = StatusSet::parse("404").expect("a set");
        let checks = Checks { status, ..Checks::default() };
        let result = run(driver, RunPlan { checks, end: requests(10), ..plan(server.url()) });
        assert_eq!(result.requests.done, 10);
    }

    fn checks_of_the_body(driver) {
        let body = |body| Checks { body: Some(body), ..Checks::default() };
        let same_length = Checks { same_length: true, ..Checks::default() };
        for (checks, words) in [
            (body(BodyCheck::Exact("good".to_owned())), "the body began with"),
            (body(BodyCheck::Regex("^go+d$".to_owned())), "the body began with"),
            (same_length, "the first body had 4 bytes, this one 6"),
        ] {
            let server = Server::start(|peer| {
                while let Some(request) = peer.request() {
                    peer.answer(&ok(if request.number % 2 == 1 { "broken" } else { "good" }));
                }
            });
            let result = run(driver, RunPlan { checks, end: requests(20), ..plan(server.url()) });
            assert_eq!([result.requests.answered, result.requests.done], [20, 10]);
            check(&result, ErrorKind::CheckFailed, 10, words);
        }
    }
}
