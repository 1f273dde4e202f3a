//! The slowest requests of a result, where it is known which they are and why.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use prony_model::{RunPlan, RunResult, SlowRequest, Timeouts};

use crate::http2::{self, Frames};
use crate::plans::{closed, open, plan, requests, run};
use crate::retries::with_retries;
use crate::scenario::{flow, scenario, step};
use crate::server::{Server, ok};

/// How long the server holds back what it holds back.
const HELD: Duration = Duration::from_millis(300);
const HELD_MS: f64 = 300.0;

/// Where a server waits.
#[derive(Clone, Copy, PartialEq)]
enum Hold {
    BeforeAnswer,
    WithinBody,
}

/// Answers 200, but number `held` of all requests 201, and that one late.
fn server(held: u64, hold: Hold) -> Server {
    let count = AtomicU64::new(0);
    Server::start(move |peer| {
        while peer.head().is_some() {
            if count.fetch_add(1, Ordering::SeqCst) + 1 != held {
                if !peer.answer(&ok("hello")) {
                    return;
                }
                continue;
            }
            if hold == Hold::BeforeAnswer {
                thread::sleep(HELD);
            }
            if !peer.answer(b"HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nhe") {
                return;
            }
            if hold == Hold::WithinBody {
                thread::sleep(HELD);
            }
            if !peer.answer(b"llo") {
                return;
            }
        }
    })
}

/// The one with status 201, after a look at what holds for every list.
fn held(result: &RunResult, count: usize) -> &SlowRequest {
    let slowest = &result.slowest;
    assert_eq!(slowest.len(), count.min(SlowRequest::LISTED_MAX));
    assert!(slowest.is_sorted_by(|one, next| one.response_ms >= next.response_ms), "{slowest:?}");
    let greatest = slowest_of_outcomes(result).expect("some have ended");
    assert!((slowest[0].response_ms - greatest).abs() < 1e-6, "{slowest:?}, {greatest}");
    for request in slowest {
        let phases = request.phases.expect("they are known");
        let sum = phases.waited_ms
            + phases.connect_ms
            + phases.tls_ms
            + phases.client_ms
            + phases.first_byte_ms
            + phases.rest_ms;
        assert!((sum - request.response_ms).abs() < 1e-6, "{request:?}");
        assert!(request.connection.is_some_and(|connection| connection.port != 0), "{request:?}");
        assert!((0.0..=result.timing.measured_s).contains(&request.due_s), "{request:?}");
    }
    let found: Vec<&SlowRequest> = slowest.iter().filter(|request| request.status == Some(201)).collect();
    assert_eq!(found.len(), 1, "{slowest:?}");
    found[0]
}

/// The greatest response time of all, which the result has besides.
fn slowest_of_outcomes(result: &RunResult) -> Option<f64> {
    result.outcomes.iter().filter_map(|outcome| outcome.response.max_ms).reduce(f64::max)
}

on_both_drivers! {
    fn a_request_that_is_held_back_is_listed(driver) {
        for (number, hold) in [(1, Hold::BeforeAnswer), (150, Hold::BeforeAnswer), (150, Hold::WithinBody)] {
            let server = server(number, hold);
            let plan = RunPlan { load: closed(1), end: requests(200), ..plan(server.url()) };
            let result = run(driver, plan);
            assert_eq!(result.requests.done, 200, "{:?}", result.errors);
            let held = held(&result, 200);
            let phases = held.phases.expect("they are known");
            let (late, other) = match hold {
                Hold::BeforeAnswer => (phases.first_byte_ms, phases.rest_ms),
                Hold::WithinBody => (phases.rest_ms, phases.first_byte_ms),
            };
            assert!(late >= HELD_MS && other <= held.response_ms - HELD_MS, "{held:?}");
            let is_new = held.connection.map(|connection| connection.is_new);
            assert_eq!((is_new, held.attempts, held.outcome.as_str()), (Some(number == 1), 1, "2xx"));
            assert!(held.trace_id.is_none() && held.step.is_none() && held.agent.is_none());
        }
    }

    fn what_was_due_meanwhile_waited_for_the_connection(driver) {
        // One connection, a request each 5 ms: number 20 is due at 95 ms, and what is due behind it waits for it.
        let server = server(20, Hold::BeforeAnswer);
        let plan = RunPlan { load: open(200.0, 1), end: requests(60), ..plan(server.url()) };
        let result = run(driver, plan);
        let freed = 0.095 + HELD.as_secs_f64();
        let behind: Vec<&SlowRequest> =
            result.slowest.iter().filter(|request| (0.097..freed).contains(&request.due_s)).collect();
        assert!(!behind.is_empty(), "{:?}", result.slowest);
        for request in behind {
            let waited_ms = request.phases.expect("they are known").waited_ms;
            assert!(waited_ms >= (freed - request.due_s) * 1e3 - 1e-3, "{request:?}");
        }
    }

    fn on_streams_too(driver) {
        let count = Arc::new(AtomicU64::new(0));
        let server = Server::start(move |peer| {
            let Some(mut frames) = Frames::begin(peer, b"") else { return };
            while let Some(stream) = frames.request() {
                if count.fetch_add(1, Ordering::SeqCst) == 120 {
                    thread::sleep(HELD);
                }
                if !frames.peer.answer(&http2::answer(stream, b"hello")) {
                    return;
                }
            }
        });
        let result = run(driver, http2::load(server.url(), 1, 1, 200));
        assert_eq!(result.requests.done, 200, "{:?}", result.errors);
        let first = &result.slowest[0];
        assert!(first.response_ms >= HELD_MS, "{first:?}");
        let held = result.slowest.iter().find(|one| one.phases.is_some_and(|phases| phases.first_byte_ms >= HELD_MS));
        assert_eq!(held.and_then(|held| held.connection).map(|connection| connection.is_new), Some(false));
    }

    fn steps_and_attempts_are_known_without_traces(driver) {
        // Each request fails once.
        let count = AtomicU64::new(0);
        let server = Server::start(move |peer| {
            while peer.head().is_some() {
                let fails = count.fetch_add(1, Ordering::SeqCst).is_multiple_of(2);
                let answer =
                    if fails { b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n".to_vec() } else { ok("hello") };
                if !peer.answer(&answer) {
                    return;
                }
            }
        });
        let plan = RunPlan { load: closed(1), end: requests(20), ..plan(server.url()) };
        let repeated = with_retries(plan, 3, "503", [2, 2]);
        let flows = vec![flow("f", 1, vec![step("a", "/a"), step("b", "/b")])];
        let sessions = RunPlan { scenario: scenario(flows), ..repeated.clone() };
        for (plan, has_steps) in [(repeated, false), (sessions, true)] {
            let result = run(driver, plan);
            assert!(!result.slowest.is_empty(), "{:?}", result.errors);
            for request in &result.slowest {
                assert_eq!((request.attempts, request.status), (2, Some(200)), "{request:?}");
                let waited_ms = request.phases.expect("they are known").waited_ms;
                assert!(waited_ms > 0.0, "the first attempt is part of it: {request:?}");
                let is_named = matches!(request.step.as_deref(), Some("f/a" | "f/b"));
                assert_eq!(is_named, has_steps, "{request:?}");
            }
        }
    }

    fn what_is_never_answered_belongs_to_them(driver) {
        let server = Server::start(|peer| {
            if peer.head().is_some() {
                peer.wait_until_the_client_goes();
            }
        });
        let timeouts = Timeouts { request: Duration::from_millis(100), ..plan(server.url()).timeouts };
        let plan = RunPlan { load: closed(1), end: requests(3), timeouts, ..plan(server.url()) };
        let result = run(driver, plan);
        assert_eq!(result.slowest.len(), 3, "{:?}", result.errors);
        for request in &result.slowest {
            assert_eq!((request.outcome.as_str(), request.status), ("request-timeout", None));
            assert!(request.phases.is_some_and(|phases| phases.first_byte_ms >= 99.0), "{request:?}");
        }
    }
}
