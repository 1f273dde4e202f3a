//! The closed form of a freeze: at a steady rate r a stall of S makes r·S requests wait, evenly between 0 and
//! S, so that n·(1 − q) of n requests waited longer than Q(q) = S − n·(1 − q)/r.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use prony_model::RunPlan;

use crate::bound::Freeze;
use crate::plans::{open, plan, requests, run};
use crate::server::Server;

const RATE_PER_S: f64 = 500.0;
const REQUESTS: u64 = 400;
const FREEZE_MS: f64 = 300.0;

on_both_drivers! {
    fn no_request_of_a_freeze_is_omitted(driver) {
        for connections in [4, 200] {
            let freeze = Arc::new(Freeze::new(100, Duration::from_secs_f64(FREEZE_MS / 1e3)));
            let frozen = Arc::clone(&freeze);
            let server = Server::start(move |peer| frozen.serve(peer));
            let load = open(RATE_PER_S, connections);
            let result = run(driver, RunPlan { load, end: requests(REQUESTS), ..plan(server.url()) });
            assert_eq!(result.requests.done, REQUESTS);
            let stall_ms = freeze.longest_ns.load(Ordering::SeqCst) as f64 / 1e6;
            let response = &result.latency.response;
            assert!(response.max_ms >= Some(stall_ms), "{connections}: {stall_ms} {response:?}");
            for (name, q) in [("0.75", 0.75), ("0.9", 0.9), ("0.95", 0.95)] {
                // A machine that is busy can only make it longer; a gap of the schedule, 2 ms, shorter.
                let closed_form = FREEZE_MS - REQUESTS as f64 * (1.0 - q) / RATE_PER_S * 1e3;
                let found = response.quantiles_ms[name].unwrap_or_default();
                assert!(found >= closed_form - 5.0, "{connections}, p{name}: {found}, not {closed_form}");
            }
        }
    }
}
