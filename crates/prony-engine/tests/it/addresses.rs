//! Where connections go to and come from.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};
use std::path::PathBuf;

use prony_engine::RunError;
use prony_model::{DriverChoice, RequestPlan, RunPlan};

use crate::plans::{closed, get, open, plan, refused, requests, run};
use crate::server::{Server, ok, visit};

const SOURCES: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(127, 0, 0, 3)), IpAddr::V4(Ipv4Addr::new(127, 0, 0, 4))];

/// A path that no other test of this or another process has.
fn socket_path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("prony-{}-{name}.socket", std::process::id()))
}

on_both_drivers! {
    fn sources_are_used_in_turn(driver) {
        for (threads, load) in [(1, closed(4)), (2, closed(4)), (1, open(1000.0, 4))] {
            let server = Server::start(|peer| {
                peer.request();
                peer.answer(&ok("hello"));
            });
            let request = RequestPlan { keep_alive: false, ..get() };
            let sources = SOURCES.to_vec();
            let plan =
                RunPlan { request, sources, load, threads, end: requests(20), ..plan(server.url()) };
            let result = run(driver, plan);
            assert_eq!(result.requests.done, 20);
            let of = |source| server.peers().iter().filter(|peer| **peer == source).count();
            assert_eq!([of(SOURCES[0]), of(SOURCES[1])], [10; 2], "{threads} threads");
        }
    }

    fn another_address_of_loopback(driver) {
        let listener = TcpListener::bind("127.0.0.2:0").expect("loopback has free ports");
        let server = Server::on(listener, |peer| while peer.request().is_some() && peer.answer(&ok("")) {});
        let result = run(driver, RunPlan { end: requests(5), ..plan(server.url()) });
        assert_eq!(result.requests.done, 5);
        assert_eq!(result.addresses, [server.address().to_string()]);
    }

    fn ipv6(driver) {
        let Ok(listener) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) else {
            return prony_testing::skip("a run over IPv6", "this machine has no ::1");
        };
        let server = Server::on(listener, |peer| while peer.request().is_some() && peer.answer(&ok("")) {});
        let sources = vec![IpAddr::V6(Ipv6Addr::LOCALHOST)];
        let result = run(driver, RunPlan { sources, end: requests(5), ..plan(server.url()) });
        assert_eq!(result.requests.done, 5);
        assert_eq!(server.peers(), [IpAddr::V6(Ipv6Addr::LOCALHOST)]);
    }

    fn a_name(driver) {
        let server = Server::answering(&ok("hello"));
        let url = format!("http://localhost:{}/", server.address().port());
        let result = run(driver, RunPlan { load: closed(2), end: requests(4), ..plan(&url) });
        assert_eq!(result.requests.done, 4);
        // Where the name stands for ::1, too: nobody listens there.
        assert_eq!(result.addresses, [server.address().to_string()]);
    }

    fn a_unix_socket(driver) {
        let path = socket_path(&format!("{driver:?}"));
        let server = Server::on_unix(&path, |peer| {
            while let Some(request) = peer.request() {
                assert!(request.head.contains("\r\nHost: localhost\r\n"), "{}", request.head);
                peer.answer(&ok("hello"));
            }
        });
        for (load, keep_alive) in [(closed(3), true), (closed(3), false), (open(500.0, 3), true)] {
            let request = RequestPlan { keep_alive, ..get() };
            let mut plan = RunPlan { request, load, end: requests(30), ..plan("http://localhost/") };
            plan.target.unix = Some(path.clone());
            let result = run(driver, plan);
            assert_eq!(result.requests.done, 30, "{:?}", result.errors);
            assert_eq!(result.addresses, [path.display().to_string()]);
        }
        drop(server);
        std::fs::remove_file(&path).expect("the server made it");
    }
}

/// What is refused before any load, by the words that it is refused with.
fn check(plan: RunPlan, is_expected: impl Fn(&RunError) -> bool, words: &str) {
    let error = refused(DriverChoice::Epoll, plan);
    assert!(is_expected(&error), "{error:?}");
    assert!(error.to_string().contains(words), "`{error}` does not say `{words}`");
}

#[test]
fn nobody_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
    let address = listener.local_addr().expect("it is bound").to_string();
    drop(listener);
    check(
        plan(&address),
        |error| matches!(error, RunError::NothingAnswers { address: named, .. } if *named == address),
        "connection refused",
    );
}

#[test]
fn a_name_that_nobody_has() {
    let is_expected = |error: &RunError| matches!(error, RunError::Resolve { .. });
    check(plan("http://nobody.invalid/"), is_expected, "no address for the host `nobody.invalid`");
}

#[test]
fn unix_sockets_that_can_not_be_reached() {
    let mut plan = plan("http://localhost/");
    plan.target.unix = Some(socket_path("missing"));
    let is_expected = |error: &RunError| matches!(error, RunError::NothingAnswers { .. });
    check(plan.clone(), is_expected, "no such file");
    plan.target.unix = Some(PathBuf::from("/".repeat(200)));
    check(plan, |error| matches!(error, RunError::UnixPath { .. }), "too long");
}

#[test]
fn sources_that_can_not_be_used() {
    let server = Server::answering(&ok("hello"));
    // 192.0.2.0/24 is reserved for documentation (RFC 5737): no machine has it.
    let foreign = vec![IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1))];
    let is_expected = |error: &RunError| matches!(error, RunError::Source { .. });
    check(RunPlan { sources: foreign, ..plan(server.url()) }, is_expected, "can't send from 192.0.2.1");
    let other_family = vec![IpAddr::V6(Ipv6Addr::LOCALHOST)];
    let is_expected = |error: &RunError| matches!(error, RunError::SourceFamily { .. });
    check(RunPlan { sources: other_family, ..plan(server.url()) }, is_expected, "name an IPv4 source");
}

#[test]
fn plans_that_make_no_sense() {
    let server = Server::answering(&ok("hello"));
    let plan = || plan(server.url());
    check(RunPlan { load: closed(0), ..plan() }, |error| matches!(error, RunError::Plan(_)), "0 connections");
    let request = RequestPlan { headers: vec![("a b".to_owned(), String::new())], ..get() };
    check(RunPlan { request, ..plan() }, |error| matches!(error, RunError::Request(_)), "can't be sent");
    let mut checked = plan();
    checked.checks.body = Some(prony_model::BodyCheck::Regex("(".to_owned()));
    check(checked, |error| matches!(error, RunError::Check(_)), "can't be made");
    drop(visit(&server));
    assert_eq!(server.requests(), 0, "nothing was sent");
}
