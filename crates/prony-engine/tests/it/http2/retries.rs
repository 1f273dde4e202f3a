//! Retries of requests on streams, which fail one by one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prony_engine::Control;
use prony_model::{RetryUse, RunEvent, RunPlan, RunResult, SampleRecord};

use super::{END_HEADERS, END_STREAM, Frames, HEADERS, answer, frame, go_away, load, refused, reset};
use crate::plans::{impatient, open, run, run_with};
use crate::retries::{changed, found, reasons, with_retries};
use crate::server::{Peer, Server};

const REFUSED_STREAM: u32 = 7;
const INTERNAL_ERROR: u32 = 2;

/// A head alone: `:status: 500`, of the static table.
fn status_500(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream, &[0x8e])
}

/// What becomes of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Good,
    Status500,
    Reset,
    Refused,
    Silent,
    /// The connection ends without a word.
    Cut,
}

/// Does to each request in turn what `fate` says; returns the server and how many were refused.
fn server(fate: impl Fn(u64) -> Fate + Send + Sync + 'static) -> (Server, Arc<AtomicU64>) {
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let number = AtomicU64::new(0);
    let script = move |peer: &mut Peer| {
        let Some(mut frames) = Frames::begin(peer, b"") else { return };
        while let Some(stream) = frames.request() {
            let frame = match fate(number.fetch_add(1, Ordering::SeqCst)) {
                Fate::Good => answer(stream, b"hello"),
                Fate::Status500 => status_500(stream),
                Fate::Reset => reset(stream, INTERNAL_ERROR),
                Fate::Refused => {
                    counted.fetch_add(1, Ordering::SeqCst);
                    reset(stream, REFUSED_STREAM)
                }
                Fate::Silent => continue,
                Fate::Cut => return,
            };
            frames.peer.answer(&frame);
        }
    };
    (Server::start(script), count)
}

/// All requests were good in the end; the server has seen each attempt and each refusal.
fn check<'a>(result: &'a RunResult, server: &Server, count: u64) -> &'a RetryUse {
    assert_eq!((result.requests.done, result.requests.failed), (count, 0), "{:?}", result.errors);
    assert_eq!(result.requests.sent, count);
    let retries = found(result);
    assert_eq!(retries.attempts + refused(result), server.requests());
    assert_eq!(result.traffic.expect("it was counted").measured.sent, retries.attempts);
    retries
}

on_both_drivers! {
    fn statuses_are_retried_in_both_loops(driver) {
        for load in [None, Some(open(2000.0, 3))] {
            let (server, _) = server(|number| if number % 3 == 1 { Fate::Status500 } else { Fate::Good });
            let plan = with_retries(super::load(server.url(), 2, 10, 300), 9, "5xx", [1, 2]);
            let plan = match load { Some(load) => RunPlan { load, ..plan }, None => plan };
            let result = run(driver, plan);
            let retries = check(&result, &server, 300);
            assert!(retries.retries >= 100, "{retries:?}");
            assert_eq!(retries.by_reason, reasons(&[("500", retries.retries)]));
            // One more has shown before the load that the server speaks HTTP/2.
            assert_eq!(server.used_connections(), result.connections.opened + 1);
        }
    }

    fn resets_are_retried_and_refusals_are_none(driver) {
        for load in [None, Some(open(2000.0, 3))] {
            let (server, count) = server(|number| match number % 6 {
                1 => Fate::Reset,
                2 | 4 => Fate::Refused,
                _ => Fate::Good,
            });
            let plan = with_retries(super::load(server.url(), 2, 10, 300), 9, "reset", [0, 0]);
            let plan = match load { Some(load) => RunPlan { load, ..plan }, None => plan };
            let result = run(driver, plan);
            let retries = check(&result, &server, 300);
            assert_eq!(refused(&result), count.load(Ordering::SeqCst));
            assert_eq!(retries.by_reason, reasons(&[("reset", retries.retries)]));
            assert!(retries.retries >= 50 && refused(&result) >= 100, "{retries:?}");
        }
    }

    fn connections_that_end_are_no_loss(driver) {
        for load in [None, Some(open(2000.0, 3))] {
            let (server, _) = server(|number| if number % 25 == 24 { Fate::Cut } else { Fate::Good });
            let plan = with_retries(super::load(server.url(), 2, 5, 300), 20, "reset,connect", [1, 5]);
            let plan = match load { Some(load) => RunPlan { load, ..plan }, None => plan };
            let result = run(driver, plan);
            assert_eq!((result.requests.done, result.requests.failed), (300, 0), "{:?}", result.errors);
            assert!(found(&result).retries >= 10, "{:?}", found(&result));
        }
    }

    fn a_late_attempt_is_cancelled_and_sent_again(driver) {
        let (server, _) = server(|number| if number % 10 == 3 { Fate::Silent } else { Fate::Good });
        let plan = with_retries(load(server.url(), 2, 5, 60), 9, "timeout", [1, 1]);
        let plan = changed(plan, |retries| retries.attempt_timeout = std::time::Duration::from_millis(60));
        let result = run(driver, plan);
        assert_eq!((result.requests.done, result.requests.failed), (60, 0), "{:?}", result.errors);
        let retries = found(&result);
        assert_eq!(retries.by_reason, reasons(&[("timeout", retries.retries)]));
        assert!(retries.retries >= 6, "{retries:?}");
    }

    fn what_fails_for_good_has_had_all_its_attempts(driver) {
        let (server, _) = server(|_| Fate::Status500);
        let plan = with_retries(load(server.url(), 2, 4, 40), 2, "500", [0, 0]);
        let result = run(driver, plan);
        let retries = found(&result);
        assert_eq!((result.requests.done, result.requests.failed), (0, 40));
        assert_eq!((retries.exhausted, retries.retries), (40, 80));
        assert_eq!(retries.by_attempts, BTreeMap::from([(3, 40)]));
        assert_eq!(server.requests(), 120);
    }

    fn the_whole_request_has_a_timeout(driver) {
        let (server, _) = server(|_| Fate::Silent);
        let plan = RunPlan { timeouts: impatient(300), ..load(server.url(), 1, 4, 4) };
        let plan = changed(with_retries(plan, 20, "timeout", [1, 1]), |retries| {
            retries.attempt_timeout = std::time::Duration::from_millis(80);
        });
        let result = run(driver, plan);
        assert_eq!(result.requests.failed, 4, "{:?}", result.requests);
        let retries = found(&result);
        assert!((4..=20).contains(&retries.retries), "{retries:?}");
    }

    // A closed loop has so many clients: one whose request waits for a retry sends no other.
    fn a_client_that_waits_begins_no_other_request(driver) {
        let (server, _) = server(|number| if number % 2 == 0 { Fate::Status500 } else { Fate::Good });
        let plan = with_retries(load(server.url(), 2, 4, 100), 9, "500", [10, 10]);
        let mut samples: Vec<SampleRecord> = Vec::new();
        let result = run_with(driver, RunPlan { samples: true, ..plan }, &Control::default(), &mut |event| {
            if let RunEvent::Samples(more) = event {
                samples.extend(more);
            }
        });
        check(&result, &server, 100);
        assert_eq!(samples.len(), 100);
        for sample in &samples {
            let begun = samples.iter().filter(|other| other.intended_ns <= sample.intended_ns);
            let under_way = begun.filter(|other| other.done_ns > sample.intended_ns).count();
            assert!(under_way <= 8, "{under_way} requests of 8 clients");
        }
    }

    fn a_budget_bounds_them(driver) {
        let (server, _) = server(|_| Fate::Reset);
        let plan = with_retries(load(server.url(), 2, 10, 500), 5, "reset", [0, 0]);
        let result = run(driver, changed(plan, |retries| retries.budget = Some(0.1)));
        let retries = found(&result);
        assert!(retries.retries <= 60 && retries.refused_by_budget > 0, "{retries:?}");
        assert_eq!(retries.attempts, server.requests());
    }

    fn a_server_that_goes_away_costs_no_retry(driver) {
        let server = Server::start(|peer| {
            let Some(mut frames) = Frames::begin(peer, b"") else { return };
            let mut answered = 0;
            while let Some(stream) = frames.request() {
                answered += 1;
                if answered == 30 {
                    frames.peer.answer(&go_away(stream, 0, b""));
                }
                if answered <= 30 {
                    frames.peer.answer(&if answered % 4 == 2 { status_500(stream) } else { answer(stream, b"hello") });
                }
            }
        });
        let result = run(driver, with_retries(load(server.url(), 2, 10, 300), 9, "500", [0, 1]));
        assert_eq!((result.requests.done, result.requests.failed), (300, 0), "{:?}", result.errors);
        assert_eq!(found(&result).by_reason, reasons(&[("500", found(&result).retries)]));
    }
}
