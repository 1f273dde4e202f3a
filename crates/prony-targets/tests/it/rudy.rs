//! `rudy`: what all models have in common, and how they differ.

use std::time::Duration;

use prony_targets::rudy::{Config, Model, WhenFull, start};
use prony_targets::{Running, StartError};

use crate::client::{Client, ask, wait_until_asked};

/// The pool that refuses has more workers than any test has connections one after another: a worker may not be
/// quite done with one when the client already makes the next.
const MODELS: [Model; 5] = [
    Model::Sequential,
    Model::Thread,
    Model::Pool { workers: 2, when_full: WhenFull::Hold },
    Model::Pool { workers: 16, when_full: WhenFull::Refuse },
    Model::Async,
];

fn quick(model: Model) -> Config {
    Config { model, delay: Duration::from_millis(1), ..Config::default() }
}

fn started(model: Model) -> Running {
    start(quick(model)).unwrap()
}

#[test]
fn every_model_answers_one_request_and_closes() {
    for model in MODELS {
        let server = started(model);
        let mut client = Client::connect(server.local_addr());
        let reply = client.send("GET /foo?bar HTTP/1.1\r\nHost: a\r\n\r\n").reply();
        assert_eq!(reply.status, 200, "{model:?}");
        assert!(reply.text().contains("<body>/foo</body>"), "{model:?}: {}", reply.text());
        assert_eq!(reply.field("Connection"), Some("close"), "{model:?}");
        assert!(client.ended(), "{model:?}");
        let counts = server.stop().counts;
        assert_eq!((counts.requests, counts.in_flight, counts.max_in_flight), (1, 0, 1), "{model:?}");
    }
}

#[test]
fn every_model_serves_files_with_type_and_length() {
    let folder = tempfile::tempdir().unwrap();
    let long = vec![b'x'; 1 << 20];
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    std::fs::write(folder.path().join("index.html"), "<p>start").unwrap();
    std::fs::write(folder.path().join("sub/long.bin"), &long).unwrap();
    for model in MODELS {
        let server = start(Config { files: Some(folder.path().to_owned()), ..quick(model) }).unwrap();
        let check = |path: &str, status: u16, content_type: &str, body: &[u8]| {
            let reply = ask(server.local_addr(), &format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
            assert_eq!(reply.status, status, "{model:?} {path}");
            assert_eq!(reply.field("Content-Type"), Some(content_type), "{model:?} {path}");
            assert!(reply.body == body, "{model:?} {path}: {} bytes", reply.body.len());
        };
        check("/", 200, "text/html; charset=utf-8", b"<p>start");
        check("/sub/long.bin?v=2", 200, "application/octet-stream", &long);
        check("/sub/../../etc/passwd", 404, "text/plain; charset=utf-8", b"no such file\n");
    }
}

#[test]
fn the_delay_is_kept_and_reported() {
    for model in MODELS {
        let server = started(model);
        let reply = ask(server.local_addr(), "GET / HTTP/1.0\r\n\r\n");
        let took = reply.field("Server-Timing").and_then(|value| value.strip_prefix("app;dur=")).unwrap();
        let took_ms: f64 = took.parse().unwrap();
        assert!(took_ms >= 1.0, "{model:?}: {took_ms}");
    }
}

#[test]
fn requests_may_come_byte_by_byte_with_a_body() {
    for model in MODELS {
        let server = started(model);
        let mut client = Client::connect(server.local_addr());
        for byte in b"POST /p HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc" {
            client.send([*byte]);
        }
        assert!(client.reply().text().contains("/p"), "{model:?}");
        let longest =
            format!("POST / HTTP/1.1\r\nContent-Length: 1048576\r\n\r\n{}", "x".repeat(1024 * 1024));
        assert_eq!(ask(server.local_addr(), &longest).status, 200, "{model:?}");
    }
}

#[test]
fn head_is_answered_without_a_body() {
    for model in MODELS {
        let server = started(model);
        let mut client = Client::connect(server.local_addr());
        let reply = client.send("HEAD / HTTP/1.1\r\n\r\n").head();
        assert_ne!(reply.field("Content-Length"), Some("0"), "{model:?}");
        assert!(client.ended(), "{model:?}");
    }
}

#[test]
fn limits_are_kept() {
    let long = format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(100_000));
    let fat = format!("POST / HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n{}", "x".repeat(1024 * 1024 + 1));
    let cases = [
        ("nonsense\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
        (&fat, 413),
        (&long, 431),
    ];
    for model in MODELS {
        let server = started(model);
        for (request, status) in cases {
            let mut client = Client::connect(server.local_addr());
            let reply = client.send_as_far_as_taken(request).reply();
            assert_eq!(reply.status, status, "{model:?}");
            assert!(reply.field("Server-Timing").is_some(), "{model:?}");
            assert!(client.ended(), "{model:?}");
        }
        assert_eq!(server.stop().counts.rejected, 4, "{model:?}");
    }
}

#[test]
fn a_request_that_does_not_end_is_answered_408() {
    for model in MODELS {
        let server = start(Config { request_timeout: Duration::from_millis(20), ..quick(model) }).unwrap();
        let mut client = Client::connect(server.local_addr());
        assert_eq!(client.send("GET / HT").reply().status, 408, "{model:?}");
        // Who sends nothing at all is only let go.
        assert!(Client::connect(server.local_addr()).ended(), "{model:?}");
    }
}

#[test]
fn a_client_that_expects_continue_gets_it() {
    for model in MODELS {
        let server = started(model);
        let mut client = Client::connect(server.local_addr());
        client.send("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
        assert_eq!(client.head().status, 100, "{model:?}");
        assert_eq!(client.send("ab").reply().status, 200, "{model:?}");
    }
}

#[test]
fn keep_alive_is_served_where_switched_on() {
    for model in MODELS {
        let server = start(Config { keep_alive: true, ..quick(model) }).unwrap();
        let mut client = Client::connect(server.local_addr());
        // Two at once, so that the second is there before the first is answered.
        client.send("GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n");
        assert!(client.reply().text().contains("/1"), "{model:?}");
        assert!(client.reply().text().contains("/2"), "{model:?}");
        client.send("GET /3 HTTP/1.0\r\n\r\n");
        assert_eq!(client.reply().field("Connection"), Some("close"), "{model:?}");
        assert!(client.ended(), "{model:?}");
        let counts = server.stop().counts;
        assert_eq!((counts.requests, counts.connections), (3, 1), "{model:?}");
    }
}

#[test]
fn a_client_that_closes_its_side_gets_all_its_answers_and_the_end() {
    for model in MODELS {
        let server = start(Config { keep_alive: true, ..quick(model) }).unwrap();
        let mut at_once = Client::connect(server.local_addr());
        at_once.send("GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n").finish_sending();
        assert!(at_once.reply().text().contains("/a"), "{model:?}");
        assert!(at_once.reply().text().contains("/b"), "{model:?}");
        assert!(at_once.ended(), "{model:?}");
        let mut later = Client::connect(server.local_addr());
        assert!(later.send("GET /c HTTP/1.1\r\n\r\n").reply().text().contains("/c"), "{model:?}");
        assert!(later.finish_sending().ended(), "{model:?}");
    }
}

/// Sends a request on each of `count` connections at once, then takes the replies.
fn ask_at_once(server: &Running, count: usize) -> Vec<u16> {
    let mut clients: Vec<_> = (0..count).map(|_| Client::connect(server.local_addr())).collect();
    for client in &mut clients {
        client.send("GET / HTTP/1.1\r\n\r\n");
    }
    clients.iter_mut().map(|client| client.reply().status).collect()
}

#[test]
fn sequential_handles_one_at_a_time() {
    let server = started(Model::Sequential);
    assert_eq!(ask_at_once(&server, 10), [200; 10]);
    assert_eq!(server.stop().counts.max_in_flight, 1);
}

#[test]
fn a_pool_that_holds_handles_as_many_as_it_has_workers() {
    let delay = Duration::from_millis(40);
    let model = Model::Pool { workers: 3, when_full: WhenFull::Hold };
    let server = start(Config { delay, ..quick(model) }).unwrap();
    assert_eq!(ask_at_once(&server, 9), [200; 9]);
    assert_eq!(server.stop().counts.max_in_flight, 3);
}

#[test]
fn a_pool_that_refuses_answers_503_when_all_are_busy() {
    let model = Model::Pool { workers: 1, when_full: WhenFull::Refuse };
    let server = started(model);
    // Half a request keeps the only worker busy for as long as the test likes.
    let mut holder = Client::connect(server.local_addr());
    holder.send("GET /held HTTP/1.1\r\n");
    for _ in 0..3 {
        let mut client = Client::connect(server.local_addr());
        let reply = client.send("GET / HTTP/1.1\r\n\r\n").reply();
        assert_eq!(reply.status, 503);
        assert!(client.ended());
    }
    assert_eq!(holder.send("\r\n").reply().status, 200);
    let counts = server.stop().counts;
    assert_eq!((counts.requests, counts.refused, counts.connections), (1, 3, 4));
}

#[test]
fn one_thread_overlaps_a_hundred_delays() {
    let server = start(Config { model: Model::Async, ..Config::default() }).unwrap();
    // The first may be answered before the last is sent, where the machine is slow; most overlap.
    assert_eq!(ask_at_once(&server, 100), [200; 100]);
    let counts = server.stop().counts;
    assert!(counts.max_in_flight > 50, "{counts:?}");
}

#[test]
fn a_thread_per_connection_overlaps_delays() {
    let server = start(Config { model: Model::Thread, ..Config::default() }).unwrap();
    assert_eq!(ask_at_once(&server, 20), [200; 20]);
    let counts = server.stop().counts;
    assert!(counts.max_in_flight > 5, "{counts:?}");
}

#[test]
fn a_stop_completes_requests_in_flight() {
    for model in MODELS {
        let server = start(Config { delay: Duration::from_millis(40), ..quick(model) }).unwrap();
        let mut client = Client::connect(server.local_addr());
        client.send("GET / HTTP/1.1\r\n\r\n");
        wait_until_asked(&server);
        let report = server.stop();
        assert_eq!((report.counts.requests, report.abandoned), (1, 0), "{model:?}");
        assert_eq!(client.reply().status, 200, "{model:?}");
    }
}

#[test]
fn a_stop_lets_half_a_request_finish() {
    for model in MODELS {
        let server = started(model);
        let address = server.local_addr();
        let mut client = Client::connect(address);
        client.send("GET /late HTTP/1.1\r\n");
        while server.counters().connections == 0 {
            std::thread::yield_now();
        }
        let stopping = std::thread::spawn(move || server.stop());
        // Connecting fails once the listener is closed; connections until then are reset.
        while std::net::TcpStream::connect(address).is_ok() {
            std::thread::yield_now();
        }
        client.send("\r\n");
        assert_eq!(client.reply().status, 200, "{model:?}");
        assert_eq!(stopping.join().unwrap().abandoned, 0, "{model:?}");
    }
}

#[test]
fn a_stop_gives_up_at_its_limit() {
    for model in MODELS {
        let server = start(Config { delay: Duration::from_hours(1), ..quick(model) }).unwrap();
        let mut client = Client::connect(server.local_addr());
        client.send("GET / HTTP/1.1\r\n\r\n");
        wait_until_asked(&server);
        let report = server.stop_within(Duration::ZERO);
        assert_eq!((report.counts.requests, report.abandoned), (0, 1), "{model:?}");
        assert!(client.ended(), "{model:?}");
    }
}

#[test]
fn unsupported_requests_are_rejected() {
    let model = Model::Pool { workers: 0, when_full: WhenFull::Hold };
    let error = start(quick(model)).unwrap_err();
    assert!(matches!(error, StartError::Setting { setting: "workers", .. }), "{error}");
    let error = start(Config { request_timeout: Duration::ZERO, ..quick(Model::Async) }).unwrap_err();
    assert!(matches!(error, StartError::Setting { setting: "request_timeout", .. }), "{error}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the time is what is asked about")]
fn connections_wait_until_the_server_polls() {
    let accept_every = Duration::from_millis(50);
    for model in MODELS {
        let config = Config { accept_every, delay: Duration::ZERO, ..quick(model) };
        if model == Model::Async {
            let error = start(config).unwrap_err();
            assert!(matches!(error, StartError::Setting { setting: "accept_every", .. }), "{error}");
            continue;
        }
        let server = start(config).unwrap();
        // One that comes before the server has found its queue empty is taken at once.
        let waits = |_| {
            let began = std::time::Instant::now();
            assert_eq!(ask(server.local_addr(), "GET / HTTP/1.1\r\nHost: a\r\n\r\n").status, 200);
            began.elapsed() >= accept_every / 2
        };
        assert!((0..1000).any(waits), "{model:?}: no connection had to wait");
        server.stop();
    }
}
