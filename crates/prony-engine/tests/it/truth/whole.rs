//! The run as a whole: what nobody may leave out.

use std::time::Duration;

use prony_model::{LatencySummary, RunPlan};
use prony_targets::truth::{Config, Delay};

use super::measure;
use crate::plans::{for_ms, open};

const RATE_PER_S: f64 = 1000.0;
const STALL_MS: f64 = 200.0;
/// From the start of the server: the only stall of a run ends well before it does.
const EVERY_MS: f64 = 1000.0;
const RUN_MS: u32 = 1500;

/// The quantile, or what it is greater than where requests without an answer reach it.
fn at_least(summary: &LatencySummary, name: &str) -> f64 {
    let bound = || summary.withheld.get(name).and_then(|note| note.above_ms);
    summary.quantiles_ms[name].or_else(bound).unwrap_or_default()
}

fn freezing() -> Config {
    let delay = Delay::Freeze {
        base: Duration::from_millis(1),
        every: Duration::from_secs_f64(EVERY_MS / 1e3),
        stall: Duration::from_secs_f64(STALL_MS / 1e3),
    };
    Config { delay, ..Config::default() }
}

over_all! {
    // While the server is frozen requests are due all the same. Each waits for the thaw from the moment that it
    // was due: of n requests in a time of t, n·(1 − q) wait longer than stall − (1 − q)·t.
    fn a_freeze_is_felt_by_every_request_that_was_due_in_it(driver, over) {
        for connections in [10, 400] {
            let measured = measure(driver, over, freezing(), |plan| {
                RunPlan { load: open(RATE_PER_S, connections), end: for_ms(RUN_MS.into()), ..plan }
            });
            let result = &measured.result;
            assert_eq!(result.requests.intended, 1500, "{connections}: {:?}", result.requests);
            assert_eq!(measured.records.len() as u64, result.requests.sent, "every one that was sent was served");
            let response = &result.latency.response;
            for (name, q) in [("0.9", 0.9), ("0.95", 0.95)] {
                let closed_form = STALL_MS - (1.0 - q) * f64::from(RUN_MS);
                let found = at_least(response, name);
                assert!(found >= closed_form - 5.0, "{connections}, p{name}: {found}, not {closed_form}");
            }
            assert!(response.max_ms >= Some(STALL_MS - 5.0), "{connections}: {response:?}");
        }
    }

    // At most one request a connection feels it in its service time, and two hundred in their response time.
    fn few_connections_hide_a_freeze_from_the_service_time_only(driver, over) {
        let measured = measure(driver, over, freezing(), |plan| {
            RunPlan { load: open(RATE_PER_S, 4), end: for_ms(RUN_MS.into()), ..plan }
        });
        let over_20_ms = |from: fn(&prony_model::SampleRecord) -> u64| {
            measured.samples.iter().filter(|sample| sample.done_ns - from(sample) > 20_000_000).count()
        };
        let by_response = over_20_ms(|sample| sample.intended_ns);
        assert!(by_response >= 150, "{by_response}");
        let reported = at_least(&measured.result.latency.response, "0.95");
        assert!(reported > 20.0, "150 of 1500 waited for longer than 20 ms: p95 {reported}");
    }
}
