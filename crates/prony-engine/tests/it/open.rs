//! Open loops: what is due follows from rate, time and seed alone.

use std::time::Duration;

use prony_model::{Load, RunPlan};

use crate::plans::{for_ms, open, plan, poisson, requests, run};
use crate::server::{Server, ok};

on_both_drivers! {
    fn by_duration_rate_times_time_is_due(driver) {
        for threads in 1..=3 {
            let server = Server::answering(&ok("hello"));
            let plan = RunPlan { load: open(500.0, 8), threads, end: for_ms(300), ..plan(server.url()) };
            let result = run(driver, plan);
            assert_eq!(result.requests.intended, 150, "{threads} threads");
            assert_eq!(result.requests.sent, server.requests());
            assert_eq!(result.requests.done, server.requests());
            assert_eq!(result.rate.asked_per_s, Some(500.0));
        }
    }

    fn by_count_exactly_so_many_are_sent(driver) {
        for threads in 1..=3 {
            for load in [open(2000.0, 8), poisson(2000.0, 8)] {
                let server = Server::answering(&ok("hello"));
                let plan = RunPlan { load, threads, end: requests(100), ..plan(server.url()) };
                let result = run(driver, plan);
                assert_eq!(server.requests(), 100);
                assert_eq!([result.requests.intended, result.requests.done], [100; 2]);
            }
        }
    }

    fn the_warm_up_is_on_top_of_the_count(driver) {
        let server = Server::answering(&ok("hello"));
        let warmup = Duration::from_millis(50);
        let plan =
            RunPlan { load: open(1000.0, 8), threads: 3, end: requests(100), warmup, ..plan(server.url()) };
        let result = run(driver, plan);
        assert_eq!([result.requests.intended, result.requests.done], [100; 2]);
        assert_eq!(server.requests(), 150);
    }

    fn the_seed_decides_over_random_arrivals(driver) {
        let due = |load: Load, seed: u64| {
            let server = Server::answering(&ok("hello"));
            let plan = RunPlan { load, threads: 2, end: for_ms(200), seed, ..plan(server.url()) };
            run(driver, plan).requests.intended
        };
        let counts = [due(poisson(500.0, 8), 1), due(poisson(500.0, 8), 1), due(poisson(500.0, 8), 2)];
        assert_eq!(counts[0], counts[1]);
        assert_ne!(counts[0], counts[2], "these two seeds differ");
        // 100 expected, standard deviation 10.
        assert!(counts.iter().all(|count| (50..150).contains(count)), "{counts:?}");
    }

    fn connections_are_opened_as_they_are_needed(driver) {
        let server = Server::answering(&ok("hello"));
        // So far apart that each request finds the connection of the one before.
        let plan = RunPlan { load: open(20.0, 50), end: requests(6), ..plan(server.url()) };
        let result = run(driver, plan);
        assert_eq!(result.requests.done, 6);
        assert!(result.connections.opened < 6, "{:?}", result.connections);
        assert_eq!(result.connections.opened, server.used_connections());
    }
}
