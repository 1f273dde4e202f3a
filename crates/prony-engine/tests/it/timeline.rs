//! Findings in how a run went along: a slow beginning, a pause in the midst.

use std::sync::RwLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use prony_model::{FindingCode, RunPlan, Severity};

use crate::plans::{closed, finding, has_finding, plan, requests, run};
use crate::server::{Server, ok};

on_both_drivers! {
    fn warm_up(driver) {
        // The first 60 answers take 20 ms, which is 0.6 s with two connections; the others take 1 ms. That is less
        // than a quarter of the run (where the machine is faster in its second half, only the first is looked at),
        // and more than 1 % of the answers (p99 is pulled, however slow a busy machine makes the others).
        let server = Server::start(|peer| {
            while let Some(request) = peer.request() {
                thread::sleep(Duration::from_millis(if request.number < 60 { 20 } else { 1 }));
                peer.answer(&ok("hello"));
            }
        });
        let result = run(driver, RunPlan { load: closed(2), end: requests(4000), ..plan(server.url()) });
        let found = finding(&result, FindingCode::WarmUp);
        assert_eq!(found.severity, Severity::Warning);
        let length_s = found.evidence.iter().find(|evidence| evidence.name == "length").expect("it says how long").value;
        // A busy machine makes the rest longer, not this.
        assert!((0.3..result.timing.measured_s / 2.0).contains(&length_s), "{}", found.message);
        assert!(found.advice.contains("--warmup "), "{}", found.advice);
        // Left out, the beginning is no finding.
        let server = Server::start(|peer| {
            while peer.request().is_some() {
                thread::sleep(Duration::from_millis(2));
                peer.answer(&ok("hello"));
            }
        });
        let result = run(driver, RunPlan { load: closed(2), end: requests(40), ..plan(server.url()) });
        assert!(!has_finding(&result, FindingCode::WarmUp), "{:#?}", result.findings);
    }

    fn outlier_slices(driver) {
        // Everybody waits while one holds the gate: a second of nothing after the 1,200th request.
        let gate = RwLock::new(());
        let count = AtomicU64::new(0);
        let server = Server::start(move |peer| {
            while peer.request().is_some() {
                if count.fetch_add(1, Ordering::SeqCst) == 1200 {
                    let _closed = gate.write().expect("no panic");
                    thread::sleep(Duration::from_secs(1));
                }
                drop(gate.read());
                thread::sleep(Duration::from_millis(2));
                peer.answer(&ok("hello"));
            }
        });
        // A busy machine only makes it longer: 20 answers for each of 60 parts are needed to call one silent.
        let result = run(driver, RunPlan { load: closed(4), end: requests(2000), ..plan(server.url()) });
        let found = finding(&result, FindingCode::OutlierSlices);
        assert_eq!(found.severity, Severity::Note);
        assert!(found.message.contains("nothing was answered for"), "{}", found.message);
    }
}
