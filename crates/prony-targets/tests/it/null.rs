//! `null`.

use prony_targets::null::{Config, start};
use prony_targets::{Running, StartError};

use crate::client::{Client, ask};

fn started(body_bytes: usize) -> Running {
    start(Config { body_bytes, ..Config::default() }).unwrap()
}

#[test]
fn answers_hello_and_keeps_the_connection() {
    let server = started(12);
    let mut client = Client::connect(server.local_addr());
    for _ in 0..3 {
        let reply = client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").reply();
        assert_eq!((reply.status, reply.text()), (200, "Hello World!"));
        assert_eq!(reply.field("Connection"), None);
    }
    let report = server.stop();
    assert_eq!((report.counts.requests, report.counts.connections), (3, 1));
    assert!(client.ended(), "a stop closes idle connections");
}

#[test]
fn bodies_have_the_length_asked_for() {
    for body_bytes in [0, 1, 100_000] {
        let server = started(body_bytes);
        let reply = ask(server.local_addr(), "GET / HTTP/1.1\r\n\r\n");
        assert_eq!(reply.body.len(), body_bytes);
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = started(12);
    let mut client = Client::connect(server.local_addr());
    let batch = "GET / HTTP/1.1\r\n\r\n".repeat(1000)
        + "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n12345"
        + "HEAD / HTTP/1.1\r\n\r\n"
        + "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
        + "GET / HTTP/1.1\r\nConnection: close\r\n\r\n";
    client.send(batch);
    for _ in 0..1001 {
        assert_eq!(client.reply().text(), "Hello World!");
    }
    let head = client.head();
    assert_eq!(head.field("Content-Length"), Some("12"));
    assert_eq!(client.reply().field("Connection"), Some("keep-alive"));
    assert_eq!(client.reply().field("Connection"), Some("close"));
    assert!(client.ended());
    assert_eq!(server.stop().counts.requests, 1004);
}

#[test]
fn a_client_that_pipelines_without_reading_is_held_up_and_then_served() {
    let server = started(100_000);
    let address = server.local_addr();
    // 200 MB of answers fit into no socket buffer: the server must hold back and go on later.
    let requests = 2000;
    let mut client = Client::connect(address);
    client.send("GET / HTTP/1.1\r\n\r\n".repeat(requests));
    for _ in 0..requests {
        assert_eq!(client.reply().body.len(), 100_000);
    }
}

#[test]
fn requests_may_come_byte_by_byte() {
    let server = started(12);
    let mut client = Client::connect(server.local_addr());
    for byte in b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\n\r\n" {
        client.send([*byte]);
    }
    assert_eq!(client.reply().status, 200);
    assert_eq!(client.reply().status, 200);
}

#[test]
fn http_1_0_and_close_end_the_connection() {
    let server = started(12);
    for request in ["GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nConnection: close\r\n\r\n"] {
        let mut client = Client::connect(server.local_addr());
        assert_eq!(client.send(request).reply().field("Connection"), Some("close"));
        assert!(client.ended());
    }
}

#[test]
fn a_client_that_closes_its_side_still_gets_its_answer() {
    let server = started(12);
    let mut client = Client::connect(server.local_addr());
    client.send("GET / HTTP/1.1\r\n\r\n").finish_sending();
    assert_eq!(client.reply().status, 200);
    assert!(client.ended());
    assert_eq!(server.stop().counts.broken, 0);
}

#[test]
fn what_cannot_be_framed_is_rejected() {
    let server = started(12);
    let long = format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(8192));
    let cases = [
        ("nonsense\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
        ("POST / HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n", 413),
        (&long, 431),
    ];
    for (request, status) in cases {
        assert_eq!(ask(server.local_addr(), request).status, status, "{request}");
    }
    assert_eq!(server.stop().counts.rejected, 4);
}

#[test]
fn workers_share_a_port() {
    let server = start(Config { workers: 3, ..Config::default() }).unwrap();
    let clients: Vec<_> = (0..30)
        .map(|_| {
            let mut client = Client::connect(server.local_addr());
            assert_eq!(client.send("GET / HTTP/1.1\r\n\r\n").reply().status, 200);
            client
        })
        .collect();
    let report = server.stop();
    assert_eq!((report.counts.connections, report.counts.requests, report.abandoned), (30, 30, 0));
    drop(clients);
}

#[test]
fn unsupported_requests_are_rejected() {
    let server = started(12);
    let error = start(Config { listen: server.local_addr(), ..Config::default() }).unwrap_err();
    assert!(matches!(error, StartError::PortTaken { .. }), "{error}");
    let error = start(Config { listen: "0.0.0.0:0".parse().unwrap(), ..Config::default() }).unwrap_err();
    assert!(error.to_string().contains("allow remote clients"), "{error}");
    let error = start(Config { workers: 0, ..Config::default() }).unwrap_err();
    assert!(matches!(error, StartError::Setting { setting: "workers", .. }), "{error}");
}
