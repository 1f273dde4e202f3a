//! Requests that the server did not process, and those that it gave up.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use prony_model::{ErrorKind, RunPlan, Timeouts};

use super::{Frames, Sent, answer, go_away, load, refused, reset};
use crate::plans::{failures, for_ms, impatient, open, run};
use crate::server::{Peer, Server};

const NO_ERROR: u32 = 0;
const REFUSED_STREAM: u32 = 7;
const CANCEL: u32 = 8;
const ENHANCE_YOUR_CALM: u32 = 11;

/// Answers `count` requests of a connection, says GOAWAY, and returns how many came all the same.
fn go_away_after(peer: &mut Peer, count: u32) -> u64 {
    let Some(mut frames) = Frames::begin(peer, b"") else { return 0 };
    let (mut answered, mut dropped) = (0, 0);
    while let Some(stream) = frames.request() {
        if answered == count {
            dropped += 1;
            continue;
        }
        answered += 1;
        if answered == count {
            // Before the last answer, so that requests are still in flight.
            frames.peer.answer(&go_away(stream, NO_ERROR, b""));
        }
        frames.peer.answer(&answer(stream, b"hello"));
    }
    dropped
}

/// Resets with `code` the streams that `picks` picks, and answers the others; `count` counts the former.
fn resetting(code: u32, picks: impl Fn(u64) -> bool + Send + Sync + 'static) -> (Server, Arc<AtomicU64>) {
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let number = AtomicU64::new(0);
    let server = Server::start(move |peer| {
        let Some(mut frames) = Frames::begin(peer, b"") else { return };
        while let Some(stream) = frames.request() {
            if picks(number.fetch_add(1, Ordering::SeqCst)) {
                counted.fetch_add(1, Ordering::SeqCst);
                frames.peer.answer(&reset(stream, code));
            } else {
                frames.peer.answer(&answer(stream, b"hello"));
            }
        }
    });
    (server, count)
}

on_both_drivers! {
    fn none_fails_when_a_server_goes_away_after_so_many_requests(driver) {
        for (connections, depth) in [(1, 1), (1, 10), (3, 10)] {
            let (ended, dropped) = sync_channel(100);
            let server = Server::start(move |peer| {
                ended.send(go_away_after(peer, 20)).expect("the test waits for it");
            });
            let result = run(driver, load(server.url(), connections, depth, 400));
            assert_eq!((result.requests.done, result.requests.failed), (400, 0), "{:?}", result.errors);
            let http2 = result.http2.expect("HTTP/2 was spoken");
            assert_eq!(http2.went_away, result.connections.closed_by_server, "{http2:?}");
            // The last ones need not have come so far.
            assert!(http2.went_away >= 17, "{http2:?}");
            let traffic = result.traffic.expect("it was counted");
            assert_eq!((traffic.measured.sent, traffic.measured.answered), (400, 400));
            // Before the load there was a connection without a request.
            let came: u64 = (0..=result.connections.opened).map(|_| dropped.recv().expect("it ends")).sum();
            assert_eq!(http2.refused, came, "{http2:?}");
            assert!(depth == 1 || came > 0, "{http2:?}");
        }
    }

    fn an_open_loop_sends_what_was_refused_again(driver) {
        let server = Server::start(|peer| {
            go_away_after(peer, 30);
        });
        let plan = RunPlan { load: open(3000.0, 4), ..load(server.url(), 1, 10, 300) };
        let result = run(driver, plan);
        assert_eq!((result.requests.done, result.requests.failed), (300, 0), "{:?}", result.errors);
    }

    fn refused_streams_are_sent_again_and_counted(driver) {
        let (server, count) = resetting(REFUSED_STREAM, |number| number % 3 == 1);
        let result = run(driver, load(server.url(), 2, 8, 300));
        assert_eq!((result.requests.done, result.requests.failed), (300, 0), "{:?}", result.errors);
        assert_eq!(refused(&result), count.load(Ordering::SeqCst));
        assert_eq!(server.requests(), 300 + refused(&result));
        assert_eq!(result.connections.opened, 2);
    }

    fn a_server_that_refuses_everything_fails_it_in_the_end(driver) {
        let (server, count) = resetting(REFUSED_STREAM, |_| true);
        let result = run(driver, load(server.url(), 1, 4, 8));
        let failed = failures(&result, ErrorKind::StreamReset);
        assert_eq!(failed.count, 8);
        assert!(failed.first_example.contains("refused the request more than 16 times"), "{failed:?}");
        assert_eq!((refused(&result), count.load(Ordering::SeqCst)), (8 * 16, 8 * 17));
    }

    fn a_server_that_goes_away_at_once_fails_it_in_the_end(driver) {
        let server = Server::start(|peer| {
            let Some(mut frames) = Frames::begin(peer, b"") else { return };
            frames.peer.answer(&go_away(0, NO_ERROR, b""));
            while frames.next().is_some() {}
        });
        let result = run(driver, load(server.url(), 1, 4, 2));
        assert_eq!(failures(&result, ErrorKind::StreamReset).count, 2);
    }

    fn resets_fail_by_their_code(driver) {
        let (server, count) = resetting(ENHANCE_YOUR_CALM, |number| number % 5 == 2);
        let result = run(driver, load(server.url(), 2, 6, 200));
        let failed = failures(&result, ErrorKind::StreamReset);
        assert_eq!((failed.count, count.load(Ordering::SeqCst)), (40, 40));
        assert_eq!((result.requests.done, refused(&result)), (160, 0));
        assert!(failed.first_example.contains("ENHANCE_YOUR_CALM"), "{failed:?}");
        assert_eq!(result.connections.opened, 2, "a reset is of one stream");
    }

    fn what_was_in_flight_when_a_connection_was_ended_fails_with_the_servers_words(driver) {
        let server = Server::start(|peer| {
            let Some(mut frames) = Frames::begin(peer, b"") else { return };
            let Some(first) = frames.request() else { return };
            frames.peer.answer(&answer(first, b"hello"));
            let mut last = 0;
            for _ in 0..3 {
                let Some(stream) = frames.request() else { return };
                last = stream;
            }
            frames.peer.answer(&go_away(last, ENHANCE_YOUR_CALM, b"too_many_pings"));
        });
        let result = run(driver, load(server.url(), 1, 3, 40));
        let failed = failures(&result, ErrorKind::ClosedEarly);
        assert!(failed.first_example.contains("ENHANCE_YOUR_CALM"), "{failed:?}");
        assert!(failed.first_example.contains("too_many_pings"), "{failed:?}");
        assert_eq!(result.requests.done + failed.count, 40);
    }

    fn a_late_request_is_cancelled_and_its_connection_goes_on(driver) {
        let cancelled = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&cancelled);
        let server = Server::start(move |peer| {
            let Some(mut frames) = Frames::begin(peer, b"") else { return };
            while let Some(sent) = frames.next() {
                match sent {
                    // Never answered.
                    Sent::Request(5, _) => {}
                    Sent::Request(stream, _) => drop(frames.peer.answer(&answer(stream, b"hello"))),
                    Sent::Reset(stream, code) => {
                        assert_eq!((stream, code), (5, CANCEL));
                        counted.fetch_add(1, Ordering::SeqCst);
                    }
                }
            }
        });
        let request = Duration::from_millis(700);
        let plan = load(server.url(), 1, 4, 1);
        let timeouts = Timeouts { request, ..plan.timeouts };
        let result = run(driver, RunPlan { timeouts, end: for_ms(1500), ..plan });
        assert_eq!((failures(&result, ErrorKind::RequestTimeout).count, result.connections.opened), (1, 1));
        assert!(result.requests.done > 10 && result.requests.failed == 1, "{:?}", result.errors);
        // The connection carried what came behind it, too.
        drop(server);
        assert_eq!(cancelled.load(Ordering::SeqCst), 1);
    }

    fn a_connection_that_falls_silent_is_replaced(driver) {
        let connections = AtomicU64::new(0);
        let server = Server::start(move |peer| {
            let Some(mut frames) = Frames::begin(peer, b"") else { return };
            let Some(first) = frames.request() else { return };
            frames.peer.answer(&answer(first, b"hello"));
            let falls_silent = connections.fetch_add(1, Ordering::SeqCst) == 0;
            let mut streams = HashSet::new();
            while let Some(stream) = frames.request() {
                assert!(streams.insert(stream));
                if !falls_silent {
                    frames.peer.answer(&answer(stream, b"hello"));
                }
            }
        });
        let result = run(driver, RunPlan { timeouts: impatient(500), ..load(server.url(), 1, 4, 30) });
        assert_eq!(failures(&result, ErrorKind::RequestTimeout).count, 4);
        assert_eq!((result.requests.done, result.connections.opened), (26, 2), "{:?}", result.errors);
    }
}
