//! Failed requests that are sent again: servers that fail in known ways count what they get.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use prony_engine::Control;
use prony_model::{
    Backoff, DriverChoice, ErrorKind, FindingCode, RetryOn, RetryPlan, RetryUse, RunEvent, RunPlan,
    RunResult, SampleRecord, Timeouts,
};
use rand_pcg::Pcg64;

use crate::plans::{closed, for_ms, get, has_finding, open, plan, requests, run, run_with};
use crate::server::{Peer, Server, ok};
use crate::tls::{config, trusting};

const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";

/// Up to so many retries on `on`, with waits of up to `first_ms`, doubled up to `max_ms`.
fn retrying(url: &str, retries: u32, on: &str, [first_ms, max_ms]: [u64; 2]) -> RunPlan {
    with_retries(plan(url), retries, on, [first_ms, max_ms])
}

pub(crate) fn with_retries(plan: RunPlan, retries: u32, on: &str, [first_ms, max_ms]: [u64; 2]) -> RunPlan {
    let backoff = Backoff { first: Duration::from_millis(first_ms), max: Duration::from_millis(max_ms) };
    let retries = RetryPlan {
        retries,
        on: RetryOn::parse(on).expect("failures"),
        backoff,
        budget: None,
        attempt_timeout: plan.timeouts.request,
    };
    RunPlan { retries: Some(retries), ..plan }
}

/// Changes what the plan says of retries.
pub(crate) fn changed(mut plan: RunPlan, change: impl FnOnce(&mut RetryPlan)) -> RunPlan {
    change(plan.retries.as_mut().expect("a plan with retries"));
    plan
}

/// Answers 503 to every request whose number is `busy`.
fn busy_for(busy: impl Fn(u64) -> bool + Send + Sync + 'static) -> Server {
    Server::start(serve_busy(busy))
}

fn serve_busy(busy: impl Fn(u64) -> bool + Send + Sync + 'static) -> impl Fn(&mut Peer) + Send + Sync {
    move |peer| {
        while let Some(request) = peer.request() {
            if !peer.answer(&if busy(request.number) { BUSY.to_vec() } else { ok("hello") }) {
                return;
            }
        }
    }
}

pub(crate) fn found(result: &RunResult) -> &RetryUse {
    let found = result.retries.as_ref().expect("the plan has retries");
    assert_eq!(found.retries, found.by_reason.values().sum::<u64>());
    assert_eq!(found.attempts, result.requests.sent + found.retries);
    let ended: u64 = found.by_attempts.values().sum();
    assert_eq!(ended, result.requests.done + result.requests.failed);
    assert_eq!(found.recovered_response.count, found.recovered);
    found
}

pub(crate) fn reasons(of: &[(&str, u64)]) -> BTreeMap<String, u64> {
    of.iter().map(|(reason, count)| ((*reason).to_owned(), *count)).collect()
}

/// The waits of one thread, in the order in which it draws them: for first retries, second ones, …
pub(crate) fn waits(seed: u64, numbers: impl Iterator<Item = u32>, first_ns: u64, max_ns: u64) -> Vec<u64> {
    let mut random = Pcg64::new(u128::from(seed), 1 << 64);
    let mut next = || rand::Rng::next_u64(&mut random);
    let longest = |number: u32| (first_ns << (number - 1)).min(max_ns);
    let scaled = |draw: u64, longest: u64| (u128::from(draw) * u128::from(longest + 1)) >> 64;
    numbers.map(|number| u64::try_from(scaled(next(), longest(number))).expect("64 bits")).collect()
}

/// The first two of three attempts fail; each request waits for both backoffs, which are known.
fn check_two_failures(driver: DriverChoice, server: &Server, plan: RunPlan) {
    let plan = with_retries(plan, 3, "503", [8, 10]);
    let plan = RunPlan { end: requests(6), samples: true, seed: 42, ..plan };
    let mut samples: Vec<SampleRecord> = Vec::new();
    let result = run_with(driver, plan, &Control::default(), &mut |event| {
        if let RunEvent::Samples(more) = event {
            samples.extend(more);
        }
    });
    assert_eq!([result.requests.intended, result.requests.done, result.requests.sent], [6; 3]);
    assert_eq!(server.requests(), 18);
    assert_eq!(result.statuses, BTreeMap::from([(200, 6)]), "the last answer is the outcome");
    assert_eq!(result.traffic.expect("known").measured.sent, 18);
    let retries = found(&result);
    assert_eq!(retries.by_reason, reasons(&[("503", 12)]));
    assert_eq!((retries.retried, retries.recovered, retries.exhausted), (6, 6, 0));
    assert_eq!((retries.attempts, retries.answers_retried), (18, 12));
    assert_eq!(retries.by_attempts, BTreeMap::from([(3, 6)]));
    assert!((retries.amplification - 3.0).abs() < 1e-9);
    let waits = waits(42, (0..12).map(|index| index % 2 + 1), 8_000_000, 10_000_000);
    assert_eq!(samples.len(), 6);
    for (sample, waits) in samples.iter().zip(waits.chunks(2)) {
        let response = sample.done_ns - sample.intended_ns;
        assert!(response >= waits.iter().sum(), "{response} {waits:?}");
        let service = sample.done_ns - sample.sent_ns;
        assert!(response - service >= waits.iter().sum(), "the service time is that of the last attempt");
        assert_eq!((sample.status, sample.sent_ns - sample.ready_ns <= response), (200, true));
    }
}

on_both_drivers! {
    fn a_request_is_sent_until_it_succeeds(driver) {
        let server = busy_for(|number| number % 3 < 2);
        check_two_failures(driver, &server, plan(server.url()));
        // With a connection for each attempt.
        let server = busy_for(|number| number % 3 < 2);
        let mut plan = plan(server.url());
        plan.request.keep_alive = false;
        check_two_failures(driver, &server, plan);
        assert_eq!(server.used_connections(), 18);
    }

    fn the_same_over_tls(driver) {
        let server = Server::over_tls(config("server"), serve_busy(|number| number % 3 < 2));
        check_two_failures(driver, &server, trusting(server.url()));
    }

    fn a_request_that_never_succeeds_fails_once(driver) {
        let server = busy_for(|_| true);
        let result = run(driver, RunPlan { end: requests(5), ..retrying(server.url(), 2, "5xx", [1, 1]) });
        assert_eq!((result.requests.done, result.requests.failed, server.requests()), (0, 5, 15));
        assert_eq!(result.requests.failed_by_kind, BTreeMap::from([(ErrorKind::Status, 5)]));
        assert_eq!(result.statuses, BTreeMap::from([(503, 5)]));
        let retries = found(&result);
        assert_eq!((retries.retries, retries.exhausted, retries.recovered), (10, 5, 0));
        assert_eq!(retries.by_attempts, BTreeMap::from([(3, 5)]));
        assert!(has_finding(&result, FindingCode::RetryStorm));
    }

    fn only_what_was_asked_for_is_retried(driver) {
        let server = busy_for(|_| true);
        let plan = retrying(server.url(), 2, "connect,reset,timeout,429", [1, 1]);
        let result = run(driver, RunPlan { end: requests(5), ..plan });
        assert_eq!((result.requests.failed, server.requests()), (5, 5));
        assert_eq!((found(&result).retries, found(&result).exhausted), (0, 0));
        assert!(!has_finding(&result, FindingCode::RetryStorm));
        // A status that is good is none that is retried.
        let mut plan = retrying(server.url(), 2, "503", [1, 1]);
        plan.checks.status = prony_model::StatusSet(vec![(503, 503)]);
        let result = run(driver, RunPlan { end: requests(5), ..plan });
        assert_eq!((result.requests.done, found(&result).retries), (5, 0));
    }

    fn a_budget_bounds_the_load_of_retries(driver) {
        let server = busy_for(|_| true);
        let plan = changed(retrying(server.url(), 3, "503", [1, 2]), |retries| retries.budget = Some(0.2));
        let result = run(driver, RunPlan { load: closed(4), end: requests(200), ..plan });
        let retries = found(&result);
        // A fifth of the requests, and the ten that every budget grants.
        assert_eq!((retries.retries, server.requests()), (50, 250));
        assert_eq!((result.requests.failed, retries.exhausted + retries.refused_by_budget), (200, 200));
        assert!(retries.refused_by_budget >= 150, "{retries:?}");
        // Several threads share it.
        let server = busy_for(|_| true);
        let plan = changed(retrying(server.url(), 3, "503", [1, 2]), |retries| retries.budget = Some(0.1));
        let result = run(driver, RunPlan { load: closed(6), threads: 3, end: requests(300), ..plan });
        assert_eq!(found(&result).retries + 300, server.requests());
        assert!(found(&result).retries <= 40, "{:?}", found(&result));
    }

    fn an_open_loop_offers_the_same_load_and_retries_beyond_it(driver) {
        // Whose requests the first twenty are, is open; each of their answers makes one retry.
        let server = busy_for(|number| number < 20);
        let plan = retrying(server.url(), 20, "503", [5, 20]);
        let result = run(driver, RunPlan { load: open(400.0, 50), end: requests(40), threads: 2, ..plan });
        assert_eq!([result.requests.intended, result.requests.done, result.requests.sent], [40; 3]);
        assert_eq!((server.requests(), found(&result).retries), (60, 20));
        assert_eq!(result.rate.asked_per_s, Some(400.0));
        assert_eq!(result.statuses, BTreeMap::from([(200, 40)]));
        let recovered = found(&result).recovered;
        assert!((1..=20).contains(&recovered), "{recovered}");
        assert!(!has_finding(&result, FindingCode::LittlesLaw));
    }

    fn retries_of_an_open_loop_wait_for_connections_in_turn(driver) {
        // One connection for all: those that are due for the first time wait beside the retries.
        let server = busy_for(|number| number % 2 == 0);
        let plan = retrying(server.url(), 50, "503", [1, 4]);
        let result = run(driver, RunPlan { load: open(2000.0, 1), end: requests(60), ..plan });
        assert_eq!((result.requests.done, result.connections.opened), (60, 1));
        assert_eq!(server.requests(), 60 + found(&result).retries);
        assert_eq!(found(&result).retries, server.requests().div_ceil(2));
        let samples = &result.latency.blocked;
        assert!(samples.count <= 60, "{samples:?}");
    }

    fn a_server_that_stalls_is_left_for_another_attempt(driver) {
        // Long enough that a busy machine seldom misses it, too.
        const PATIENCE: Duration = Duration::from_millis(300);
        // Every other request is not answered.
        let server = Server::start(|peer| {
            while let Some(request) = peer.request() {
                if request.number % 2 == 0 {
                    return peer.hold();
                }
                peer.answer(&ok("hello"));
            }
        });
        for load in [closed(1), open(20.0, 5)] {
            let before = server.requests();
            let plan = retrying(server.url(), 5, "timeout", [0, 0]);
            let plan = changed(plan, |retries| retries.attempt_timeout = PATIENCE);
            let result = run(driver, RunPlan { load, end: requests(3), ..plan });
            let retries = found(&result);
            assert_eq!(retries.retries, *retries.by_reason.get("timeout").unwrap_or(&0));
            assert!(server.requests() - before <= 3 + retries.retries);
            assert_eq!(retries.recovered + retries.exhausted, retries.retried);
            if load == closed(1) {
                assert_eq!((result.requests.done, retries.recovered), (3, 3));
                assert!(retries.retries >= 3, "{retries:?}");
                let [response, service] = [&result.latency.response, &result.latency.service];
                let mean = |summary: &prony_model::LatencySummary| summary.mean_ms.expect("three");
                assert!(response.min_ms.expect("three") >= 300.0, "{response:?}");
                assert!(mean(response) - mean(service) >= 299.9, "{response:?} {service:?}");
            }
        }
    }

    fn a_request_and_its_retries_have_one_timeout(driver) {
        let server = Server::start(Peer::hold);
        let timeouts = Timeouts { request: Duration::from_millis(200), ..plan(server.url()).timeouts };
        let plan = RunPlan { timeouts, end: requests(3), ..retrying(server.url(), 100, "timeout", [1, 1]) };
        let plan = changed(plan, |retries| retries.attempt_timeout = Duration::from_millis(60));
        let result = run(driver, plan);
        let retries = found(&result);
        assert_eq!(result.requests.failed_by_kind, BTreeMap::from([(ErrorKind::RequestTimeout, 3)]));
        assert_eq!((retries.refused_by_timeout, retries.exhausted), (3, 0), "{retries:?}");
        // 60 ms each, and a rest of 20 ms.
        assert!(retries.attempts <= 12, "{retries:?}");
        assert!(result.latency.response.count == 0 && result.outcomes[0].response.min_ms >= Some(140.0));
    }

    fn a_connection_that_breaks_is_replaced_for_the_next_attempt(driver) {
        let server = Server::start(|peer| {
            while let Some(request) = peer.request() {
                match request.number % 4 {
                    0 => return peer.reset(),
                    1 => return peer.leave(),
                    2 => {
                        peer.answer(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel");
                        return;
                    }
                    _ => peer.answer(&ok("hello")),
                };
            }
        });
        let plan = retrying(server.url(), 3, "reset", [1, 2]);
        let result = run(driver, RunPlan { end: requests(5), ..plan });
        assert_eq!((result.requests.done, server.requests(), server.used_connections()), (5, 20, 16));
        assert_eq!(found(&result).by_reason, reasons(&[("reset", 15)]));
        assert_eq!(found(&result).by_attempts, BTreeMap::from([(4, 5)]));
    }

    fn a_server_that_refuses_for_a_while_is_waited_for(driver) {
        for load in [closed(3), open(200.0, 3)] {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            let address = listener.local_addr().expect("an address");
            let server = thread::spawn(move || {
                // The connection before the load; then nobody listens.
                drop(listener.accept());
                drop(listener);
                thread::sleep(Duration::from_millis(150));
                let listener = TcpListener::bind(address).expect("the port is still free");
                thread::scope(|scope| {
                    let peers: Vec<_> = (0..3)
                        .map(|_| {
                            let (stream, _) = listener.accept().expect("a connection");
                            scope.spawn(|| answers(stream))
                        })
                        .collect();
                    peers.into_iter().map(|peer| peer.join().expect("no panic")).sum::<u64>()
                })
            });
            let plan = retrying(&format!("http://{address}/"), 100, "connect,reset", [10, 20]);
            // In the closed loop each connection has a request that was refused, so all three are opened.
            let result = run(driver, RunPlan { load, end: requests(12), ..plan });
            let retries = found(&result);
            assert_eq!((result.requests.sent, result.requests.done), (12, 12), "{:?}", result.errors);
            assert!(retries.retries >= 1 && retries.recovered >= 1, "{retries:?}");
            assert!(retries.by_reason.keys().all(|reason| ["connect", "reset"].contains(&reason.as_str())));
            if load == closed(3) {
                assert_eq!(server.join().expect("no panic"), 12);
            }
        }
    }

    fn what_waits_at_the_end_is_unfinished(driver) {
        let server = busy_for(|_| true);
        for load in [closed(3), open(100.0, 5)] {
            let plan = retrying(server.url(), 3, "503", [3_600_000, 3_600_000]);
            let timeouts = Timeouts {
                request: Duration::from_hours(2),
                drain: Duration::from_millis(300),
                ..plan.timeouts
            };
            let plan = RunPlan { load, end: for_ms(100), timeouts, ..plan };
            let result = run(driver, plan);
            let retries = found(&result);
            assert!(retries.waiting_at_end >= 1, "{retries:?}");
            assert!(result.requests.censored >= retries.waiting_at_end, "{:?}", result.requests);
            assert_eq!(retries.retries, 0);
        }
    }

    fn a_servers_log_has_every_attempt(driver) {
        for load in [closed(2), open(300.0, 4)] {
            let server = busy_for(|number| number % 2 == 0);
            let plan = RunPlan { load, warmup: Duration::from_millis(80), end: requests(20), ..plan(server.url()) };
            let result = run(driver, with_retries(plan, 50, "503", [1, 3]));
            assert_eq!((result.requests.done, result.requests.sent), (20, 20));
            let traffic = result.traffic.expect("known");
            assert_eq!(traffic.sent(), server.requests());
            assert_eq!(traffic.measured.sent, found(&result).attempts, "those of the warm-up are not counted");
            assert!(traffic.warmup.sent > 0, "{traffic:?}");
        }
    }

    fn a_run_without_retries_says_nothing_of_them(driver) {
        let server = busy_for(|number| number == 0);
        let result = run(driver, RunPlan { end: requests(2), request: get(), ..plan(server.url()) });
        assert_eq!((result.requests.failed, result.retries), (1, None));
    }
}

/// Answers requests until the client goes; returns how many.
fn answers(mut stream: std::net::TcpStream) -> u64 {
    let (mut head, mut buffer, mut answered) = (Vec::new(), [0; 4096], 0);
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        head.extend_from_slice(&buffer[..count]);
        if head.ends_with(b"\r\n\r\n") {
            head.clear();
            answered += 1;
            if stream.write_all(&ok("hello")).is_err() {
                break;
            }
        }
    }
    answered
}
