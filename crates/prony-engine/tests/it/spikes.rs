//! Findings of the kernel's own waits, and of requests that don't leave.

use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use prony_engine::Control;
use prony_model::{FindingCode, RequestPlan, RunEvent, RunPlan, RunResult, Severity};

use crate::connecting::listener;
use crate::plans::{closed, finding, for_ms, has_finding, plan, post, requests, run, run_with};
use crate::server::{Peer, Server, ok};

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";

/// Writes one answer of two in two pieces, without TCP_NODELAY; `head_first` says which.
fn in_two_pieces(head_first: impl Fn(u64) -> bool + Send + Sync + 'static) -> Server {
    Server::start(move |peer| {
        peer.delay_small_pieces();
        while let Some(request) = peer.request() {
            if head_first(request.number) {
                peer.answer(HEAD);
                peer.answer(b"hello");
            } else {
                peer.answer(&ok("hello"));
            }
        }
    })
}

/// The evidence called `name` of the finding `code`.
fn evidence(result: &RunResult, code: FindingCode, name: &str) -> f64 {
    let found = finding(result, code);
    let evidence = found.evidence.iter().find(|evidence| evidence.name == name);
    evidence.unwrap_or_else(|| panic!("no {name} in {found:?}")).value
}

/// Whether one response in ten, or more, took the time of a delayed acknowledgement.
fn waited(result: &RunResult) -> bool {
    result.latency.service.quantiles_ms["0.9"] >= Some(38.0)
}

/// Whether the machine had time to answer when the wait was over: on a busy one the responses are spread over
/// many milliseconds, and are no mode any more.
fn kept_time(result: &RunResult) -> bool {
    let p95 = result.latency.service.quantiles_ms["0.95"];
    let kept = p95.is_some_and(|p95| p95 < 44.5);
    if !kept {
        prony_testing::skip("spikes::delayed_ack", &format!("the machine is too busy: a p95 of {p95:?} ms"));
    }
    kept
}

on_both_drivers! {
    fn delayed_ack(driver) {
        let server = in_two_pieces(|number| number % 2 == 0);
        let result = run(driver, RunPlan { load: closed(4), end: requests(400), ..plan(server.url()) });
        assert!(waited(&result));
        if kept_time(&result) {
            let found = finding(&result, FindingCode::DelayedAck);
            assert_eq!(found.severity, Severity::Warning, "{}", found.message);
            assert!(found.advice.contains("TCP_NODELAY"), "{}", found.advice);
        }
        // In one piece nothing waits.
        let server = in_two_pieces(|_| false);
        let result = run(driver, RunPlan { load: closed(4), end: requests(400), ..plan(server.url()) });
        assert!(!waited(&result) && !has_finding(&result, FindingCode::DelayedAck), "{:#?}", result.findings);
    }

    fn delayed_acks_only(driver) {
        let server = in_two_pieces(|_| true);
        let result = run(driver, RunPlan { load: closed(4), end: requests(200), ..plan(server.url()) });
        assert!(waited(&result));
        if kept_time(&result) {
            // The first bytes give it away: a slow server sends none before.
            let found = finding(&result, FindingCode::DelayedAck);
            assert_eq!(found.severity, Severity::Warning, "{}", found.message);
            assert!(found.message.contains("the first byte came after"), "{}", found.message);
        }
    }

    fn a_server_that_takes_40_ms_may_be_one_that_waits(driver) {
        let server = Server::start(|peer| {
            while peer.request().is_some() {
                thread::sleep(Duration::from_millis(40));
                peer.answer(&ok("hello"));
            }
        });
        let result = run(driver, RunPlan { load: closed(4), end: requests(200), ..plan(server.url()) });
        assert!(waited(&result));
        if kept_time(&result) {
            let found = finding(&result, FindingCode::DelayedAck);
            assert_eq!(found.severity, Severity::Note, "{}", found.message);
            assert!(found.message.contains("check TCP_NODELAY"), "{}", found.message);
        }
    }

    fn a_full_listen_queue(driver) {
        // The engine's check whether anybody is there takes the one place, so that the kernel drops each request
        // for a connection until somebody accepts; it asks again after a second.
        let listener = listener(0);
        let url = format!("http://{}/", listener.local_addr().expect("it is bound"));
        let (begin, begun) = sync_channel(1);
        let server = thread::spawn(move || {
            begun.recv().expect("the run reports how far it is");
            Server::on(listener, |peer: &mut Peer| while peer.request().is_some() && peer.answer(&ok("hello")) {})
        });
        let mut started = false;
        let plan = RunPlan { load: closed(4), end: requests(100), ..plan(&url) };
        let result = run_with(driver, plan, &Control::default(), &mut |event| {
            let late = matches!(&event, RunEvent::Progress(progress) if progress.elapsed > Duration::from_millis(100));
            if late && !std::mem::replace(&mut started, true) {
                begin.send(()).expect("the server waits");
            }
        });
        drop(server.join().expect("no panic"));
        assert_eq!(result.requests.done, 100);
        assert!(result.latency.connect.max_ms >= Some(900.0), "{:?}", result.latency.connect);
        assert_eq!(finding(&result, FindingCode::ListenQueue).severity, Severity::Warning);
        assert!(evidence(&result, FindingCode::ListenQueue, "overflows") >= 4.0);
        assert_eq!(finding(&result, FindingCode::SynRetransmission).severity, Severity::Warning);
        assert!(evidence(&result, FindingCode::SynRetransmission, "syn_retransmitted") >= 4.0);
    }

    fn connections_that_never_open(driver) {
        // Nobody accepts: no connect time says anything, but the kernel counts what it sent again.
        let listener = listener(0);
        let url = format!("http://{}/", listener.local_addr().expect("it is bound"));
        let result = run(driver, RunPlan { load: closed(3), end: for_ms(1500), ..plan(&url) });
        assert_eq!(result.connections.opened, 0);
        let found = finding(&result, FindingCode::SynRetransmission);
        assert!(found.message.contains("3 connection requests had no answer"), "{}", found.message);
        finding(&result, FindingCode::ListenQueue);
    }

    fn send_buffer(driver) {
        // A server that lets a body of 4 MiB lie for a while before it reads it: more than any window.
        let server = Server::start(|peer| loop {
            thread::sleep(Duration::from_millis(400));
            if peer.request().is_none() || !peer.answer(&ok("hello")) {
                return;
            }
        });
        let request: RequestPlan = post(vec![b'x'; 4 << 20]);
        let result = run(driver, RunPlan { request, load: closed(2), end: for_ms(1500), ..plan(server.url()) });
        let found = finding(&result, FindingCode::SendBuffer);
        assert_eq!(found.severity, Severity::Warning);
        assert!(evidence(&result, FindingCode::SendBuffer, "unsent_max") > 0.0, "{}", found.message);
        // Small requests don't wait.
        let server = Server::answering(&ok("hello"));
        let result = run(driver, RunPlan { load: closed(2), end: for_ms(1000), ..plan(server.url()) });
        assert!(!has_finding(&result, FindingCode::SendBuffer), "{:#?}", result.findings);
    }
}
