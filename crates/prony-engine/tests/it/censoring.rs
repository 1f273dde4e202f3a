//! A request without an answer is known to be slow, not how slow: quantiles that it reaches are bounds.

use std::time::Duration;

use prony_model::{FindingCode, RunPlan, RunResult, Severity, Timeouts};

use crate::plans::{finding, for_ms, has_finding, impatient, open, plan, requests, run};
use crate::server::{Server, ok};

/// Answers `good` of a hundred requests and never the others.
fn server(good: u64) -> Server {
    Server::start(move |peer| {
        while let Some(request) = peer.request() {
            if request.number % 100 >= good {
                return peer.hold();
            }
            peer.answer(&ok("hello"));
        }
    })
}

/// Of the quantiles up to `known` there is a value, of those beyond a bound of at least `above_ms`.
fn check(result: &RunResult, known: &[&str], bounded: &[&str], above_ms: f64) {
    let response = &result.latency.response;
    for name in known {
        assert!(response.quantiles_ms[*name].is_some(), "{name}: {response:?}");
    }
    for name in bounded {
        assert_eq!(response.quantiles_ms[*name], None, "{name}: {response:?}");
        let bound = response.withheld[*name].above_ms;
        assert!(bound >= Some(above_ms), "{name}: {bound:?}, {above_ms} at least");
    }
    // By the other clock nothing is known of them either.
    assert_eq!(finding(result, FindingCode::Censored).severity, Severity::Warning);
}

on_both_drivers! {
    fn timeouts(driver) {
        let server = server(80);
        let plan = RunPlan {
            load: open(1000.0, 100),
            end: requests(100),
            timeouts: impatient(400),
            ..plan(server.url())
        };
        let result = run(driver, plan);
        assert_eq!([result.requests.done, result.requests.failed], [80, 20]);
        // A bound is rounded down by the histogram's precision, below 1 %.
        check(&result, &["0.5", "0.75"], &["0.9", "0.95", "0.99"], 396.0);
    }

    fn unfinished_at_the_end(driver) {
        let server = server(80);
        let plan = RunPlan {
            load: open(100.0, 100),
            end: for_ms(1000),
            timeouts: Timeouts { drain: Duration::from_secs(1), ..Timeouts::default() },
            ..plan(server.url())
        };
        let result = run(driver, plan);
        let counts = &result.requests;
        // A machine that stops for a moment at the end of the load keeps the client from sending the last ones.
        let answered = server.requests().min(80);
        let unanswered = counts.censored + counts.never_sent;
        assert_eq!([counts.intended, counts.done, unanswered], [100, answered, 100 - answered]);
        check(&result, &["0.5"], &["0.9", "0.95"], 990.0);
    }

    fn one_in_a_hundred_reaches_the_p99_only(driver) {
        let server = server(98);
        let plan = RunPlan {
            load: open(2000.0, 20),
            end: requests(300),
            timeouts: impatient(400),
            ..plan(server.url())
        };
        let result = run(driver, plan);
        assert_eq!([result.requests.done, result.requests.failed], [294, 6]);
        check(&result, &["0.5", "0.75", "0.9", "0.95"], &["0.99", "0.999"], 396.0);
    }

    fn no_censoring_without_cause(driver) {
        let server = server(100);
        let result = run(driver, RunPlan { end: requests(100), ..plan(server.url()) });
        assert!(!has_finding(&result, FindingCode::Censored));
        let withheld = &result.latency.response.withheld;
        assert!(withheld.values().all(|note| note.above_ms.is_none()), "{withheld:?}");
    }
}
