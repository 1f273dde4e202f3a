//! How the server is reached: addresses, sources, and the connections of several requests.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, ToSocketAddrs as _};

use prony_engine::{Control, RunError};
use prony_model::{ErrorKind, ProbePhase, ProbePlan, RequestPlan};

use super::{failure, good, plan, probe};
use crate::plans::{get, impatient};
use crate::server::{Server, ok};

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
    let Ok(listener) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) else {
        return prony_testing::skip("a probe over IPv6", "this machine has no ::1");
    };
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
fn bytes_after_the_end_are_reported_and_spoil_the_connection() {
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
    refused(&ProbePlan { count: 0, ..plan(&address) }, no_plan, "use `count` 1 to 1000");
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
