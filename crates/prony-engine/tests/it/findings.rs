//! The findings that can be provoked at will.

use std::thread;
use std::time::Duration;

use prony_engine::Control;
use prony_model::{BodyCheck, Checks, FindingCode, RunPlan, Severity, Timeouts, Verdict};

use crate::plans::{closed, finding, for_ms, has_finding, impatient, open, plan, requests, run, run_with};
use crate::server::{Peer, Server, ok};

/// Does `bad` instead of answering every `nth` request.
fn bad_every(nth: u64, bad: impl Fn(&mut Peer) + Send + Sync + 'static) -> Server {
    Server::start(move |peer| {
        while let Some(request) = peer.request() {
            if request.number % nth == nth - 1 {
                bad(peer);
            } else {
                peer.answer(&ok("hello"));
            }
        }
    })
}

fn not_found(peer: &mut Peer) {
    peer.answer(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
}

on_both_drivers! {
    fn no_success(driver) {
        let server = bad_every(1, not_found);
        let result = run(driver, RunPlan { end: requests(10), ..plan(server.url()) });
        let found = finding(&result, FindingCode::NoSuccess);
        assert!(found.message.contains("404 Not Found"), "{}", found.message);
        assert!(result.verdict >= Verdict::Doubtful);
        assert!(!has_finding(&result, FindingCode::ErrorShare), "it is the same");
        // One request in a second is due in the warm-up of a run of a fifth of one.
        let server = Server::answering(&ok("hello"));
        let warmup = Duration::from_millis(100);
        let result = run(driver, RunPlan { load: open(1.0, 1), end: for_ms(100), warmup, ..plan(server.url()) });
        assert_eq!((result.requests.intended, result.verdict), (0, Verdict::Invalid));
        assert!(finding(&result, FindingCode::NoSuccess).message.contains("no request was due"));
    }

    fn error_share(driver) {
        let server = bad_every(50, not_found);
        let result = run(driver, RunPlan { end: requests(100), ..plan(server.url()) });
        let found = finding(&result, FindingCode::ErrorShare);
        assert_eq!(found.severity, Severity::Warning);
        assert!(found.message.starts_with("2 % of the requests failed"), "{}", found.message);
        let server = bad_every(100, not_found);
        let result = run(driver, RunPlan { end: requests(100), ..plan(server.url()) });
        assert!(!has_finding(&result, FindingCode::ErrorShare), "1 % is no more than 1 %");
        let server = Server::start(|peer| {
            while let Some(request) = peer.request() {
                if request.number == 0 {
                    peer.answer(&ok("hello"));
                } else {
                    not_found(peer);
                }
            }
        });
        let result = run(driver, RunPlan { end: requests(1000), ..plan(server.url()) });
        let message = &finding(&result, FindingCode::ErrorShare).message;
        assert!(message.starts_with("99.9 % of the requests failed"), "999 of 1,000: {message}");
    }

    fn few_samples(driver) {
        let server = Server::answering(&ok("hello"));
        for (count, expected) in [(39, Some("p50")), (150, Some("p90")), (999, Some("p95")), (1000, None)] {
            let result = run(driver, RunPlan { end: requests(count), ..plan(server.url()) });
            assert_eq!(has_finding(&result, FindingCode::FewSamples), expected.is_some(), "{count}");
            if let Some(quantile) = expected {
                let message = &finding(&result, FindingCode::FewSamples).message;
                assert!(message.ends_with(&format!("up to {quantile}")), "{message}");
            }
        }
    }

    fn closed_loop(driver) {
        let server = Server::answering(&ok("hello"));
        for (connections, expected) in [(1, false), (2, true)] {
            let load = closed(connections);
            let result = run(driver, RunPlan { load, end: requests(100), ..plan(server.url()) });
            assert_eq!(has_finding(&result, FindingCode::ClosedLoop), expected, "{connections}");
        }
        let result = run(driver, RunPlan { load: open(1000.0, 2), end: requests(100), ..plan(server.url()) });
        assert!(!has_finding(&result, FindingCode::ClosedLoop));
    }

    fn not_reused(driver) {
        let server = Server::start(|peer| {
            peer.request();
            peer.answer(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        });
        let result = run(driver, RunPlan { end: requests(20), ..plan(server.url()) });
        let found = finding(&result, FindingCode::NotReused);
        assert!(found.message.contains("0 of 20 requests"), "{}", found.message);
        let mut asked = RunPlan { end: requests(20), ..plan(server.url()) };
        asked.request.keep_alive = false;
        assert!(!has_finding(&run(driver, asked), FindingCode::NotReused), "it was asked for");
    }

    fn latency_near_run_length(driver) {
        let server = Server::start(|peer| {
            while peer.request().is_some() {
                thread::sleep(Duration::from_millis(120));
                peer.answer(&ok("hello"));
            }
        });
        let result = run(driver, RunPlan { load: closed(4), end: for_ms(200), ..plan(server.url()) });
        assert_eq!(finding(&result, FindingCode::LatencyNearRunLength).severity, Severity::Warning);
    }

    fn connections_not_reached(driver) {
        // Two of ten connections come about; the others find the queue full and time out.
        let server = crate::connecting::server_for(2);
        let plan = RunPlan {
            load: closed(10),
            end: for_ms(300),
            timeouts: Timeouts { connect: Duration::from_millis(100), ..impatient(100) },
            ..plan(server.url())
        };
        let result = run(driver, plan);
        let found = finding(&result, FindingCode::ConnectionsNotReached);
        assert_eq!(found.severity, Severity::Invalid, "{}", found.message);
        assert!(result.connections.reached < 5, "{:?}", result.connections);
    }

    fn interrupted(driver) {
        let control = Control::default();
        let stop = control.clone();
        let server = Server::start(move |peer| {
            while let Some(request) = peer.request() {
                if request.number == 10 {
                    stop.stop();
                }
                peer.answer(&ok("hello"));
            }
        });
        let result =
            run_with(driver, RunPlan { end: for_ms(60_000), ..plan(server.url()) }, &control, &mut |_| {});
        assert_eq!(finding(&result, FindingCode::Interrupted).severity, Severity::Note);
    }

    fn rate_not_reached(driver) {
        // Many answers in one piece, so that the server has next to nothing to do.
        let server = Server::start(Peer::answer_in_bulk);
        let mut plan = RunPlan { load: open(5_000_000.0, 1), end: for_ms(200), ..plan(server.url()) };
        plan.request.pipeline = 1024;
        let result = run(driver, plan);
        assert_eq!(result.requests.intended, 1_000_000);
        assert_eq!([result.requests.sent, result.requests.done], [server.requests(); 2]);
        assert!(result.requests.never_sent > 0);
        assert_eq!(result.verdict, Verdict::Invalid, "{:#?}", result.findings);
        finding(&result, FindingCode::RateNotReached);
    }

    fn mixed_lengths(driver) {
        let server = Server::start(|peer| {
            while let Some(request) = peer.request() {
                peer.answer(&ok(if request.number % 10 == 9 { "an error" } else { "hello" }));
            }
        });
        let result = run(driver, RunPlan { end: requests(100), ..plan(server.url()) });
        let found = finding(&result, FindingCode::MixedLengths);
        assert_eq!(found.severity, Severity::Note);
        let words = "10 of 100 good responses had a length that differed from the first: 8 bytes instead of 5";
        assert!(found.message.starts_with(words), "{}", found.message);
        // Anyone who says what is good has asked already.
        let checks = Checks { body: Some(BodyCheck::Regex("hello|error".to_owned())), ..Checks::default() };
        let result = run(driver, RunPlan { checks, end: requests(100), ..plan(server.url()) });
        assert_eq!(result.requests.done, 100);
        assert!(!has_finding(&result, FindingCode::MixedLengths));
        let server = Server::answering(&ok("hello"));
        let result =
            run(driver, RunPlan { load: closed(4), threads: 2, end: requests(100), ..plan(server.url()) });
        assert!(!has_finding(&result, FindingCode::MixedLengths), "{:#?}", result.findings);
    }

    fn connection_per_request(driver) {
        let server = Server::answering(&ok("hello"));
        let mut plan = RunPlan { end: requests(100), ..plan(server.url()) };
        plan.request.keep_alive = false;
        let result = run(driver, plan.clone());
        let latency = &result.latency;
        let large = latency.connect.mean_ms > latency.response.mean_ms.map(|mean| mean * 0.2);
        assert_eq!(has_finding(&result, FindingCode::ConnectionPerRequest), large, "{latency:?}");
        // Connecting to a server that takes its time is next to nothing.
        let slow = Server::start(|peer| {
            peer.request();
            thread::sleep(Duration::from_millis(60));
            peer.answer(&ok("hello"));
        });
        let target = prony_model::Target::parse(slow.url()).expect("a URL");
        let result = run(driver, RunPlan { target, load: closed(2), end: requests(10), ..plan });
        assert!(!has_finding(&result, FindingCode::ConnectionPerRequest), "{:#?}", result.findings);
    }

    fn resets(driver) {
        let server = bad_every(20, Peer::reset);
        let result = run(driver, RunPlan { load: closed(2), end: requests(200), ..plan(server.url()) });
        let found = finding(&result, FindingCode::ErrorShare);
        assert!(found.message.contains("5 % of the requests failed"), "{}", found.message);
        assert!(found.message.contains("reset"), "{}", found.message);
    }

    fn none_where_nothing_is_wrong(driver) {
        let server = Server::answering(&ok("hello"));
        let plan = RunPlan { load: open(500.0, 8), end: requests(100), ..plan(server.url()) };
        let result = run(driver, plan);
        for code in [
            FindingCode::NoSuccess,
            FindingCode::ErrorShare,
            FindingCode::Censored,
            FindingCode::LatencyNearRunLength,
            FindingCode::ConnectionsNotReached,
            FindingCode::NotReused,
            FindingCode::Interrupted,
            FindingCode::Descriptors,
            FindingCode::Ports,
            FindingCode::SendBuffer,
            FindingCode::DelayedAck,
            FindingCode::ConnectionPerRequest,
            FindingCode::MixedLengths,
            FindingCode::ClockSource,
        ] {
            assert!(!has_finding(&result, code), "{:#?}", result.findings);
        }
    }
}
