//! What the client saw of a request is what the server did with it, and never less.

use std::time::Duration;

use prony_model::{BodyCheck, Checks, ErrorKind, Outcome, RunPlan, StatusClass};
use prony_targets::truth::log::Outcome as Served;
use prony_targets::truth::{Config, Delay};

use super::{Measured, Over, measure};
use crate::kernel_clock::{BODY_BYTES, SLOW, has_kernel_clock};
use crate::plans::{closed, open, requests};

/// The server's arrivals are the kernel's, converted from another clock: what that may be off by. A measured
/// time further below the truth than this is a fault.
const CLOCKS_NS: u64 = 50_000;

fn middle(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}

/// Holds each sample against its record.
fn check(measured: &Measured) {
    let pairs = measured.pairs();
    assert_eq!(pairs.len() as u64, measured.result.requests.done + measured.result.requests.failed);
    for (sample, record) in pairs {
        let matches = matches!(
            (sample.outcome, record.outcome),
            (Outcome::Done(StatusClass::Success), Served::Success)
                | (Outcome::UnexpectedStatus(StatusClass::ServerError), Served::Error)
                | (Outcome::Failed(ErrorKind::Reset | ErrorKind::StreamReset), Served::Reset)
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
        // What the kernel sent again (a probe for lost segments, where the server is slow to acknowledge) left before.
        if sample.tx_ns != 0 && record.stamped {
            assert!(sample.tx_ns <= record.arrival_ns + CLOCKS_NS, "{sample:?} {record:?}");
        }
        assert!(sample.intended_ns <= sample.ready_ns && sample.ready_ns <= sample.sent_ns, "{sample:?}");
    }
}

over_all! {
    fn two_kinds_of_delay(driver, over) {
        let (a, b) = (Duration::from_micros(500), Duration::from_millis(8));
        let delay = Delay::Bimodal { a, b, p: 0.1 };
        let measured = measure(driver, over, Config { delay, ..Config::default() }, |plan| {
            RunPlan { load: closed(10), threads: 2, end: requests(1000), ..plan }
        });
        check(&measured);
        let slow = measured.records.iter().filter(|record| record.delay_ns >= 8_000_000).count();
        let late = measured.samples.iter().filter(|sample| sample.done_ns - sample.sent_ns >= 7_950_000);
        assert!(slow > 50 && late.count() >= slow, "each of the {slow} slow answers was seen as one");
    }

    fn errors_and_resets(driver, over) {
        let config = Config { error_share: 0.2, reset_share: 0.1, ..Config::default() };
        let measured = measure(driver, over, config, |plan| {
            RunPlan { load: closed(5), end: requests(500), ..plan }
        });
        check(&measured);
        let served = |outcome| measured.records.iter().filter(|record| record.outcome == outcome).count() as u64;
        let kinds = &measured.result.requests.failed_by_kind;
        let is_http2 = matches!(over, Over::Http2 { .. });
        let reset = if is_http2 { ErrorKind::StreamReset } else { ErrorKind::Reset };
        assert_eq!(measured.result.requests.done, served(Served::Success));
        assert_eq!(kinds.get(&ErrorKind::Status), Some(&served(Served::Error)));
        assert_eq!(kinds.get(&reset), Some(&served(Served::Reset)));
    }

    fn one_worker_behind_a_steady_rate(driver, over) {
        let delay = Delay::SingleWorker { service: Duration::from_millis(2) };
        let measured = measure(driver, over, Config { delay, ..Config::default() }, |plan| {
            RunPlan { load: open(400.0, 50), end: requests(300), ..plan }
        });
        check(&measured);
    }

    // A client that looks through every body for at least 300 µs while the answers of 63 other connections wait: its
    // own clock shows that, and the kernel's shows the server.
    fn a_client_that_is_late_does_not_change_the_response_by_the_kernels_clock(driver, over) {
        let config = Config {
            delay: Delay::Const(Duration::from_millis(2)),
            body_bytes: BODY_BYTES,
            ..Config::default()
        };
        let measured = measure(driver, over, config, |plan| {
            let checks = Checks { body: Some(BodyCheck::Regex(SLOW.to_owned())), ..Checks::default() };
            RunPlan { checks, load: closed(64), end: requests(2000), ..plan }
        });
        check(&measured);
        if !has_kernel_clock(&measured.result) || measured.result.kernel_clock.discarded > 0 {
            return;
        }
        let (mut own_ns, mut kernel_ns) = (Vec::new(), Vec::new());
        for (sample, record) in measured.pairs() {
            if sample.tx_ns == 0 || sample.rx_ns == 0 || !record.stamped || record.clock_moved {
                continue;
            }
            let kernel = sample.ready_ns - sample.intended_ns + sample.rx_ns - sample.tx_ns;
            assert!(kernel + CLOCKS_NS >= record.residence_ns(), "{sample:?} {record:?}");
            own_ns.push((sample.done_ns - sample.intended_ns).saturating_sub(record.residence_ns()));
            kernel_ns.push(kernel.saturating_sub(record.residence_ns()));
        }
        assert_eq!(own_ns.len() as u64, measured.result.latency.kernel_response.count);
        let (own_ns, kernel_ns) = (middle(own_ns), middle(kernel_ns));
        assert!(own_ns > 5_000_000 && kernel_ns < own_ns / 5, "{own_ns} ns by its own clock, {kernel_ns} ns by the kernel's");
    }

    fn slow_bodies(driver, over) {
        let slow_body = prony_targets::truth::SlowBody { pieces: 4, over: Duration::from_millis(3) };
        let config = Config { slow_body: Some(slow_body), body_bytes: 4000, ..Config::default() };
        let measured = measure(driver, over, config, |plan| {
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
