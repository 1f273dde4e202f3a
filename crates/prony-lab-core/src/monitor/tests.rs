//! Checks of servers that are there, wrong, slow and gone, on both databases.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

use super::*;
use prony_lab_model::clock::Moment;
use prony_lab_model::{AlertState, MonitorRequest};
use prony_lab_store::alerts;
use prony_lab_store::fixture::on_both;

/// A server that answers every request with the status in the atomic; 0 is not at all. Ends with the test process.
fn server() -> (SocketAddr, Arc<AtomicU16>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (address, status) = (listener.local_addr().expect("an address"), Arc::new(AtomicU16::new(200)));
    let current = Arc::clone(&status);
    std::thread::spawn(move || {
        let mut unanswered = Vec::new();
        for mut stream in listener.incoming().flatten() {
            match current.load(Ordering::Relaxed) {
                0 => unanswered.push(stream),
                status => {
                    let _ = stream.read(&mut [0; 1024]);
                    let _ = write!(
                        stream,
                        "HTTP/1.1 {status} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                    );
                }
            }
        }
    });
    (address, status)
}

fn added(store: &Store, url: &str, timeout: &str) -> Monitor {
    let request = MonitorRequest {
        name: "home".to_owned(),
        url: url.to_owned(),
        timeout: timeout.to_owned(),
        fail_after: "2".to_owned(),
        ..MonitorRequest::default()
    };
    let new = request.checked("kim", Moment(1)).expect("good");
    store.write_blocking(move |tx| monitors::add(tx, &new)).expect("added");
    store.read_blocking(|tx| monitors::by_name(tx, "home")).expect("read").expect("there")
}

/// Turns until there are `count` checks.
fn checks_after(
    store: &Store,
    monitor: &Monitor,
    schedule: &mut Schedule,
    now: Duration,
    count: usize,
) -> Vec<Check> {
    for _ in 0..500 {
        schedule.turn(now).expect("turned");
        let id = monitor.id;
        let checks = store.read_blocking(|tx| monitors::checks(tx, id, Moment(0), 100)).expect("read");
        let is_idle = schedule.running.lock().expect("fine").is_empty();
        if checks.len() >= count && is_idle {
            return checks;
        }
        std::thread::park_timeout(Duration::from_millis(20));
    }
    panic!("no {count} checks in time");
}

fn states(store: &Store) -> Vec<AlertState> {
    let all = store.read_blocking(|tx| alerts::list(tx, None, None, 10)).expect("read");
    all.iter().map(|alert| alert.state).collect()
}

#[test]
fn failures_in_a_row_alert_and_recovery_closes() {
    let (address, status) = server();
    on_both(|store| {
        status.store(200, Ordering::Relaxed);
        let monitor = added(store, &format!("http://{address}/"), "5s");
        let mut schedule = Schedule::new(store.clone());
        let at = |round: u64| Duration::from_secs(1000 + 61 * round);
        let checks = checks_after(store, &monitor, &mut schedule, at(0), 1);
        assert_eq!((checks[0].is_good, checks[0].status), (true, Some(200)));
        assert!(checks[0].latency_us.is_some_and(|latency| latency < 5_000_000), "{checks:?}");
        // Not due yet.
        assert_eq!(checks_after(store, &monitor, &mut schedule, at(0) + Duration::from_secs(59), 1).len(), 1);
        status.store(503, Ordering::Relaxed);
        checks_after(store, &monitor, &mut schedule, at(1), 2);
        assert_eq!(states(store), []);
        let checks = checks_after(store, &monitor, &mut schedule, at(2), 3);
        assert_eq!((checks[2].is_good, checks[2].status), (false, Some(503)));
        assert_eq!(states(store), [AlertState::Active]);
        checks_after(store, &monitor, &mut schedule, at(3), 4);
        assert_eq!(states(store), [AlertState::Active]);
        status.store(200, Ordering::Relaxed);
        checks_after(store, &monitor, &mut schedule, at(4), 5);
        assert_eq!(states(store), [AlertState::Closed]);
    });
}

#[test]
fn silence_refusal_and_forbidden_addresses_have_different_errors() {
    let (address, status) = server();
    status.store(0, Ordering::Relaxed);
    let closed = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    on_both(|store| {
        for (url, timeout, expected) in [
            (format!("http://{address}/"), "200ms", "in time"),
            (format!("http://{closed}/"), "5s", "refused"),
            ("http://169.254.169.254/latest".to_owned(), "5s", "metadata"),
            ("http://198.51.100.7/".to_owned(), "5s", "public"),
        ] {
            let monitor = added(store, &url, timeout);
            let check = check_once(store, &monitor).expect("checked");
            let error = check.error.clone().unwrap_or_default();
            assert!(!check.is_good && error.contains(expected), "{url}: {check:?}");
            store.write_blocking(move |tx| monitors::remove(tx, monitor.id, Moment(2))).expect("removed");
        }
    });
}

#[test]
fn a_removed_monitor_is_left_alone() {
    on_both(|store| {
        let monitor = added(store, "http://127.0.0.1:1/", "1s");
        let bad = |at| Check { at: Moment(at), is_good: false, status: None, latency_us: None, error: None };
        let (of, id) = (monitor.clone(), monitor.id);
        store
            .write_blocking(move |tx| (1..=4).try_for_each(|at| monitors::record(tx, &of, &bad(at))))
            .expect("recorded");
        assert_eq!(states(store), [AlertState::Active]);
        assert_eq!(store.read_blocking(|tx| monitors::checks(tx, id, Moment(0), 10)).expect("read").len(), 4);
        store.write_blocking(move |tx| monitors::remove(tx, id, Moment(9))).expect("removed");
        assert_eq!(states(store), [AlertState::Closed]);
        // A check that was under way comes too late.
        store.write_blocking(move |tx| monitors::record(tx, &monitor, &bad(10))).expect("recorded");
        assert_eq!(store.read_blocking(|tx| monitors::checks(tx, id, Moment(0), 10)).expect("read").len(), 4);
        assert!(store.write_blocking(move |tx| monitors::remove(tx, id, Moment(9))).is_err());
        // The name is free again.
        added(store, "http://127.0.0.1:1/", "1s");
    });
}

#[test]
fn an_authority_that_the_policy_does_not_have_fails_the_check_with_words() {
    on_both(|store| {
        let request = MonitorRequest {
            name: "home".to_owned(),
            url: "https://127.0.0.1:9/".to_owned(),
            cacert: "inner".to_owned(),
            ..MonitorRequest::default()
        };
        let new = request.checked("kim", Moment(1)).expect("good");
        store.write_blocking(move |tx| monitors::add(tx, &new)).expect("added");
        let monitor = store.read_blocking(|tx| monitors::by_name(tx, "home")).expect("read").expect("there");
        assert_eq!(monitor.tls.cacert.as_deref(), Some("inner"));
        let check = check_once(store, &monitor).expect("checked");
        let error = check.error.expect("nothing can be trusted");
        assert!(error.starts_with("the target policy has no authority `inner` (it has none)"), "{error}");
    });
}
