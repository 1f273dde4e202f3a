//! A load that an idle machine carries with ease is not doubted.

use std::thread;
use std::time::Duration;

use prony_model::{RunPlan, Verdict};

use crate::plans::{for_ms, open, plan, run};
use crate::server::{Server, ok};

/// Runs that may be disturbed by the machine, one after the other: a cloud's machine stops now and then.
const TRIES: usize = 8;

on_both_drivers! {
    fn an_easy_load_is_valid(driver) {
        let server = Server::start(|peer| {
            while peer.request().is_some() {
                thread::sleep(Duration::from_millis(20));
                if !peer.answer(&ok("hello")) {
                    return;
                }
            }
        });
        let mut doubts = Vec::new();
        for _ in 0..TRIES {
            let result = run(driver, RunPlan { load: open(100.0, 8), end: for_ms(2000), ..plan(server.url()) });
            assert_eq!(result.requests.failed, 0, "{:?}", result.errors);
            if result.verdict == Verdict::Valid {
                return;
            }
            doubts.push(result.findings);
        }
        panic!("each of {TRIES} runs was doubted: {doubts:#?}");
    }
}
