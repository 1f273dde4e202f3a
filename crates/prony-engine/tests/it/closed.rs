//! Closed loops: by count and by duration, with and without a warm-up.

use std::time::Duration;

use prony_model::RunPlan;

use crate::plans::{closed, for_ms, plan, requests, run};
use crate::server::{Server, ok};

on_both_drivers! {
    fn by_count_exactly_so_many_requests_arrive(driver) {
        for (connections, threads, count) in
            [(1, 1, 1), (1, 1, 10), (3, 1, 100), (3, 2, 101), (3, 3, 100), (50, 1, 50), (50, 3, 997)]
        {
            let server = Server::answering(&ok("hello"));
            let plan = RunPlan {
                load: closed(connections),
                threads,
                end: requests(count),
                ..plan(server.url())
            };
            let result = run(driver, plan);
            let counts = &result.requests;
            assert_eq!(server.requests(), count);
            assert_eq!([counts.intended, counts.sent, counts.answered, counts.done], [count; 4]);
            assert_eq!([counts.failed, counts.censored, counts.never_sent], [0; 3]);
            assert_eq!(server.used_connections(), u64::from(connections));
            let connected = &result.connections;
            let all = [connected.asked, connected.reached, connected.attempted, connected.opened];
            assert_eq!(all, [u64::from(connections); 4]);
            assert_eq!(connected.reused, count - u64::from(connections));
            assert_eq!(connected.closed_by_server, 0);
            assert_eq!(result.bytes.received, count * ok("hello").len() as u64);
            assert_eq!(result.bytes.body_received, count * 5);
            assert_eq!(result.client.threads.len(), threads as usize);
            // The rate is the exact count per the measured time.
            let product = result.rate.done_per_s * result.timing.measured_s;
            assert!((product - count as f64).abs() < 1e-6, "{:?}", result.rate);
            assert_eq!(result.series.iter().map(|point| point.done).sum::<u64>(), count);
        }
    }

    fn by_duration_every_request_that_arrived_is_in_the_result(driver) {
        for threads in 1..=3 {
            let server = Server::answering(&ok("hello"));
            let plan = RunPlan { load: closed(6), threads, end: for_ms(200), ..plan(server.url()) };
            let result = run(driver, plan);
            assert_eq!(result.requests.intended, server.requests());
            assert_eq!(result.requests.done, server.requests());
            assert!((result.timing.measured_s - 0.2).abs() < 1e-9, "{:?}", result.timing);
        }
    }

    fn the_warm_up_is_load_but_not_counted(driver) {
        let server = Server::answering(&ok("hello"));
        let warmup = Duration::from_millis(100);
        let plan =
            RunPlan { load: closed(3), threads: 2, end: requests(100), warmup, ..plan(server.url()) };
        let result = run(driver, plan);
        assert_eq!([result.requests.intended, result.requests.done], [100; 2]);
        assert_eq!(result.connections.reused, server.requests() - 3);
        assert!(server.requests() > 100, "{}", server.requests());
        assert!((result.timing.warmup_s - 0.1).abs() < 1e-9, "{:?}", result.timing);
    }
}
