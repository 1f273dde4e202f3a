//! Load over TLS: what comes back is what was sent, whatever the records.

use prony_model::{Checks, ErrorKind, RequestPlan, RunPlan, RunResult};
use rustls::version::TLS13;

use super::{VERSIONS, config, config_of, trusting, with};
use crate::plans::{closed, failures, get, impatient, open, post, requests, run};
use crate::server::{Peer, Server, ok};

const ANSWER_AND_CLOSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";

/// Answers each request with `hello`, on connections that stay open.
fn serve(peer: &mut Peer) {
    while peer.request().is_some() && peer.answer(&ok("hello")) {}
}

/// Answers one request and ends the connection as TLS does.
fn serve_once(peer: &mut Peer) {
    if peer.request().is_some() {
        peer.answer(ANSWER_AND_CLOSE);
        end(peer);
    }
}

/// Says that nothing follows.
fn end(peer: &mut Peer) {
    peer.tls().send_close_notify();
    peer.answer(b"");
}

/// What every run over TLS says: a handshake for each connection, none failed.
fn check_handshakes(result: &RunResult) {
    let handshakes = &result.tls.as_ref().expect("TLS was used").handshakes;
    assert_eq!(handshakes.full + handshakes.resumed, result.connections.opened, "{handshakes:?}");
    assert_eq!(handshakes.failed, 0);
    assert_eq!(handshakes.full_latency.count, handshakes.full);
    assert_eq!(handshakes.resumed_latency.count, handshakes.resumed);
    assert_eq!(handshakes.full_histogram.count, handshakes.full);
    assert_eq!(handshakes.resumed_histogram.count, handshakes.resumed);
}

on_both_drivers! {
    fn connections_that_stay_open(driver) {
        for (versions, name) in VERSIONS {
            for certificate in ["server", "rsa"] {
                let server = Server::over_tls(config(certificate), serve);
                let plan = with(server.url(), |options| options.versions = versions);
                let plan = RunPlan { load: closed(4), threads: 2, end: requests(500), ..plan };
                let result = run(driver, plan);
                assert_eq!([result.requests.done, server.requests()], [500; 2], "{:?}", result.errors);
                assert_eq!((result.connections.opened, result.connections.reused), (4, 496));
                assert_eq!(server.used_connections(), 4);
                check_handshakes(&result);
                let tls = result.tls.expect("TLS was used");
                assert_eq!((tls.version.as_str(), tls.verified), (name, true));
                assert_eq!(tls.alpn.as_deref(), Some("http/1.1"));
                assert_eq!(tls.key_exchange.as_deref(), Some("X25519"));
                let shown = tls.certificate.expect("a certificate");
                let key = if certificate == "rsa" { ("RSA", 2048) } else { ("ECDSA", 256) };
                assert_eq!((shown.key.as_str(), shown.key_bits), (key.0, Some(key.1)));
                assert_eq!(shown.subject.as_deref(), Some("localhost"));
                assert_eq!(shown.issuer.as_deref(), Some("Tests of prony, ca"));
                assert_eq!(shown.not_after.as_deref(), Some("2999-12-31T23:59:59Z"));
            }
        }
    }

    fn a_connection_for_each_request(driver) {
        for (versions, _) in VERSIONS {
            for resumption in [true, false] {
                let server = Server::over_tls(config("server"), serve_once);
                let plan = with(server.url(), |options| {
                    options.versions = versions;
                    options.resumption = resumption;
                });
                let request = RequestPlan { keep_alive: false, ..get() };
                let result = run(driver, RunPlan { request, load: closed(2), end: requests(60), ..plan });
                assert_eq!([result.requests.done, server.requests()], [60; 2], "{:?}", result.errors);
                check_handshakes(&result);
                let handshakes = &result.tls.as_ref().expect("TLS was used").handshakes;
                // Those that are open at once have nothing to resume at the beginning.
                let full = if resumption { 1..=4 } else { 60..=60 };
                assert!(full.contains(&handshakes.full), "{versions:?} {resumption}: {handshakes:?}");
            }
        }
    }

    fn an_open_loop(driver) {
        let server = Server::over_tls(config("server"), serve);
        let plan = RunPlan { load: open(2000.0, 20), end: requests(400), ..trusting(server.url()) };
        let result = run(driver, plan);
        assert_eq!([result.requests.done, server.requests()], [400; 2], "{:?}", result.errors);
        check_handshakes(&result);
    }

    fn the_kernel_says_when_requests_left(driver) {
        let server = Server::over_tls(config("server"), serve);
        let plan = RunPlan { load: open(500.0, 4), end: requests(100), ..trusting(server.url()) };
        let result = run(driver, plan);
        if result.kernel_clock.departures_one_in == 0 {
            return prony_testing::skip("tls::the_kernel_says_when_requests_left", "this kernel has no stamps");
        }
        assert_eq!(result.kernel_clock.departures_one_in, 1);
        let stamped = result.kernel_clock.departures_stamped;
        assert!(stamped >= 90, "{stamped} of 100 departures");
        assert!(result.latency.network.count >= 90, "{:?}", result.latency.network);
    }

    fn pipelines(driver) {
        for (versions, _) in VERSIONS {
            let server = Server::over_tls(config("server"), serve);
            let request = RequestPlan { pipeline: 16, ..get() };
            let plan = with(server.url(), |options| options.versions = versions);
            let result = run(driver, RunPlan { request, load: closed(3), end: requests(1000), ..plan });
            assert_eq!([result.requests.done, server.requests()], [1000; 2], "{:?}", result.errors);
            assert_eq!(result.connections.opened, 3);
        }
    }

    fn large_responses_in_many_records(driver) {
        for (versions, _) in VERSIONS {
            let body = "x".repeat(1_000_000);
            let answer = ok(&body);
            let server = Server::over_tls(config("server"), move |peer| {
                while peer.request().is_some() && peer.answer(&answer) {}
            });
            let checks = Checks { same_length: true, ..Checks::default() };
            let plan = with(server.url(), |options| options.versions = versions);
            let result = run(driver, RunPlan { checks, load: closed(2), end: requests(20), ..plan });
            assert_eq!(result.requests.done, 20, "{:?}", result.errors);
            assert_eq!(result.bytes.body_received, 20_000_000);
            assert!(result.bytes.received > 20_000_000 + 20 * 61 * 22, "{:?}", result.bytes);
        }
    }

    fn large_requests_in_many_records_stay_whole(driver) {
        let sent: Vec<u8> = (0..50_000_u32).flat_map(u32::to_le_bytes).collect();
        let expected = sent.clone();
        let server = Server::over_tls(config("server"), move |peer| {
            while let Some(request) = peer.request() {
                let answer = if request.body == expected { ok("hello") } else { ok("") };
                if !peer.answer(&answer) {
                    return;
                }
            }
        });
        for pipeline in [1, 4] {
            let request = RequestPlan { pipeline, ..post(sent.clone()) };
            let checks = Checks { same_length: true, ..Checks::default() };
            let plan = trusting(server.url());
            let result = run(driver, RunPlan { request, checks, load: closed(2), end: requests(30), ..plan });
            assert_eq!(result.requests.done, 30, "{:?}", result.errors);
            assert!(result.bytes.sent > 30 * 200_000, "{:?}", result.bytes);
        }
    }

    fn the_servers_keys_change(driver) {
        let server = Server::over_tls(config_of("server", &[&TLS13], false), |peer| {
            while peer.request().is_some() {
                peer.tls().refresh_traffic_keys().expect("TLS 1.3");
                if !peer.answer(&ok("hello")) {
                    return;
                }
            }
        });
        // A client bounds how often keys may change without data; these have data.
        let result = run(driver, RunPlan { end: requests(20), ..trusting(server.url()) });
        assert_eq!(result.requests.done, 20, "{:?}", result.errors);
        assert_eq!(result.connections.opened, 1);
    }

    fn only_close_notify_ends_a_body_without_a_length(driver) {
        for clean in [true, false] {
            let server = Server::over_tls(config("server"), move |peer| {
                if peer.request().is_some() {
                    peer.answer(b"HTTP/1.1 200 OK\r\n\r\nhello");
                    if clean {
                        end(peer);
                    }
                }
            });
            let result = run(driver, RunPlan { end: requests(3), ..trusting(server.url()) });
            if clean {
                assert_eq!(result.requests.done, 3, "{:?}", result.errors);
            } else {
                let failed = failures(&result, ErrorKind::ClosedEarly);
                assert_eq!(failed.count, 3);
                assert!(failed.first_example.contains("without close_notify"), "{failed:?}");
            }
        }
    }

    fn a_body_with_a_length_needs_no_close_notify(driver) {
        let server = Server::over_tls(config("server"), |peer| {
            if peer.request().is_some() {
                peer.answer(ANSWER_AND_CLOSE);
            }
        });
        let result = run(driver, RunPlan { end: requests(5), ..trusting(server.url()) });
        assert_eq!(result.requests.done, 5, "{:?}", result.errors);
        // A body that is cut short is a failure, with close_notify or without.
        let server = Server::over_tls(config("server"), |peer| {
            if peer.request().is_some() {
                peer.answer(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello");
                end(peer);
            }
        });
        let result = run(driver, RunPlan { end: requests(2), ..trusting(server.url()) });
        assert_eq!(failures(&result, ErrorKind::ClosedEarly).count, 2);
    }

    fn requests_that_are_given_up_while_they_are_under_way(driver) {
        // More than the buffers of both sides hold, and nobody reads it: the kernel still has memory of ours when the
        // connection is closed and its slot has the next one.
        let server = Server::over_tls(config("server"), |peer| {
            if peer.head().is_some() {
                peer.wait_until_the_client_goes();
            }
        });
        let request = post(vec![b'x'; 20_000_000]);
        let plan = RunPlan { request, timeouts: impatient(300), ..trusting(server.url()) };
        let result = run(driver, RunPlan { load: closed(2), end: requests(6), ..plan });
        assert_eq!(failures(&result, ErrorKind::RequestTimeout).count, 6, "{:?}", result.errors);
    }

    fn a_server_that_stops_answering(driver) {
        let server = Server::over_tls(config("server"), |peer| {
            if peer.request().is_some() {
                peer.hold();
            }
        });
        let plan = RunPlan { timeouts: impatient(200), end: requests(1), ..trusting(server.url()) };
        let result = run(driver, plan);
        assert_eq!(failures(&result, ErrorKind::RequestTimeout).count, 1);
    }
}
