//! Why requests of an open loop waited: for the limit on connections, or for a connection to open.

use std::thread;
use std::time::Duration;

use prony_model::{FindingCode, RunPlan};

use crate::plans::{finding, open, plan, requests, run};
use crate::server::{Server, ok};

on_both_drivers! {
    fn a_limit_that_was_never_reached_is_not_blamed(driver) {
        let server = Server::answering(&ok("hello"));
        let mut plan = RunPlan { load: open(200.0, 1000), end: requests(60), ..plan(server.url()) };
        plan.request.keep_alive = false;
        let result = run(driver, plan);
        assert!(result.connections.reached < 1000);
        let found = finding(&result, FindingCode::Blocked);
        assert!(!found.message.contains("one of 1,000"), "{}", found.message);
        assert!(found.message.contains("100 % of the requests waited for a connection to open"), "{}", found.message);
        assert!(!found.advice.contains("--connections"), "{}", found.advice);
    }

    fn a_limit_that_was_reached_is_named(driver) {
        let server = Server::start(|peer| {
            while peer.request().is_some() {
                thread::sleep(Duration::from_millis(20));
                peer.answer(&ok("hello"));
            }
        });
        let result = run(driver, RunPlan { load: open(200.0, 1), end: requests(20), ..plan(server.url()) });
        let found = finding(&result, FindingCode::Blocked);
        assert!(found.message.contains("waited for one of 1 connection"), "{}", found.message);
        assert!(found.advice.contains("--connections 4"), "{}", found.advice);
    }
}
