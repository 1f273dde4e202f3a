//! Several requests in flight on one connection.

use prony_model::{ErrorKind, RequestPlan, RunPlan};

use crate::plans::{closed, failures, get, open, plan, post, requests, run};
use crate::server::{Peer, Server, ok};

/// Answers the oldest of `depth` requests only when all of them are there, as long as so many are to come of
/// the `count` on this connection.
fn serve_only_full_pipelines(peer: &mut Peer, depth: u64, count: u64) {
    let (mut read, mut answered) = (0, 0);
    while answered < count {
        while read < count && read - answered < depth {
            if peer.request().is_none() {
                return;
            }
            read += 1;
        }
        peer.answer(&ok("hello"));
        answered += 1;
    }
    peer.hold();
}

on_both_drivers! {
    fn a_closed_loop_keeps_its_pipelines_full(driver) {
        for depth in [1, 4, 16] {
            let server =
                Server::start(move |peer| serve_only_full_pipelines(peer, u64::from(depth), 100));
            let request = RequestPlan { pipeline: depth, ..get() };
            let result = run(driver, RunPlan { request, end: requests(100), ..plan(server.url()) });
            assert_eq!([result.requests.intended, result.requests.done, server.requests()], [100; 3]);
            assert_eq!(result.connections.opened, 1);
            assert_eq!(result.connections.reused, 99);
        }
    }

    fn an_open_loop_uses_the_pipeline_before_it_waits(driver) {
        let server = Server::start(|peer| serve_only_full_pipelines(peer, 4, 40));
        let request = RequestPlan { pipeline: 4, ..get() };
        let load = open(20_000.0, 1);
        let result = run(driver, RunPlan { request, load, end: requests(40), ..plan(server.url()) });
        assert_eq!([result.requests.done, server.requests()], [40; 2]);
        assert_eq!(result.connections.opened, 1);
    }

    fn many_connections_and_threads(driver) {
        for depth in [4, 16] {
            let server = Server::answering(&ok("hello"));
            let request = RequestPlan { pipeline: depth, ..get() };
            let load = closed(5);
            let plan = RunPlan { request, load, threads: 2, end: requests(1001), ..plan(server.url()) };
            let result = run(driver, plan);
            assert_eq!([result.requests.done, server.requests()], [1001; 2]);
        }
    }

    fn large_requests_in_a_pipeline_stay_whole_and_in_order(driver) {
        let sent: Vec<u8> = (0..50_000_u32).flat_map(u32::to_le_bytes).collect();
        let expected = sent.clone();
        let server = Server::start(move |peer| {
            while let Some(request) = peer.request() {
                assert!(request.body == expected, "request {} came broken", request.number);
                peer.answer(&ok("hello"));
            }
        });
        let request = RequestPlan { pipeline: 4, ..post(sent) };
        let load = closed(2);
        let result = run(driver, RunPlan { request, load, end: requests(24), ..plan(server.url()) });
        assert_eq!([result.requests.done, server.requests()], [24; 2]);
    }

    fn answers_that_come_together_belong_to_their_requests_in_order(driver) {
        let server = Server::start(|peer| {
            let mut answers = Vec::new();
            while let Some(request) = peer.request() {
                let status = if request.number % 4 == 3 { "404 Not Found" } else { "200 OK" };
                answers.extend(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").into_bytes());
                if request.number % 4 == 3 {
                    peer.answer(&std::mem::take(&mut answers));
                }
            }
        });
        let request = RequestPlan { pipeline: 4, ..get() };
        let result = run(driver, RunPlan { request, end: requests(40), ..plan(server.url()) });
        assert_eq!([result.requests.answered, result.requests.done, result.requests.failed], [40, 30, 10]);
    }

    fn a_close_in_the_pipeline_fails_what_it_leaves_unanswered(driver) {
        let server = Server::start(|peer| {
            for _ in 0..4 {
                if peer.request().is_none() {
                    return;
                }
            }
            peer.answer(&ok("hello"));
            peer.answer(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        });
        let request = RequestPlan { pipeline: 4, ..get() };
        // The first answer lets one more request go, which the server does not read.
        let result = run(driver, RunPlan { request, end: requests(4), ..plan(server.url()) });
        assert_eq!([result.requests.done, result.requests.failed], [2; 2]);
        assert_eq!(failures(&result, ErrorKind::ClosedEarly).count, 2);
        assert_eq!(result.connections.closed_by_server, 1);
    }
}
