//! Every request that a server saw is somewhere in the result.

use std::time::Duration;

use prony_model::{RunPlan, Timeouts, TrafficPart};

use crate::plans::{closed, for_ms, open, plan, requests, run};
use crate::server::{Server, ok};

on_both_drivers! {
    fn warm_up_and_measured_part_make_the_servers_log(driver) {
        for load in [closed(3), open(500.0, 20)] {
            let server = Server::answering(&ok("hello"));
            let warmup = Duration::from_millis(400);
            let result = run(driver, RunPlan { load, end: for_ms(150), warmup, ..plan(server.url()) });
            let traffic = result.traffic.expect("this version counts");
            assert_eq!(traffic.sent(), server.requests(), "{traffic:?}");
            assert_eq!(traffic.measured.sent, result.requests.sent, "{traffic:?}");
            assert_eq!(traffic.measured.answered, result.requests.answered, "{traffic:?}");
            assert_eq!(traffic.warmup.sent, traffic.warmup.answered, "{traffic:?}");
            assert!(traffic.warmup.sent > 0);
            assert_eq!(traffic.preflight_connections, 1);
        }
    }

    fn answers_of_the_drain_are_named(driver) {
        let server = Server::start(|peer| {
            while peer.request().is_some() {
                std::thread::sleep(Duration::from_millis(800));
                peer.answer(&ok("late"));
            }
        });
        let result = run(driver, RunPlan { load: closed(4), end: for_ms(300), ..plan(server.url()) });
        let traffic = result.traffic.expect("this version counts");
        assert_eq!(traffic.measured, TrafficPart { sent: 4, answered: 4, answered_in_drain: 4 });
        assert_eq!(result.requests.done, 4);
        assert!(result.rate.done_per_s.abs() < f64::EPSILON, "none of them is part of a rate: {:?}", result.rate);
    }

    fn requests_without_an_answer_are_in_the_servers_log(driver) {
        let server = Server::start(|peer| {
            peer.request();
            peer.hold();
        });
        let timeouts = Timeouts { drain: Duration::from_millis(30), ..Timeouts::default() };
        let result = run(driver, RunPlan { load: closed(5), end: for_ms(100), timeouts, ..plan(server.url()) });
        let traffic = result.traffic.expect("this version counts");
        assert_eq!(traffic.measured, TrafficPart { sent: 5, answered: 0, answered_in_drain: 0 });
        assert_eq!([traffic.sent(), result.requests.censored], [server.requests(); 2]);
    }

    fn each_connection_of_one_request_is_counted(driver) {
        let server = Server::answering(&ok("hello"));
        let mut plan = RunPlan { load: closed(1), end: requests(5), ..plan(server.url()) };
        plan.request.keep_alive = false;
        let result = run(driver, plan);
        let traffic = result.traffic.expect("this version counts");
        assert_eq!([traffic.sent(), result.connections.opened], [server.requests(); 2]);
    }
}
