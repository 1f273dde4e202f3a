//! A worker: one request after the other, each for its service time.

use std::sync::Arc;
use std::time::Duration;

use super::Config;
use super::line::{Ended, Line, Waiting};
use crate::counters::{Counters, count};
use crate::service::{Mailbox, Note};
use crate::stop::Stop;
use crate::truth::{Delay, draw};

/// The state of its thread.
#[derive(Debug)]
pub(super) struct ServiceThread {
    pub(super) line: Arc<Line>,
    pub(super) mailbox: Arc<Mailbox<Ended>>,
    pub(super) counters: Arc<Counters>,
    pub(super) stop: Arc<Stop>,
    pub(super) config: Arc<Config>,
}

impl ServiceThread {
    /// Serves until the line is closed.
    pub(super) fn run(self) {
        let mut free_ns = 0;
        while let Some(request) = self.line.next() {
            let served = turn(&self.config, &request, free_ns);
            free_ns = served.ended_ns;
            if !self.stop.sleep_until(served.ended_ns) {
                break;
            }
            if served.ended == Ended::Shed {
                count(&self.counters.refused);
            }
            self.line.note(&request, served.began_ns, served.ended_ns, served.ended);
            self.mailbox.post(request.from, Note::Outcome(served.ended));
        }
        self.line.write_log();
    }
}

/// When a request is served.
#[derive(Debug, PartialEq, Eq)]
struct Served {
    began_ns: u64,
    ended_ns: u64,
    ended: Ended,
}

/// Serves a request from when it came or the worker became free, whichever is later (Lindley's recursion): how late the worker
/// is by the clock makes no difference, so that its capacity is exact.
fn turn(config: &Config, request: &Waiting, free_ns: u64) -> Served {
    let began_ns = free_ns.max(request.arrived_ns);
    let waited = Duration::from_nanos(began_ns - request.arrived_ns);
    if config.shed_after.is_some_and(|most| waited > most) {
        return Served { began_ns, ended_ns: began_ns, ended: Ended::Shed };
    }
    let delay = if config.exponential {
        Delay::Exponential { mean: config.service }
    } else {
        Delay::Const(config.service)
    };
    let service = draw(config.seed, request.number, delay, 0.0, 0.0).service;
    let service_ns = u64::try_from(service.as_nanos()).unwrap_or(u64::MAX);
    Served { began_ns, ended_ns: began_ns.saturating_add(service_ns), ended: Ended::Served }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Ticket;

    const MS: u64 = 1_000_000;

    fn request(number: u64, arrived_ns: u64) -> Waiting {
        Waiting { number, from: Ticket::default(), arrived_ns }
    }

    /// Requests every millisecond at one worker of 10 ms: when each began and ended, and how.
    fn check(config: &Config, count: u64) -> Vec<Served> {
        let mut free_ns = 0;
        let arrivals = (0..count).map(|number| request(number, number * MS));
        let serve = |request: Waiting| {
            let served = turn(config, &request, free_ns);
            free_ns = served.ended_ns;
            served
        };
        arrivals.map(serve).collect()
    }

    #[test]
    fn a_busy_worker_serves_one_after_the_other_without_a_gap() {
        let served = check(&Config::default(), 100);
        let ends: Vec<u64> = served.iter().map(|served| served.ended_ns).collect();
        assert_eq!(ends, (1..=100).map(|number| number * 10 * MS).collect::<Vec<_>>());
    }

    #[test]
    fn an_idle_worker_begins_at_the_arrival() {
        let served = turn(&Config::default(), &request(0, 7 * MS), 3 * MS);
        assert_eq!((served.began_ns, served.ended_ns, served.ended), (7 * MS, 17 * MS, Ended::Served));
    }

    #[test]
    fn who_waited_too_long_takes_no_service_time() {
        let config = Config { shed_after: Some(Duration::from_millis(20)), ..Config::default() };
        let served = check(&config, 1_000);
        let good = served.iter().filter(|served| served.ended == Ended::Served);
        // 1,000 requests in a second, 100 of which one worker can serve, and 20 ms of queue behind it.
        assert_eq!(good.count(), 102);
        let shed = served.iter().filter(|served| served.ended == Ended::Shed);
        assert!(shed.clone().all(|shed| shed.began_ns == shed.ended_ns));
    }

    #[test]
    fn exponential_times_have_their_mean_and_follow_from_the_seed() {
        let config = Config { exponential: true, ..Config::default() };
        let last = |config: &Config| check(config, 20_000).last().unwrap().ended_ns;
        let mean_ms = last(&config) as f64 / MS as f64 / 20_000.0;
        // The standard error is 10 ms / √20,000 = 0.07 ms.
        assert!((mean_ms - 10.0).abs() < 0.3, "{mean_ms}");
        assert_eq!(last(&config), last(&config));
        assert_ne!(last(&config), last(&Config { seed: 2, ..config }));
    }
}
