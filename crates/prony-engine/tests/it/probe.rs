//! Single requests, phase by phase. What a script delays is a lower bound of the phase; there are no upper ones. A
//! client that has to wait for a core notes the first byte late, so a script delays a body only when it can be sure
//! that the client has noted it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, ToSocketAddrs as _};
use std::thread::sleep;
use std::time::Duration;

use prony_engine::{BodyNotKept, Control, KeptBody, RunError};
use prony_model::{
    BodyFraming, ErrorKind, ProbeFailure, ProbePhase, ProbePlan, ProbeResult, ProbedRequest, ProbedResponse,
    RequestPlan, StatusSet, Target, Timeouts, Version,
};

use crate::plans::{get, impatient, post};
use crate::server::{Peer, Server, ok};

/// What the scripts wait for where a phase must be seen.
const DELAY: Duration = Duration::from_millis(30);
const DELAY_MS: f64 = 30.0;

/// One GET of `url`.
fn plan(url: &str) -> ProbePlan {
    ProbePlan {
        target: Target::parse(url).expect("a URL"),
        request: get(),
        count: 1,
        reuse: false,
        timeouts: Timeouts::default(),
        expected: StatusSet::default(),
        sources: Vec::new(),
    }
}

fn probe(plan: &ProbePlan) -> ProbeResult {
    probe_with(plan, &Control::default(), None)
}

fn probe_with(plan: &ProbePlan, control: &Control, body: Option<&mut KeptBody>) -> ProbeResult {
    let mut numbers = Vec::new();
    let result = prony_engine::probe(plan, control, body, &mut |number| numbers.push(number))
        .expect("the request can be sent");
    assert_eq!(result.plan, *plan);
    assert_eq!(numbers.len(), result.requests.len());
    result.requests.iter().for_each(check);
    result
}

/// What must hold for every request, whatever the server did.
fn check(request: &ProbedRequest) {
    let phases = request.phases;
    let all = ProbePhase::ALL.map(|phase| phases.of(phase));
    assert!(all.into_iter().flatten().all(|time_ms| time_ms >= 0.0), "{phases:?}");
    assert_eq!(phases.tls_ms, None);
    assert!(request.sent_bytes <= request.request_bytes, "{request:?}");
    let complete = request.failure.as_ref().is_none_or(|failure| failure.kind == Some(ErrorKind::Status));
    assert_eq!(phases.total_ms.is_some(), complete, "{request:?}");
    if let Some(total_ms) = phases.total_ms {
        let sum_ms: f64 = all.into_iter().flatten().sum();
        assert!((sum_ms - total_ms).abs() < 1e-6, "nothing between the phases: {phases:?}");
    }
    let failed = request.failure.as_ref().and_then(|failure| failure.phase);
    if let Some(failed) = failed {
        assert_eq!(phases.of(failed), None, "a phase that did not end has no time: {request:?}");
    }
}

/// The only request of `plan`.
fn one(plan: &ProbePlan) -> ProbedRequest {
    let mut requests = probe(plan).requests;
    assert_eq!(requests.len(), 1);
    requests.remove(0)
}

/// The same for one that must get a complete response of a good status.
fn good(plan: &ProbePlan) -> (ProbedRequest, ProbedResponse) {
    let mut request = one(plan);
    assert_eq!(request.failure, None, "{request:?}");
    let response = request.response.take().expect("a response");
    (request, response)
}

fn failure(request: &ProbedRequest) -> &ProbeFailure {
    request.failure.as_ref().unwrap_or_else(|| panic!("it must fail: {request:?}"))
}

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
fn addresses_are_tried_in_the_resolvers_order() {
    let port_0: Vec<_> = ("localhost", 0).to_socket_addrs().expect("every machine has it").collect();
    let mut hosts: Vec<IpAddr> = port_0.iter().map(std::net::SocketAddr::ip).collect();
    hosts.dedup();
    // Where the name has several addresses, only the last one answers.
    let last = *hosts.last().expect("an address");
    let Ok(listener) = TcpListener::bind((last, 0)) else { return };
    let server = Server::on(listener, |peer| while peer.request().is_some() && peer.answer(&ok("")) {});
    let port = server.address().port();
    let (request, _) = good(&plan(&format!("http://localhost:{port}/")));
    assert!(request.phases.dns_ms.is_some());
    assert_eq!(request.remote, Some(server.address().to_string()));
    let failed: Vec<&str> = request.failed_addresses.iter().map(|failed| failed.address.as_str()).collect();
    let before = &hosts[..hosts.len() - 1];
    let expected: Vec<String> =
        before.iter().map(|host| std::net::SocketAddr::new(*host, port).to_string()).collect();
    assert_eq!(failed, expected);
    let connect_ms = request.phases.connect_ms.expect("it was connected");
    let took_ms: f64 = request.failed_addresses.iter().map(|failed| failed.took_ms).sum();
    assert!(connect_ms >= took_ms, "{request:?}");
}

#[test]
fn an_address_needs_no_look_up() {
    let server = Server::answering(&ok(""));
    let (request, _) = good(&plan(server.url()));
    assert_eq!(request.phases.dns_ms, None);
    assert!(request.phases.connect_ms.is_some());
}

#[test]
fn ipv6() {
    // Not every machine has it.
    let Ok(listener) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) else { return };
    let server = Server::on(listener, |peer| while peer.request().is_some() && peer.answer(&ok("")) {});
    let (request, _) = good(&plan(server.url()));
    assert_eq!((request.phases.dns_ms, request.remote), (None, Some(server.address().to_string())));
    assert!(request.local.expect("an address").starts_with("[::1]:"));
}

#[test]
fn a_unix_socket() {
    let path = std::env::temp_dir().join(format!("prony-{}-probe.socket", std::process::id()));
    let server =
        Server::on_unix(&path, |peer| while peer.request().is_some() && peer.answer(&ok("hello")) {});
    let mut plan = plan("http://localhost/");
    plan.target.unix = Some(path.clone());
    let (request, response) = good(&plan);
    assert_eq!(response.body_bytes, 5);
    assert_eq!((request.remote, request.local), (Some(path.display().to_string()), None));
    assert_eq!((request.phases.dns_ms, request.kernel), (None, None));
    drop(server);
    std::fs::remove_file(&path).expect("the server made it");
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
fn statuses_are_judged() {
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
fn several_requests_each_on_its_connection() {
    let server = Server::answering(&ok("hello"));
    let result = probe(&ProbePlan { count: 5, ..plan(server.url()) });
    assert_eq!([server.requests(), server.used_connections()], [5, 5]);
    assert!(result.requests.iter().all(|request| !request.reused && request.phases.connect_ms.is_some()));
    assert!(result.requests.is_sorted_by(|one, next| one.started_ms <= next.started_ms));
    let later = result.later.expect("later requests");
    assert_eq!([later.connect.count, later.server.count, later.total.count, later.dns.count], [4, 4, 4, 0]);
    assert!(later.total.min_ms <= later.total.median_ms && later.total.median_ms <= later.total.max_ms);
}

#[test]
fn several_requests_on_one_connection() {
    let server = Server::answering(&ok("hello"));
    let result = probe(&ProbePlan { count: 4, reuse: true, ..plan(server.url()) });
    assert_eq!([server.requests(), server.used_connections()], [4, 1]);
    let reused: Vec<bool> = result.requests.iter().map(|request| request.reused).collect();
    assert_eq!(reused, [false, true, true, true]);
    assert_eq!(result.requests[1].phases.connect_ms, None);
    assert_eq!(result.later.expect("later requests").connect.count, 0);

    // A server that closes, with a word or without one, gets a new connection.
    for close in [&b"Connection: close\r\n"[..], b""] {
        let answer = [&b"HTTP/1.1 200 OK\r\n"[..], close, b"Content-Length: 0\r\n\r\n"].concat();
        let server = Server::start(move |peer| {
            peer.request();
            peer.answer(&answer);
            peer.leave();
        });
        let result = probe(&ProbePlan { count: 3, reuse: true, ..plan(server.url()) });
        let good = result.requests.iter().filter(|request| request.failure.is_none()).count();
        // Without a word, the close may come after the next request was sent.
        assert!(good == 3 || close.is_empty(), "{:?}", result.requests);
        assert!(server.used_connections() > 1);
    }
}

#[test]
fn bytes_after_the_end_are_told_and_spoil_the_connection() {
    let server = Server::answering(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello, and more");
    let result = probe(&ProbePlan { count: 2, reuse: true, ..plan(server.url()) });
    assert_eq!(server.used_connections(), 2);
    let stray: Vec<u64> =
        result.requests.iter().filter_map(|request| Some(request.response.as_ref()?.stray_bytes)).collect();
    assert_eq!(stray, [10, 10]);
}

#[test]
fn later_requests_may_find_nobody() {
    let server = Server::start(|peer| {
        peer.request();
        peer.stop_listening();
        peer.answer(&ok("hello"));
    });
    let result = probe(&ProbePlan { count: 2, ..plan(server.url()) });
    let failure = failure(&result.requests[1]);
    assert_eq!((failure.phase, failure.kind), (Some(ProbePhase::Connect), Some(ErrorKind::Refused)));
    assert!(failure.message.contains("connection refused"), "{failure:?}");
    assert_eq!(result.later.expect("a later request").total.count, 0);
}

#[test]
fn sources_are_used_in_turn() {
    let server = Server::answering(&ok(""));
    let sources: Vec<IpAddr> = [3, 4].map(|last| Ipv4Addr::new(127, 0, 0, last).into()).to_vec();
    probe(&ProbePlan { count: 4, sources: sources.clone(), ..plan(server.url()) });
    assert_eq!(server.peers(), [sources[0], sources[1], sources[0], sources[1]]);
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

/// What keeps the first request from being sent, by its words.
fn refused(plan: &ProbePlan, is_expected: impl Fn(&RunError) -> bool, words: &str) {
    let error =
        prony_engine::probe(plan, &Control::default(), None, &mut |_| {}).expect_err("it can't be sent");
    assert!(is_expected(&error), "{error:?}");
    assert!(error.to_string().contains(words), "`{error}` does not say `{words}`");
}

#[test]
fn what_can_not_be_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
    let address = listener.local_addr().expect("it is bound").to_string();
    drop(listener);
    let nothing = |error: &RunError| matches!(error, RunError::NothingAnswers { .. });
    refused(&plan(&address), nothing, &format!("nothing answers at {address} (connection refused)"));
    let unknown = |error: &RunError| matches!(error, RunError::Resolve { .. });
    refused(&plan("http://nobody.invalid/"), unknown, "no address for the host `nobody.invalid`");
    let mut socket = plan("http://localhost/");
    socket.target.unix = Some("/nonexistent/prony.socket".into());
    refused(&socket, nothing, "no such file");
    let no_plan = |error: &RunError| matches!(error, RunError::Plan(_));
    refused(&ProbePlan { count: 0, ..plan(&address) }, no_plan, "use --count 1 to 1000");
    let request = RequestPlan { headers: vec![("a b".to_owned(), String::new())], ..get() };
    let no_request = |error: &RunError| matches!(error, RunError::Request(_));
    refused(&ProbePlan { request, ..plan(&address) }, no_request, "can't be sent");
    let sources = vec![IpAddr::V6(Ipv6Addr::LOCALHOST)];
    let no_source = |error: &RunError| matches!(error, RunError::SourceFamily { .. });
    refused(&ProbePlan { sources, ..plan(&address) }, no_source, "name an IPv4 source");
}

/// A connection that is never accepted: the queue of the listener is full.
#[test]
fn no_connection_in_time() {
    let listener =
        rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None)
            .expect("a socket");
    rustix::net::bind(&listener, &std::net::SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).expect("a free port");
    rustix::net::listen(&listener, 0).expect("it is bound");
    let address = std::net::SocketAddr::try_from(rustix::net::getsockname(&listener).expect("it is bound"))
        .expect("an IPv4 address");
    let _first_in_the_queue = std::net::TcpStream::connect(address).expect("the queue has room for one");
    let plan = ProbePlan { timeouts: impatient(50), ..plan(&address.to_string()) };
    let nothing = |error: &RunError| matches!(error, RunError::NothingAnswers { .. });
    refused(&plan, nothing, "connection timed out");
}
