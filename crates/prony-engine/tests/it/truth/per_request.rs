//! What the client saw of a request is what the server did with it, and never less.

use std::time::Duration;

use prony_model::{Outcome, RunPlan, StatusClass};
use prony_targets::truth::log::Outcome as Served;
use prony_targets::truth::{Config, Delay};

use super::{Measured, measure};
use crate::plans::{closed, open, requests};

/// The server's arrivals are the kernel's, converted from another clock: what that may be off by. A measured
/// time further below the truth than this is a fault.
const CLOCKS_NS: u64 = 50_000;

/// Holds each sample against its record.
fn check(measured: &Measured) {
    let pairs = measured.pairs();
    assert_eq!(pairs.len() as u64, measured.result.requests.done + measured.result.requests.failed);
    for (sample, record) in pairs {
        let matches = matches!(
            (sample.outcome, record.outcome),
            (Outcome::Done(StatusClass::Success), Served::Success)
                | (Outcome::UnexpectedStatus(StatusClass::ServerError), Served::Error)
                | (Outcome::Failed(prony_model::ErrorKind::Reset), Served::Reset)
        );
        assert!(matches, "{sample:?} {record:?}");
        if record.clock_moved {
            continue;
        }
        let residence_ns = record.first_ns - record.arrival_ns;
        let service_ns = sample.done_ns - sample.sent_ns;
        assert!(
            service_ns + CLOCKS_NS >= residence_ns,
            "{service_ns} < {residence_ns}: {sample:?} {record:?}"
        );
        // Sent before it arrived, and ended after it was answered.
        assert!(sample.sent_ns <= record.arrival_ns + CLOCKS_NS, "{sample:?} {record:?}");
        assert!(sample.done_ns >= record.first_ns, "{sample:?} {record:?}");
        assert!(sample.intended_ns <= sample.ready_ns && sample.ready_ns <= sample.sent_ns, "{sample:?}");
    }
}

on_both_drivers! {
    fn two_kinds_of_delay(driver) {
        let (a, b) = (Duration::from_micros(500), Duration::from_millis(8));
        let delay = Delay::Bimodal { a, b, p: 0.1 };
        let measured = measure(driver, Config { delay, ..Config::default() }, |plan| {
            RunPlan { load: closed(10), threads: 2, end: requests(1000), ..plan }
        });
        check(&measured);
        let slow = measured.records.iter().filter(|record| record.delay_ns >= 8_000_000).count();
        let late = measured.samples.iter().filter(|sample| sample.done_ns - sample.sent_ns >= 7_950_000);
        assert!(slow > 50 && late.count() >= slow, "each of the {slow} slow answers was seen as one");
    }

    fn errors_and_resets(driver) {
        let config = Config { error_share: 0.2, reset_share: 0.1, ..Config::default() };
        let measured = measure(driver, config, |plan| {
            RunPlan { load: closed(5), end: requests(500), ..plan }
        });
        check(&measured);
        let served = |outcome| measured.records.iter().filter(|record| record.outcome == outcome).count() as u64;
        let kinds = &measured.result.requests.failed_by_kind;
        assert_eq!(measured.result.requests.done, served(Served::Success));
        assert_eq!(kinds.get(&prony_model::ErrorKind::Status), Some(&served(Served::Error)));
        assert_eq!(kinds.get(&prony_model::ErrorKind::Reset), Some(&served(Served::Reset)));
    }

    fn one_worker_behind_a_steady_rate(driver) {
        let delay = Delay::SingleWorker { service: Duration::from_millis(2) };
        let measured = measure(driver, Config { delay, ..Config::default() }, |plan| {
            RunPlan { load: open(400.0, 50), end: requests(300), ..plan }
        });
        check(&measured);
    }

    fn slow_bodies(driver) {
        let slow_body = prony_targets::truth::SlowBody { pieces: 4, over: Duration::from_millis(3) };
        let config = Config { slow_body: Some(slow_body), body_bytes: 4000, ..Config::default() };
        let measured = measure(driver, config, |plan| {
            RunPlan { load: closed(4), end: requests(200), ..plan }
        });
        check(&measured);
        for (sample, record) in measured.pairs() {
            assert!(sample.done_ns >= record.last_ns, "complete with the last piece: {sample:?} {record:?}");
            assert!(sample.first_byte_ns >= record.first_ns, "begun with the first: {sample:?} {record:?}");
        }
        // A busy client may find all pieces of an answer at once, but not of every one.
        assert!(measured.samples.iter().any(|sample| sample.done_ns > sample.first_byte_ns + 1_000_000));
    }
}
