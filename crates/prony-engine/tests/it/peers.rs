//! Defects of other load generators, each under its name: none of them may be ours.

use std::thread;
use std::time::Duration;

use prony_model::{ErrorKind, FindingCode, RunPlan, Timeouts};

use crate::plans::{closed, finding, for_ms, open, plan, requests, run};
use crate::server::{Server, ok};

on_both_drivers! {
    /* The mean was the sum of all requests divided by at most a million of them. Here it is the exact sum over
       the exact count, so that the means of the outcomes make the mean of all. */
    fn hey_166_the_mean_is_exact(driver) {
        let server = Server::start(|peer| {
            while let Some(request) = peer.request() {
                let redirected = request.number % 2 == 1;
                let status = if redirected { "302 Found" } else { "200 OK" };
                peer.answer(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").as_bytes());
            }
        });
        let result = run(driver, RunPlan { load: closed(2), end: requests(2000), ..plan(server.url()) });
        let sum: f64 = result
            .outcomes
            .iter()
            .map(|outcome| outcome.response.mean_ms.unwrap_or_default() * outcome.count as f64)
            .sum();
        assert_eq!(result.outcomes.len(), 2);
        let mean = result.latency.response.mean_ms.unwrap_or_default();
        assert!((mean - sum / 2000.0).abs() <= mean * 1e-9, "{mean} {}", sum / 2000.0);
        let text = &result.histograms.response.data;
        let histogram = prony_stats::Histogram::from_base64_v2(text).expect("a histogram");
        assert_eq!(histogram.count(), 2000);
    }

    /* p50 below the minimum. `check` holds every result to the order; here with so few requests that
       interpolation would show. */
    fn fortio_1080_no_quantile_is_below_the_minimum(driver) {
        for count in 1..=5 {
            let server = Server::answering(&ok("hello"));
            let result = run(driver, RunPlan { end: requests(count), ..plan(server.url()) });
            let response = &result.latency.response;
            assert!(response.quantiles_ms["0.5"] >= response.min_ms, "{response:?}");
            assert!(response.quantiles_ms["0.5"] <= response.max_ms, "{response:?}");
        }
    }

    /* Requests still open at the end were dropped silently. */
    fn wrk_requests_open_at_the_end_are_counted(driver) {
        let server = Server::start(|peer| {
            peer.request();
            peer.hold();
        });
        let timeouts = Timeouts { drain: Duration::from_millis(30), ..Timeouts::default() };
        let plan = RunPlan { load: closed(7), end: for_ms(100), timeouts, ..plan(server.url()) };
        let result = run(driver, plan);
        assert_eq!([result.requests.intended, result.requests.censored, server.requests()], [7; 3]);
    }

    /* Every `Connection: close` was a read error. */
    fn wrk_an_announced_close_is_no_error(driver) {
        let server = Server::start(|peer| {
            peer.request();
            peer.answer(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        });
        let result = run(driver, RunPlan { load: closed(3), end: requests(30), ..plan(server.url()) });
        assert_eq!([result.requests.done, result.connections.closed_by_server], [30; 2]);
        assert!(result.errors.is_empty());
    }

    /* wrk2#138, #117, #147: impossible rates and NaN on short runs. */
    fn wrk2_short_runs_have_sound_numbers(driver) {
        let server = Server::answering(&ok("hello"));
        for load in [closed(1), open(1000.0, 1)] {
            let result = run(driver, RunPlan { load, end: for_ms(1), ..plan(server.url()) });
            let rate = &result.rate;
            let all = [rate.sent_per_s, rate.answered_per_s, rate.done_per_s];
            assert!(all.iter().all(|rate| rate.is_finite() && *rate >= 0.0), "{rate:?}");
            let most = result.requests.done as f64 / result.timing.measured_s;
            assert!(rate.done_per_s <= most + 1e-9, "{rate:?} {most}");
        }
    }

    /* autocannon#481: all zeros while 56,000 requests failed. */
    fn autocannon_481_failures_alone_are_no_zeros(driver) {
        let server = Server::start(|peer| {
            peer.request();
        });
        let result = run(driver, RunPlan { load: closed(2), end: requests(50), ..plan(server.url()) });
        assert_eq!([result.requests.intended, result.requests.failed], [50; 2]);
        assert_eq!(result.errors[0].kind, ErrorKind::ClosedEarly);
        assert_eq!(result.outcomes[0].response.count, 50);
        finding(&result, FindingCode::NoSuccess);
    }

    /* autocannon#127: the latency of anything but 2xx was NaN. */
    fn autocannon_127_each_outcome_has_its_latency(driver) {
        let server = Server::start(|peer| {
            while let Some(request) = peer.request() {
                let slow = request.number % 5 == 4;
                if slow {
                    thread::sleep(Duration::from_millis(20));
                }
                let status = if slow { "503 Service Unavailable" } else { "200 OK" };
                peer.answer(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").as_bytes());
            }
        });
        let result = run(driver, RunPlan { end: requests(50), ..plan(server.url()) });
        let of = |name: &str| result.outcomes.iter().find(|outcome| outcome.outcome == name).expect(name);
        assert_eq!([of("2xx").count, of("unexpected-5xx").count], [40, 10]);
        assert!(of("unexpected-5xx").response.min_ms >= Some(20.0));
        assert!(of("2xx").response.quantiles_ms["0.5"] < of("unexpected-5xx").response.quantiles_ms["0.5"]);
        // The good ones' latency is not that of the errors.
        assert_eq!(result.latency.response.max_ms, of("2xx").response.max_ms);
    }

    /* hey#140: the rate was per worker. */
    fn hey_140_the_rate_is_the_total(driver) {
        for (threads, connections) in [(1, 1), (3, 30)] {
            let server = Server::answering(&ok("hello"));
            let load = open(400.0, connections);
            let plan = RunPlan { load, threads, end: for_ms(250), ..plan(server.url()) };
            assert_eq!(run(driver, plan).requests.intended, 100);
        }
    }

    /* Bytes that nobody asked for: taken as the next answer, they would shift every later one. */
    fn bytes_on_an_idle_connection_are_no_answer(driver) {
        let server = Server::start(|peer| {
            while peer.request().is_some() {
                peer.answer(&ok("hello"));
                thread::sleep(Duration::from_millis(50));
                peer.answer(b"HTTP/1.1 500 Surprise\r\nContent-Length: 0\r\n\r\n");
            }
        });
        // 150 ms between the surprise and the next request.
        let plan = RunPlan { load: open(5.0, 1), end: requests(4), ..plan(server.url()) };
        let result = run(driver, plan);
        assert_eq!([result.requests.done, result.requests.failed], [4, 0], "{:?}", result.errors);
        assert_eq!(result.connections.opened, 4, "a connection that spoke unasked is not used again");
        assert!(result.connections.closed_by_server >= 3);
    }
}
