//! Servers that break the rules.

use std::sync::atomic::{AtomicU64, Ordering};

use prony_model::{Body, ErrorKind, RequestPlan, RunPlan};

use super::load::h2_config;
use super::streams;
use super::{
    DATA, END_HEADERS, END_STREAM, Frames, HEADERS, PING, RST_STREAM, SETTINGS, STATUS_200, WINDOW_UPDATE,
    answer, frame, load,
};
use crate::plans::{closed, failures, impatient, plan, requests, run};
use crate::server::{Peer, Server};
use crate::tls::trusting;

/// What a run says of a server that answers its first request with `bytes`, and then nothing.
fn check(driver: prony_model::DriverChoice, bytes: &[u8], expected: &str) {
    let bytes = bytes.to_vec();
    let server = Server::start(move |peer| {
        let Some(mut frames) = Frames::begin(peer, b"") else { return };
        if frames.request().is_some() {
            frames.peer.answer(&bytes);
            while frames.next().is_some() {}
        }
    });
    let plan = RunPlan { timeouts: impatient(5_000), ..load(server.url(), 1, 1, 3) };
    let result = run(driver, plan);
    let failed = failures(&result, ErrorKind::Protocol);
    assert_eq!(failed.count, 3, "{:?}", result.errors);
    assert!(failed.first_example.contains(expected), "{expected}: {failed:?}");
}

/// A field block that names one long entry of the table again and again.
fn bomb() -> Vec<u8> {
    // A literal with indexing, `x` with 4,000 bytes, which the block then repeats.
    let mut block = [STATUS_200, b"\x40\x01x\x7f\xa1\x1e"].concat();
    block.extend(vec![b'v'; 4000]);
    block.extend(vec![0xbe; 10_000]);
    block
}

on_both_drivers! {
    fn rules_of_frames_that_are_broken_are_named(driver) {
        for (bytes, expected) in [
            (frame(DATA, 0, 0, b"x"), "DATA frame must not be sent on stream 0"),
            (frame(HEADERS, END_HEADERS, 7, STATUS_200), "on which no request was sent"),
            (frame(SETTINGS, 0, 0, b"12345"), "SETTINGS frame has a wrong length"),
            (frame(WINDOW_UPDATE, 0, 0, &[0; 4]), "adds nothing"),
            (frame(PING, 0, 0, b"short"), "PING frame has a wrong length"),
            (frame(RST_STREAM, 0, 1, b""), "RST_STREAM frame has a wrong length"),
            (frame(HEADERS, 0, 1, STATUS_200).into_iter().chain(frame(PING, 0, 0, &[0; 8])).collect(), "middle of a field block"),
            (vec![0xff; 64], "frame"),
            (b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), "frame"),
        ] {
            check(driver, &bytes, expected);
        }
    }

    fn field_blocks_that_are_too_much_are_refused(driver) {
        check(driver, &frame(HEADERS, END_HEADERS | END_STREAM, 1, &bomb()), "longer than 65536 bytes");
        check(driver, &frame(HEADERS, END_HEADERS | END_STREAM, 1, &[0xbf]), "names an entry that no table has");
        check(driver, &frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\x88\x00\x01"), "ends in the middle");
    }

    fn floods_are_ended(driver) {
        check(driver, &frame(PING, 0, 0, &[0; 8]).repeat(10_001), "bring no response forward");
        check(driver, &frame(SETTINGS, 0, 0, b"").repeat(10_002), "bring no response forward");
    }

    fn a_malformed_response_fails_alone(driver) {
        let server = Server::start(|peer| {
            let Some(mut frames) = Frames::begin(peer, b"") else { return };
            let mut number = 0;
            while let Some(stream) = frames.request() {
                number += 1;
                let bytes = match number % 10 {
                    // connection: a
                    3 => frame(HEADERS, END_HEADERS | END_STREAM, stream, b"\x88\x00\x0aconnection\x01a"),
                    // content-length: 7, and five bytes.
                    6 => [
                        frame(HEADERS, END_HEADERS, stream, b"\x88\x0f\x0d\x017"),
                        frame(DATA, END_STREAM, stream, b"hello"),
                    ].concat(),
                    _ => answer(stream, b"hello"),
                };
                frames.peer.answer(&bytes);
            }
        });
        let result = run(driver, load(server.url(), 1, 4, 100));
        assert_eq!(result.requests.done, 80, "{:?}", result.errors);
        assert_eq!(failures(&result, ErrorKind::Protocol).count, 20);
        assert_eq!(result.connections.opened, 1);
    }

    fn a_body_that_was_cut_off_leaves_nothing_for_the_next_connection(driver) {
        for is_tls in [false, true] {
            // The one before the load, and the first of it.
            let connections = AtomicU64::new(0);
            let script = move |peer: &mut Peer| {
                let number = connections.fetch_add(1, Ordering::SeqCst);
                let Some(mut frames) = Frames::begin(peer, b"") else { return };
                if number == 1 {
                    // Some of the body has come, and the windows have no room for the rest.
                    frames.peer.take(40_000);
                    return frames.peer.leave();
                }
                while let Some(stream) = frames.request() {
                    frames.peer.answer(&answer(stream, b"hello"));
                }
            };
            let server = if is_tls { Server::over_tls(h2_config(), script) } else { Server::start(script) };
            let request = RequestPlan { body: Body { bytes: vec![b'x'; 200_000] }, ..streams(3) };
            let on = if is_tls { trusting(server.url()) } else { plan(server.url()) };
            let result = run(driver, RunPlan { request, load: closed(1), end: requests(12), ..on });
            assert_eq!(result.requests.done + result.requests.failed, 12);
            assert!((1..=3).contains(&result.requests.failed), "{:?}", result.errors);
            assert!(result.errors.iter().all(|error| error.kind != ErrorKind::Protocol), "{:?}", result.errors);
            assert_eq!(result.connections.opened, 2);
        }
    }

    fn a_connection_that_is_cut_fails_what_was_on_it(driver) {
        let server = Server::start(|peer| {
            let Some(mut frames) = Frames::begin(peer, b"") else { return };
            let Some(first) = frames.request() else { return };
            frames.peer.answer(&answer(first, b"hello"));
            let Some(stream) = frames.request() else { return };
            let cut = answer(stream, b"hello");
            frames.peer.answer(&cut[..cut.len() - 2]);
        });
        let result = run(driver, load(server.url(), 1, 1, 20));
        assert_eq!(result.requests.done, 10, "{:?}", result.errors);
        assert_eq!(failures(&result, ErrorKind::ClosedEarly).count, 10);
    }
}
