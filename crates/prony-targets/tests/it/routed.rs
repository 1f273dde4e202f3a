//! What `dashboard`, `kv` and `express` have in common: how requests come and go.

use std::net::SocketAddr;
use std::time::Duration;

use prony_targets::{Running, StartError, dashboard, express, kv};

use crate::client::{Client, ask, many};

/// All servers, with a target that each answers 404.
fn all(workers: usize, head_timeout: Duration) -> [Running; 3] {
    [
        dashboard::start(dashboard::Config { workers, head_timeout, ..Default::default() }).unwrap(),
        kv::start(kv::Config { workers, head_timeout, ..Default::default() }).unwrap(),
        express::start(express::Config { workers, head_timeout, ..Default::default() }).unwrap(),
    ]
}

fn each(mut test: impl FnMut(SocketAddr, Running)) {
    for server in all(1, Duration::from_secs(10)) {
        test(server.local_addr(), server);
    }
}

#[test]
fn every_reply_has_a_server_timing() {
    each(|address, _server| {
        for request in ["GET /no HTTP/1.1\r\n\r\n", "GET /no HTTP/1.0\r\n\r\n", "nonsense\r\n\r\n"] {
            let took = ask(address, request).field("Server-Timing").unwrap().to_owned();
            assert!(took.strip_prefix("app;dur=").unwrap().parse::<f64>().is_ok(), "{took}");
        }
    });
}

#[test]
fn a_thousand_requests_on_each_of_fifty_connections() {
    for server in all(2, Duration::from_secs(10)) {
        many(server.local_addr(), 50, 1000, |_, client| {
            assert_eq!(client.send("GET /no HTTP/1.1\r\nHost: a\r\n\r\n").reply().status, 404);
        });
        let report = server.stop();
        assert_eq!((report.counts.requests, report.counts.connections), (50_000, 50));
        assert_eq!((report.counts.broken, report.counts.rejected, report.abandoned), (0, 0, 0));
    }
}

#[test]
fn pipelined_requests_are_answered_in_order_and_bodies_are_skipped() {
    each(|address, server| {
        let mut client = Client::connect(address);
        let batch = "GET /no HTTP/1.1\r\n\r\n".repeat(2000)
            + "PATCH /no HTTP/1.1\r\nContent-Length: 18\r\n\r\nGET /no HTTP/1.1\r\n"
            + "PATCH /no HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;x\r\nGET /\r\n0\r\nA: b\r\n\r\n"
            + "HEAD /no HTTP/1.1\r\n\r\n"
            + "GET /no HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
            + "GET /no HTTP/1.1\r\nConnection: close\r\n\r\n";
        // Who sends and does not read would be held up in the end, so both are done at once.
        std::thread::scope(|scope| {
            let mut sender = client.second();
            scope.spawn(move || {
                sender.send(batch);
            });
            for _ in 0..2000 {
                assert_eq!(client.reply().status, 404);
            }
        });
        let patched = if client.reply().status == 404 { 404 } else { 405 };
        assert_eq!(client.reply().status, patched);
        let head = client.head();
        assert_ne!(head.field("Content-Length"), Some("0"));
        assert_eq!(client.reply().field("Connection"), Some("keep-alive"));
        assert_eq!(client.reply().field("Connection"), Some("close"));
        assert!(client.ended());
        assert_eq!(server.stop().counts.requests, 2005);
    });
}

#[test]
fn requests_may_come_byte_by_byte() {
    each(|address, _server| {
        let mut client = Client::connect(address);
        let requests = "PATCH /no HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc\
                        PATCH /no HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n\
                        GET /no HTTP/1.1\r\n\r\n";
        for byte in requests.bytes() {
            client.send([byte]);
        }
        for _ in 0..2 {
            assert!(matches!(client.reply().status, 404 | 405));
        }
        assert_eq!(client.reply().status, 404);
    });
}

#[test]
fn limits_are_kept() {
    let long = format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(8192));
    let fat = format!("POST /a HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n{}", "x".repeat(1024 * 1024 + 1));
    let chunk = format!("1\r\nx\r\n100000\r\n{}\r\n", "x".repeat(1024 * 1024));
    let fat_chunks = format!("POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}");
    let cases = [
        ("nonsense\r\n\r\n", 400),
        ("POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", 400),
        ("POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", 400),
        ("POST /a HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 411),
        (&fat, 413),
        (&fat_chunks, 413),
        (&long, 431),
    ];
    each(|address, server| {
        for (request, status) in cases {
            let mut client = Client::connect(address);
            assert_eq!(client.send_as_far_as_taken(request).reply().status, status, "{request:.60}");
            assert!(client.ended());
        }
        let longest = format!("GET /no HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(8192 - 25));
        assert_eq!((longest.len(), ask(address, &longest).status), (8192, 404));
        assert_eq!(server.stop().counts.rejected, cases.len() as u64);
    });
}

#[test]
fn a_head_that_does_not_end_is_answered_408() {
    for server in all(1, Duration::from_millis(20)) {
        let mut client = Client::connect(server.local_addr());
        assert_eq!(client.send("GET / HT").reply().status, 408);
        assert!(client.ended());
        // Who sends nothing at all is only let go, also behind a reply.
        assert!(Client::connect(server.local_addr()).ended());
        assert_eq!(server.stop().counts.rejected, 1);
    }
}

#[test]
fn a_client_that_expects_continue_gets_it() {
    each(|address, _server| {
        let mut client = Client::connect(address);
        client.send("POST /no?a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
        assert_eq!(client.head().status, 100);
        assert!(matches!(client.send("ab").reply().status, 201 | 404));
        client.send("POST /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2000000\r\n\r\n");
        assert_eq!(client.reply().status, 413);
    });
}

#[test]
fn a_stop_lets_half_a_request_finish_and_ends_idle_connections() {
    each(|address, server| {
        let mut idle = Client::connect(address);
        assert_eq!(idle.send("GET /no HTTP/1.1\r\n\r\n").reply().status, 404);
        let mut late = Client::connect(address);
        late.send("GET /no HTTP/1.1\r\n");
        while server.counters().connections < 2 {
            std::thread::yield_now();
        }
        let stopping = std::thread::spawn(move || server.stop());
        assert!(idle.ended());
        let reply = late.send("\r\n").reply();
        assert_eq!((reply.status, reply.field("Connection")), (404, Some("close")));
        assert!(late.ended());
        assert_eq!(stopping.join().unwrap().abandoned, 0);
    });
}

#[test]
fn a_client_that_closes_its_side_gets_all_its_answers_and_the_end() {
    each(|address, _server| {
        let mut client = Client::connect(address);
        client.send("GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n").finish_sending();
        assert_eq!([client.reply().status, client.reply().status], [404, 404]);
        assert!(client.ended());
    });
}

#[test]
fn a_client_that_leaves_in_the_middle_is_counted() {
    each(|address, server| {
        let mut client = Client::connect(address);
        client.send("POST /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nab").finish_sending();
        assert!(client.ended());
        assert_eq!(server.stop().counts.broken, 1);
    });
}

#[test]
fn unsupported_requests_are_rejected() {
    let error = dashboard::start(dashboard::Config { workers: 0, ..Default::default() }).unwrap_err();
    assert!(matches!(error, StartError::Setting { setting: "workers", .. }), "{error}");
    let error = kv::start(kv::Config { head_timeout: Duration::ZERO, ..Default::default() }).unwrap_err();
    assert!(matches!(error, StartError::Setting { setting: "head_timeout", .. }), "{error}");
    let listen = "0.0.0.0:0".parse().unwrap();
    let error = kv::start(kv::Config { listen, ..Default::default() }).unwrap_err();
    assert!(matches!(error, StartError::NotLoopback { .. }), "{error}");
}
