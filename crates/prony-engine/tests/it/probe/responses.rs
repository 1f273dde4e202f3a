//! What a server answers, and when: the phases of one request, and how it fails.

use std::net::TcpListener;
use std::thread::sleep;
use std::time::Duration;

use prony_engine::{BodyNotKept, Control, KeptBody};
use prony_model::{BodyFraming, ErrorKind, ProbePhase, ProbePlan, RequestPlan, StatusSet, Version};

use super::{failure, good, one, plan, probe_with};
use crate::plans::{get, impatient, post};
use crate::server::{Peer, Server, ok};

/// What the scripts wait for where a phase must be seen.
const DELAY: Duration = Duration::from_millis(30);
const DELAY_MS: f64 = 30.0;

/// Does `script` once a request was read.
fn after_request(script: impl Fn(&mut Peer) + Send + Sync + 'static) -> Server {
    Server::start(move |peer| {
        while peer.request().is_some() {
            script(peer);
        }
    })
}

/// Bytes that no two socket buffers hold: when they are written, the other side has read some of them.
const MORE_THAN_BUFFERS: usize = 64 << 20;

fn at_least(what: &str, time_ms: Option<f64>, least_ms: f64) {
    assert!(time_ms.is_some_and(|time_ms| time_ms >= least_ms), "{what}: {time_ms:?}, not {least_ms}");
}

#[test]
fn a_slow_head_is_the_servers_phase() {
    let server = after_request(|peer| {
        sleep(DELAY);
        peer.answer(&ok("hello"));
    });
    let (request, response) = good(&plan(server.url()));
    at_least("server", request.phases.server_ms, DELAY_MS);
    at_least("total", request.phases.total_ms, DELAY_MS);
    assert_eq!(
        (response.version.as_str(), response.status, response.reason.as_str()),
        ("HTTP/1.1", 200, "OK")
    );
    assert_eq!(response.headers, [("Content-Length".to_owned(), "5".to_owned())]);
    assert_eq!((response.head_bytes, response.body_bytes), (38, 5));
    assert_eq!((response.framing, response.stray_bytes), (BodyFraming::Length, 0));
    assert_eq!(request.remote, Some(server.address().to_string()));
    let local = request.local.expect("an address of its own");
    assert!(local.starts_with("127.0.0.1:") && local != server.address().to_string(), "{local}");
    assert_eq!(request.sent_bytes, request.request_bytes);
    assert!(request.kernel.is_some_and(|kernel| kernel.retransmitted_segments == 0), "{:?}", request.kernel);
}

#[test]
fn a_slow_body_is_the_transfer() {
    let length = MORE_THAN_BUFFERS + 5;
    let server = after_request(move |peer| {
        peer.answer(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").as_bytes());
        peer.answer(&vec![b'x'; MORE_THAN_BUFFERS]);
        sleep(DELAY);
        peer.answer(b"again");
    });
    let (request, response) = good(&plan(server.url()));
    at_least("transfer", request.phases.transfer_ms, DELAY_MS);
    assert_eq!(response.body_bytes, length as u64);
}

#[test]
fn a_request_that_is_read_slowly_is_the_sending() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
    rustix::net::sockopt::set_socket_recv_buffer_size(&listener, 4096).expect("any size is taken");
    let server = Server::on(listener, |peer| {
        peer.head();
        sleep(DELAY);
        peer.hold_until(MORE_THAN_BUFFERS);
        peer.answer(&ok(""));
    });
    let (request, _) =
        good(&ProbePlan { request: post(vec![b'x'; MORE_THAN_BUFFERS]), ..plan(server.url()) });
    at_least("send", request.phases.send_ms, DELAY_MS);
    assert_eq!(request.sent_bytes, request.request_bytes);
}

#[test]
fn chunks_and_bodies_that_end_with_the_connection() {
    let server = after_request(|peer| {
        peer.answer(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
        peer.answer(b"1\r\n!\r\n0\r\nSum: 6\r\n\r\n");
    });
    let (_, response) = good(&plan(server.url()));
    assert_eq!((response.body_bytes, response.framing), (6, BodyFraming::Chunked));

    let server = Server::start(|peer| {
        let head = peer.request().expect("a request").head;
        assert!(head.starts_with("GET / HTTP/1.0\r\n") && !head.contains("Connection"), "{head}");
        peer.answer(b"HTTP/1.0 200 OK\r\n\r\nhello");
    });
    let request = RequestPlan { version: Version::Http10, keep_alive: false, ..get() };
    let (_, response) = good(&ProbePlan { request, ..plan(server.url()) });
    assert_eq!(response.version, "HTTP/1.0");
    assert_eq!((response.body_bytes, response.framing), (5, BodyFraming::UntilClose));
}

#[test]
fn no_body() {
    let server = Server::answering(b"HTTP/1.1 204 No Content\r\n\r\n");
    let (request, response) = good(&plan(server.url()));
    assert_eq!((response.body_bytes, response.framing), (0, BodyFraming::None));
    assert!(request.phases.transfer_ms.is_some());
    let server = Server::answering(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
    let head = RequestPlan { method: "HEAD".to_owned(), ..get() };
    let (_, response) = good(&ProbePlan { request: head, ..plan(server.url()) });
    assert_eq!((response.body_bytes, response.framing), (0, BodyFraming::None));
}

#[test]
fn interim_responses_do_not_end_the_servers_phase() {
    let server = after_request(|peer| {
        peer.answer(b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\nHTTP/1.1 102 Pro");
        peer.answer(b"cessing\r\n\r\n");
        sleep(DELAY);
        peer.answer(&ok("hello"));
    });
    let (request, response) = good(&plan(server.url()));
    at_least("server", request.phases.server_ms, DELAY_MS);
    assert_eq!(response.status, 200);
    let statuses: Vec<u16> = request.interim.iter().map(|interim| interim.status).collect();
    assert_eq!(statuses, [103, 102]);
    let server_ms = request.phases.server_ms.expect("it ended");
    assert!(request.interim.iter().all(|interim| (0.0..=server_ms).contains(&interim.after_ms)));
}

#[test]
fn a_reset_in_the_middle() {
    let server = after_request(|peer| {
        peer.answer(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello");
        peer.reset();
    });
    let request = one(&plan(server.url()));
    // The reset may overtake what was sent before it.
    let failure = failure(&request);
    assert!(matches!(failure.phase, Some(ProbePhase::Server | ProbePhase::Transfer)), "{failure:?}");
    assert_eq!(
        (failure.kind, failure.message.as_str()),
        (Some(ErrorKind::Reset), "connection reset by peer")
    );
}

#[test]
fn a_close_in_the_middle() {
    let check = |answer: &'static [u8], phase: ProbePhase, message: &str| {
        let server = Server::start(move |peer| {
            peer.request();
            peer.answer(answer);
        });
        let request = one(&plan(server.url()));
        let failure = failure(&request);
        assert_eq!((failure.phase, failure.kind), (Some(phase), Some(ErrorKind::ClosedEarly)));
        assert_eq!(failure.message, message);
        assert!(failure.after_ms.is_some_and(|after_ms| after_ms >= 0.0));
    };
    check(b"", ProbePhase::Server, "the server closed the connection without an answer");
    let head = "the server closed the connection before the end of the head";
    check(b"HTTP/1.1 200", ProbePhase::Transfer, head);
    check(b"HTTP/1.1 103 Early Hints\r\n\r\n", ProbePhase::Server, head);
    let body = "the server closed the connection 5 bytes before the end of the body";
    check(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", ProbePhase::Transfer, body);
}

#[test]
fn too_late() {
    let server = after_request(Peer::hold);
    let timeouts = impatient(50);
    let request = one(&ProbePlan { timeouts, ..plan(server.url()) });
    let silent = failure(&request);
    assert_eq!((silent.phase, silent.kind), (Some(ProbePhase::Server), Some(ErrorKind::RequestTimeout)));
    assert_eq!(silent.message, "no response came within 0.05 s");
    assert!(request.phases.connect_ms.is_some() && request.phases.send_ms.is_some(), "{request:?}");

    let server = after_request(|peer| {
        peer.answer(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello");
        peer.hold();
    });
    let request = one(&ProbePlan { timeouts: impatient(200), ..plan(server.url()) });
    let slow = failure(&request);
    assert_eq!(slow.kind, Some(ErrorKind::RequestTimeout));
    if slow.phase == Some(ProbePhase::Transfer) {
        assert_eq!(slow.message, "the response was not complete within 0.2 s");
        assert_eq!(request.response.expect("a head").body_bytes, 5);
    }
}

#[test]
fn endless_heads_and_foreign_protocols() {
    let check = |answer: &[u8], message: &str| {
        let answer = answer.to_vec();
        let server = after_request(move |peer| {
            peer.answer(&answer);
        });
        let request = one(&plan(server.url()));
        let failure = failure(&request);
        assert_eq!((failure.phase, failure.kind), (Some(ProbePhase::Transfer), Some(ErrorKind::Protocol)));
        assert!(failure.message.contains(message), "{}", failure.message);
    };
    let endless = [&b"HTTP/1.1 200 OK\r\n"[..], &b"X-Filler: and more\r\n".repeat(4096)].concat();
    check(&endless, "the head does not end within 65536 bytes");
    check(b"SSH-2.0-OpenSSH_9.6\r\n", r"is this an HTTP server?; it began with SSH-2.0-OpenSSH_9.6\r\n");
    check(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhello\r\n",
        "a chunk-size line is malformed",
    );
}

#[test]
fn what_the_server_says_of_its_time() {
    let server = Server::answering(
        b"HTTP/1.1 200 OK\r\nServer-Timing: db;dur=8.2;desc=\"all, \\\"two\\\"\", a b;dur=1\r\n\
          Content-Length: 0\r\nserver-timing: app;dur=soon, cache\r\n\r\n",
    );
    let (_, response) = good(&plan(server.url()));
    let timing = response.server_timing.expect("fields");
    let found: Vec<_> = timing
        .metrics
        .iter()
        .map(|metric| (metric.name.as_str(), metric.duration_ms, metric.description.as_deref()))
        .collect();
    let expected = [("db", Some(8.2), Some("all, \"two\"")), ("app", None, None), ("cache", None, None)];
    assert_eq!(found, expected);
    assert_eq!(
        timing.problems,
        [
            "the name of a metric must be a token (`a b;dur=1`)",
            "dur must be a number of milliseconds, 0 or more (`app;dur=soon`)"
        ]
    );
    let server = Server::answering(&ok(""));
    assert_eq!(good(&plan(server.url())).1.server_timing, None);
}

#[test]
fn statuses_are_evaluated() {
    let server = Server::answering(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    let request = one(&plan(server.url()));
    let failure = failure(&request);
    assert_eq!((failure.phase, failure.kind), (None, Some(ErrorKind::Status)));
    assert_eq!(failure.message, "404 Not Found for GET /");
    let expected = StatusSet::parse("404").expect("a set");
    good(&ProbePlan { expected, ..plan(server.url()) });

    let server = Server::answering(b"HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n");
    let (_, response) = good(&plan(&format!("{}account", server.url())));
    assert_eq!(response.location, Some(format!("{}login", server.url())));
}

#[test]
fn an_answer_before_the_request_is_sent() {
    let server = Server::start(|peer| {
        if peer.head().is_some() {
            peer.answer(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n");
            peer.leave();
        }
    });
    let request = one(&ProbePlan { request: post(vec![b'x'; MORE_THAN_BUFFERS]), ..plan(server.url()) });
    assert_eq!(failure(&request).kind, Some(ErrorKind::Status), "{request:?}");
    assert!(request.sent_bytes < request.request_bytes, "{request:?}");
    assert_eq!(request.phases.server_ms, Some(0.0), "the response ended the sending");
}

#[test]
fn a_body_is_kept_whole_or_not_at_all() {
    let server = Server::answering(&ok("hello"));
    let mut body = KeptBody::new(5);
    probe_with(&ProbePlan { count: 2, ..plan(server.url()) }, &Control::default(), Some(&mut body));
    assert_eq!(body.whole().as_deref(), Ok(&b"hello"[..]), "of the first response only");
    let mut body = KeptBody::new(4);
    probe_with(&plan(server.url()), &Control::default(), Some(&mut body));
    assert_eq!(body.whole(), Err(BodyNotKept::TooLong { body_bytes: 5, limit_bytes: 4 }));
    let server = Server::start(|peer| {
        peer.request();
        peer.answer(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel");
    });
    let mut body = KeptBody::new(5);
    probe_with(&plan(server.url()), &Control::default(), Some(&mut body));
    assert_eq!(body.whole(), Err(BodyNotKept::Incomplete));
}

#[test]
fn stopped_by_hand() {
    let control = Control::default();
    let stop = control.clone();
    let server = after_request(move |peer| {
        stop.stop();
        peer.hold();
    });
    let result = probe_with(&ProbePlan { count: 3, ..plan(server.url()) }, &control, None);
    assert!(result.interrupted);
    let [request] = &result.requests[..] else { panic!("one request was begun: {result:?}") };
    let failure = failure(request);
    assert_eq!((failure.phase, failure.kind), (Some(ProbePhase::Server), None));
    assert_eq!(failure.message, "stopped by hand before the response began");
}
