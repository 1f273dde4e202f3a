//! `queue`: what becomes of requests beyond its capacity, by its own counters and log.

use std::time::Duration;

use prony_targets::StartError;
use prony_targets::queue::{Config, start};

use crate::client::Client;

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
/// Longer than a test takes on any machine.
const NEVER: Duration = Duration::from_secs(50);

#[test]
fn requests_are_served_in_turn_and_logged() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("queue.csv");
    let service = Duration::from_millis(5);
    let server = start(Config { workers: 2, service, log: Some(log.clone()), ..Config::default() }).unwrap();
    let address = server.local_addr();
    crate::client::many(address, 4, 5, |_, client| {
        assert_eq!(client.send(GET).reply().text(), "done\n");
    });
    let counts = server.stop().counts;
    assert_eq!((counts.requests, counts.refused, counts.in_vain, counts.in_flight), (20, 0, 0, 0));
    let text = std::fs::read_to_string(&log).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("arrived_ns,began_ns,ended_ns,outcome"));
    let lines: Vec<&str> = lines.collect();
    assert_eq!(lines.len(), 20);
    let mut spans = Vec::new();
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let [arrived, began, ended] = [0, 1, 2].map(|field| fields[field].parse::<u64>().unwrap());
        assert!(arrived <= began && ended - began == 5_000_000 && fields[3] == "served", "{line}");
        spans.push((began, ended));
    }
    // Two at a time, never three, by the log alone.
    let at_once = |moment| spans.iter().filter(|(began, ended)| (*began..*ended).contains(&moment)).count();
    assert!(spans.iter().all(|(began, _)| at_once(*began) <= 2));
}

#[test]
fn a_full_queue_refuses_at_once_and_keeps_the_connection() {
    let server = start(Config { service: NEVER, limit: Some(1), ..Config::default() }).unwrap();
    let address = server.local_addr();
    let mut held = Vec::new();
    // One is served and one waits. The second is refused, too, until the worker has taken the first.
    while server.counters().in_flight < 2 {
        let before = server.counters();
        let mut client = Client::connect(address);
        client.send(GET);
        while server.counters().in_flight + server.counters().refused == before.in_flight + before.refused {
            std::thread::yield_now();
        }
        held.push(client);
    }
    let before = server.counters().refused;
    let mut client = Client::connect(address);
    for _ in 0..2 {
        assert_eq!(client.send(GET).reply().status, 503);
    }
    let report = server.stop_within(Duration::ZERO);
    assert_eq!((report.counts.refused - before, report.abandoned), (2, 2));
}

#[test]
fn requests_whose_client_left_are_served_in_vain() {
    let server = start(Config { service: Duration::from_millis(30), ..Config::default() }).unwrap();
    let address = server.local_addr();
    for asked in 1..=3 {
        let mut client = Client::connect(address);
        client.send(GET);
        while server.counters().in_flight + server.counters().in_vain < asked {
            std::thread::yield_now();
        }
    }
    while server.counters().in_vain < 3 {
        std::thread::yield_now();
    }
    let counts = server.stop().counts;
    assert_eq!((counts.requests, counts.in_vain, counts.broken), (0, 3, 3));
}

#[test]
fn who_waited_too_long_gets_a_503() {
    let shed_after = Some(Duration::from_millis(1));
    let service = Duration::from_millis(200);
    let server = start(Config { service, shed_after, ..Config::default() }).unwrap();
    let mut clients: Vec<Client> = (0..4).map(|_| Client::connect(server.local_addr())).collect();
    for client in &mut clients {
        client.send(GET);
    }
    let statuses: Vec<u16> = clients.iter_mut().map(|client| client.reply().status).collect();
    let served = statuses.iter().filter(|status| **status == 200).count();
    let shed = statuses.iter().filter(|status| **status == 503).count();
    assert_eq!(served + shed, 4, "{statuses:?}");
    assert!(served >= 1, "{statuses:?}");
    assert_eq!(server.stop().counts.refused, shed as u64);
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    for service in [Duration::ZERO, Duration::from_secs(61)] {
        let error = start(Config { service, ..Config::default() }).unwrap_err();
        assert!(matches!(error, StartError::Setting { setting: "service", .. }), "{error}");
    }
    let error = start(Config { workers: 0, ..Config::default() }).unwrap_err();
    assert!(matches!(error, StartError::Setting { setting: "workers", .. }), "{error}");
    let log = Some("/nonexistent/queue.csv".into());
    let error = start(Config { log, ..Config::default() }).unwrap_err();
    assert!(matches!(error, StartError::Log { .. }), "{error}");
}
