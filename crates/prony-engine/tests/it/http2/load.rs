//! What is sent and what comes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use prony_model::{Body, BodyCheck, Checks, FindingCode, RequestPlan, RunPlan};

use super::{
    DATA, END_HEADERS, END_STREAM, Frames, HEADERS, STATUS_200, Sent, answer, frame, load, serve, setting,
    streams,
};
use crate::plans::{finding, for_ms, has_finding, open, plan, requests, run};
use crate::server::{Peer, Server, ok};
use crate::tls::{config, trusting};

/// A configuration whose server chooses HTTP/2.
pub(crate) fn h2_config() -> rustls::ServerConfig {
    let mut config = config("server");
    config.alpn_protocols = vec![b"h2".to_vec()];
    config
}

/// Answers only when `depth` requests are there, the newest first, as long as so many are to come of `count`.
fn serve_only_full(peer: &mut Peer, depth: usize, count: u64) {
    let Some(mut frames) = Frames::begin(peer, &setting(3, 1000)) else { return };
    let (mut waiting, mut read) = (Vec::new(), 0);
    // The first one goes alone, before the settings are known.
    while let Some(stream) = frames.request() {
        read += 1;
        waiting.push(stream);
        assert!(waiting.len() <= depth, "{waiting:?}");
        if waiting.len() == depth || read == count {
            for stream in waiting.drain(..).rev() {
                frames.peer.answer(&answer(stream, b"hello"));
            }
        }
    }
}

on_both_drivers! {
    fn a_closed_loop_keeps_its_streams_full_and_takes_answers_in_any_order(driver) {
        for depth in [1, 4, 100] {
            let server = Server::start(move |peer| serve_only_full(peer, depth as usize, 300));
            let result = run(driver, load(server.url(), 1, depth, 300));
            assert_eq!([result.requests.done, server.requests()], [300; 2], "{:?}", result.errors);
            assert_eq!((result.connections.opened, result.connections.reused), (1, 299));
            let http2 = result.http2.expect("HTTP/2 was spoken");
            assert_eq!((http2.stream_limit, http2.refused, http2.went_away), (Some(1000), 0, 0));
        }
    }

    fn many_connections_and_threads(driver) {
        let server = Server::start(serve);
        let result = run(driver, RunPlan { threads: 2, ..load(server.url(), 5, 16, 2001) });
        assert_eq!([result.requests.done, server.requests()], [2001; 2], "{:?}", result.errors);
        assert_eq!(result.connections.opened, 5);
    }

    fn an_open_loop_uses_the_streams_before_it_waits(driver) {
        let server = Server::start(serve);
        let plan = RunPlan { load: open(5_000.0, 3), ..load(server.url(), 1, 10, 500) };
        let result = run(driver, plan);
        assert_eq!([result.requests.done, server.requests()], [500; 2], "{:?}", result.errors);
    }

    fn over_tls(driver) {
        let server = Server::over_tls(h2_config(), serve);
        let plan = RunPlan { request: streams(10), load: crate::plans::closed(3), end: requests(600), ..trusting(server.url()) };
        let result = run(driver, plan);
        assert_eq!([result.requests.done, server.requests()], [600; 2], "{:?}", result.errors);
        let tls = result.tls.expect("TLS was used");
        assert_eq!((tls.alpn.as_deref(), tls.handshakes.failed), (Some("h2"), 0));
        assert_eq!(tls.handshakes.full + tls.handshakes.resumed, 3);
    }

    fn a_server_without_http2_is_refused_before_the_load(driver) {
        let check = |plan: RunPlan, expected: &str| {
            let error = crate::plans::refused(driver, plan).to_string();
            assert!(error.contains(expected), "{error}");
        };
        let http1 = Server::answering(&ok("hello"));
        let broken = Server::start(|peer| {
            peer.take(24);
            peer.answer(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        });
        check(load(http1.url(), 1, 1, 1), "no HTTP/2 at");
        check(load(broken.url(), 1, 1, 1), "the server answers in HTTP/1");
        let choosing = |protocols: &[&str]| {
            let mut config = config("server");
            config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
            config
        };
        for (config, expected) in
            [(choosing(&[]), "chose no protocol"), (choosing(&["http/1.1"]), "no_application_protocol")]
        {
            let server = Server::over_tls(config, |peer| { peer.request(); });
            check(RunPlan { request: streams(1), ..trusting(server.url()) }, expected);
            assert_eq!(server.requests(), 0);
        }
        let silent = Server::start(Peer::hold);
        let timeouts = crate::plans::impatient(100);
        check(RunPlan { timeouts, ..load(silent.url(), 1, 1, 1) }, "did not send its settings in time");
        let tls = Server::over_tls(h2_config(), serve);
        let address = tls.address();
        check(load(&format!("http://{address}/"), 1, 1, 1), "no HTTP/2 at");
    }

    fn the_limit_of_the_server_is_kept_and_named(driver) {
        let most = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&most);
        let server = Server::start(move |peer| {
            let Some(mut frames) = Frames::begin(peer, &setting(3, 3)) else { return };
            let mut waiting = Vec::new();
            while let Some(stream) = frames.request() {
                waiting.push(stream);
                seen.fetch_max(waiting.len(), Ordering::SeqCst);
                // In pairs, so that more would be seen if more were sent.
                if waiting.len() >= 2 {
                    for stream in waiting.drain(..) {
                        frames.peer.answer(&answer(stream, b"hello"));
                    }
                }
            }
        });
        let result = run(driver, load(server.url(), 1, 10, 400));
        assert_eq!([result.requests.done, server.requests()], [400; 2], "{:?}", result.errors);
        assert!(most.load(Ordering::SeqCst) <= 3, "{most:?}");
        assert_eq!(result.http2.expect("HTTP/2 was spoken").stream_limit, Some(3));
        let found = finding(&result, FindingCode::StreamLimit);
        assert!(found.message.contains("takes 3 requests at once"), "{found:?}");
        let result = run(driver, load(server.url(), 1, 2, 10));
        assert!(!has_finding(&result, FindingCode::StreamLimit));
    }

    fn large_bodies_both_ways_stay_whole(driver) {
        let sent: Vec<u8> = (0..250_000_u32).flat_map(u32::to_le_bytes).collect();
        let (expected, long) = (sent.clone(), vec![b'x'; 300_000]);
        let server = Server::start(move |peer| {
            let Some(mut frames) = Frames::begin(peer, b"") else { return };
            while let Some(sent) = frames.next() {
                if let Sent::Request(stream, body) = sent {
                    let words: &[u8] = if body == expected { &long } else { b"" };
                    frames.peer.answer(&answer(stream, words));
                }
            }
        });
        for depth in [1, 4] {
            let request = RequestPlan { method: "POST".to_owned(), body: Body { bytes: sent.clone() }, ..streams(depth) };
            let checks = Checks { same_length: true, ..Checks::default() };
            let result = run(driver, RunPlan { request, checks, ..load(server.url(), 2, depth, 40) });
            assert_eq!(result.requests.done, 40, "{:?}", result.errors);
            assert_eq!(result.bytes.body_received, 40 * 300_000);
            assert!(result.bytes.sent > 40 * 1_000_000);
        }
    }

    fn bodies_are_checked_whatever_their_order(driver) {
        let server = Server::start(|peer| {
            let Some(mut frames) = Frames::begin(peer, b"") else { return };
            let mut number = 0;
            while let Some(stream) = frames.request() {
                number += 1;
                let body: &[u8] = if number % 4 == 0 { b"other" } else { b"hello" };
                // In two pieces, with an interim response, other frames and trailers around.
                let mut bytes = frame(HEADERS, END_HEADERS, stream, b"\x08\x03103");
                bytes.extend(frame(HEADERS, END_HEADERS, stream, STATUS_200));
                bytes.extend(frame(DATA, 0, stream, &body[..2]));
                bytes.extend(frame(0x77, 0, stream, b"unknown"));
                bytes.extend(frame(DATA, 0, stream, &body[2..]));
                bytes.extend(frame(HEADERS, END_HEADERS | END_STREAM, stream, b"\x00\x01a\x01b"));
                frames.peer.answer(&bytes);
            }
        });
        let checks = Checks { body: Some(BodyCheck::Exact("hello".to_owned())), ..Checks::default() };
        let result = run(driver, RunPlan { checks, ..load(server.url(), 1, 8, 400) });
        assert_eq!((result.requests.done, result.requests.failed), (300, 100), "{:?}", result.errors);
    }

    fn a_connection_for_each_request(driver) {
        let server = Server::start(serve);
        let request = RequestPlan { keep_alive: false, ..streams(1) };
        let result = run(driver, RunPlan { request, ..load(server.url(), 2, 1, 60) });
        assert_eq!([result.requests.done, server.requests(), result.connections.opened], [60; 3]);
        assert_eq!(result.connections.reused, 0);
    }

    fn events_are_measured_on_every_stream(driver) {
        let server = Server::start(|peer| {
            let Some(mut frames) = Frames::begin(peer, b"") else { return };
            while let Some(stream) = frames.request() {
                // content-type: text/event-stream, as a literal.
                let block = [STATUS_200, b"\x0f\x10\x11text/event-stream"].concat();
                let mut bytes = frame(HEADERS, END_HEADERS, stream, &block);
                for _ in 0..3 {
                    bytes.extend(frame(DATA, 0, stream, b"data: x\n\n"));
                }
                bytes.extend(frame(DATA, END_STREAM, stream, b""));
                frames.peer.answer(&bytes);
            }
        });
        let result = run(driver, RunPlan { events: true, ..load(server.url(), 2, 5, 50) });
        let events = result.events.expect("they were looked for");
        assert_eq!((events.streams, events.events), (50, 150), "{events:?}");
    }

    fn the_kernel_says_when_requests_left_and_answers_came(driver) {
        for is_tls in [false, true] {
            let server = if is_tls { Server::over_tls(h2_config(), serve) } else { Server::start(serve) };
            let on = RunPlan { request: streams(4), ..if is_tls { trusting(server.url()) } else { plan(server.url()) } };
            let result = run(driver, RunPlan { load: open(500.0, 4), end: requests(100), ..on });
            if result.kernel_clock.departures_one_in == 0 {
                return prony_testing::skip("http2::the_kernel_says", "this kernel has no stamps");
            }
            let used = &result.kernel_clock;
            assert!(used.departures_stamped >= 90, "{used:?}");
            assert!(used.arrivals_stamped >= 90, "{used:?}");
            assert!(result.latency.network.count >= 90, "{:?}", result.latency.network);
        }
    }

    fn a_run_that_ends_by_time_leaves_nothing_uncounted(driver) {
        let server = Server::start(serve);
        let result = run(driver, RunPlan { end: for_ms(300), ..load(server.url(), 3, 10, 1) });
        assert!(result.requests.done > 0 && result.requests.failed == 0, "{:?}", result.errors);
        assert_eq!(result.requests.censored, 0, "the drain has waited for the last ones");
    }
}
