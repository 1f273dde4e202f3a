//! An open loop with fewer connections than it needs: what waits is counted and timed from when it was due.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use prony_model::{FindingCode, RunPlan, Severity};

use crate::plans::{finding, for_ms, impatient, open, plan, requests, run};
use crate::server::{Peer, Server, now, ok};

on_both_drivers! {
    fn what_waits_for_a_connection_is_timed_from_when_it_was_due(driver) {
        // The tenth request stalls the only connection, until twenty more have become due at 200/s.
        let stall_ns = std::sync::Arc::new(AtomicU64::new(0));
        let measured = std::sync::Arc::clone(&stall_ns);
        let server = Server::start(move |peer| {
            while let Some(request) = peer.request() {
                if request.number == 10 {
                    let began = now();
                    thread::sleep(Duration::from_millis(150));
                    let stall = u64::try_from(began.elapsed().as_nanos()).expect("below 584 years");
                    measured.store(stall, Ordering::SeqCst);
                }
                peer.answer(&ok("hello"));
            }
        });
        let plan = RunPlan { load: open(200.0, 1), end: requests(60), ..plan(server.url()) };
        let result = run(driver, plan);
        let stall_ms = stall_ns.load(Ordering::SeqCst) as f64 / 1e6;
        assert_eq!(result.requests.done, 60);
        let latency = &result.latency;
        assert!(latency.response.max_ms >= Some(stall_ms), "{stall_ms} {:?}", latency.response);
        // At 200/s at least 29 became due in the 150 ms; none of them could be sent before the end of it.
        assert!(latency.blocked.count >= 29, "{:?}", latency.blocked);
        assert!(latency.blocked.max_ms >= Some(stall_ms - 10.0), "{:?}", latency.blocked);
        // Only one request was slow by the server's own clock: the others' wait is in the response time alone.
        let waited = latency.response.mean_ms.unwrap_or_default() - latency.service.mean_ms.unwrap_or_default();
        let least = 150.0 * 29.0 / 60.0 / 2.0 * 0.8;
        assert!(waited >= least, "{waited} ms, {least} ms at least");
        assert_eq!(finding(&result, FindingCode::Blocked).severity, Severity::Note);
    }

    fn what_never_got_a_connection_is_counted(driver) {
        let server = Server::start(|peer| {
            peer.request();
            peer.hold();
        });
        let timeouts = prony_model::Timeouts { drain: Duration::from_millis(50), ..Default::default() };
        let plan = RunPlan { load: open(200.0, 2), end: for_ms(300), timeouts, ..plan(server.url()) };
        let result = run(driver, plan);
        let counts = &result.requests;
        assert_eq!([counts.intended, counts.censored, counts.never_sent, counts.done], [60, 2, 58, 0]);
        assert_eq!([counts.sent, server.requests()], [2; 2]);
        assert_eq!(result.histograms.censored.count, 60);
        assert_eq!(finding(&result, FindingCode::Blocked).severity, Severity::Warning);
    }

    fn a_timeout_frees_the_connection_for_what_waits(driver) {
        let server = Server::start(|peer| {
            peer.request();
            peer.hold();
        });
        let timeouts = impatient(30);
        let plan = RunPlan { load: open(1000.0, 2), end: requests(10), timeouts, ..plan(server.url()) };
        let result = run(driver, plan);
        assert_eq!([result.requests.failed, server.requests(), result.connections.opened], [10; 3]);
    }
}

/// Answers at once, but not between the first request number `at` and `length` later.
pub(crate) struct Freeze {
    at: u64,
    length: Duration,
    thaws: Mutex<Option<Instant>>,
    /// How long the request that met the freeze first waited, nanoseconds.
    pub longest_ns: AtomicU64,
}

impl Freeze {
    pub(crate) fn new(at: u64, length: Duration) -> Self {
        Self { at, length, thaws: Mutex::new(None), longest_ns: AtomicU64::new(0) }
    }

    pub(crate) fn serve(&self, peer: &mut Peer) {
        while let Some(request) = peer.request() {
            let came = now();
            let thaws = {
                let mut thaws = self.thaws.lock().expect("no panic");
                if request.number == self.at {
                    *thaws = Some(came + self.length);
                }
                *thaws
            };
            if let Some(left) = thaws.and_then(|thaws| thaws.checked_duration_since(came)) {
                thread::sleep(left);
                let waited = u64::try_from(came.elapsed().as_nanos()).expect("below 584 years");
                self.longest_ns.fetch_max(waited, Ordering::SeqCst);
            }
            peer.answer(&ok("hello"));
        }
    }
}
