//! Whole runs: report, JSON, Markdown, exit codes, Ctrl-C.

use std::process::Stdio;

use crate::binary::{command, prony, said};
use crate::server::Server;

/// A test that waits longer than this has failed.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

#[test]
fn a_good_run() {
    let server = Server::good();
    let said = prony(&[&server.url, "-n", "2k", "-c", "4"]);
    assert!(said.is_measured(), "{said:?}");
    assert!(said.out.starts_with(&format!("GET {}", server.url)), "{said:?}");
    for part in
        ["closed loop, 4 connections, 1 thread", "SUCCESS   100 %     2,000 of 2,000", "response", "service"]
    {
        assert!(said.out.contains(part), "{part}: {said:?}");
    }
    assert!(said.out.lines().all(|line| line.chars().count() <= 80), "{said:?}");
    assert!(!said.out.contains('\u{1b}'), "no colour in a pipe: {said:?}");
}

#[test]
fn the_address_can_be_named_beside_the_url() {
    let server = Server::good();
    let address = server.url.trim_start_matches("http://").trim_end_matches('/');
    let said = prony(&[
        "http://no-such-name.invalid/a",
        "-n",
        "20",
        "-c",
        "2",
        "--connect-to",
        address,
        "-o",
        "json",
    ]);
    let result = prony_model::from_json(&said.out).expect("a result");
    assert_eq!(result.requests.done, 20, "{said:?}");
    assert_eq!(
        (result.plan.target.authority.as_str(), result.plan.target.path.as_str()),
        ("no-such-name.invalid", "/a")
    );
    let probe = prony(&["probe", "http://no-such-name.invalid/a", "--connect-to", address]);
    assert_eq!(probe.code, Some(0), "{probe:?}");
}

#[test]
fn an_open_loop() {
    let server = Server::good();
    let said = prony(&[&server.url, "-n", "100", "-r", "1000", "-o", "json"]);
    let result = prony_model::from_json(&said.out).expect("a result");
    assert_eq!(result.requests.intended, 100, "{:?}", result.requests);
    assert_eq!(result.rate.asked_per_s, Some(1000.0));
}

#[test]
fn all_answers_are_404() {
    let server = Server::not_found();
    let said = prony(&[&server.url, "-n", "10", "-c", "1"]);
    assert_eq!(said.code, Some(4), "{said:?}");
    assert!(said.out.contains("SUCCESS   0 %       0 of 10 requests: all were 404 Not Found"), "{said:?}");
    assert!(said.out.contains("\ngoodput   0 /s"), "{said:?}");
    let expected = prony(&[&server.url, "-n", "10", "-c", "1", "--expect-status", "404"]);
    assert!(expected.out.contains("SUCCESS   100 %     10 of 10 requests"), "{expected:?}");
}

#[test]
fn every_format() {
    let server = Server::good();
    let json = prony(&[&server.url, "-n", "3", "-c", "1", "--json", "-"]);
    let result = prony_model::from_json(&json.out).expect("only JSON on stdout");
    assert_eq!(result.requests.done, 3);
    let markdown = prony(&[&server.url, "-n", "3", "-c", "1", "--output", "markdown"]);
    assert!(markdown.out.contains("| response |"), "{markdown:?}");
    let both = prony(&[&server.url, "-n", "3", "--json", "-", "-o", "text"]);
    assert_eq!(both.code, Some(2), "{both:?}");
}

#[test]
fn a_seed_is_kept() {
    let server = Server::good();
    let seed = |words: &[&str]| {
        let words: Vec<&str> =
            [server.url.as_str(), "-n", "1", "-o", "json"].iter().chain(words).copied().collect();
        prony_model::from_json(&prony(&words).out).expect("a result").plan.seed
    };
    assert_eq!(seed(&["--seed", "42"]), 42);
    assert_ne!(seed(&[]), seed(&[]), "one in four thousand million");
}

/// Ctrl-C ends the load and still reports.
#[test]
fn ctrl_c_reports() {
    let server = Server::good();
    let child = command()
        .args([&server.url, "-c", "2", "-d", "1m", "--warmup", "0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built");
    for _ in 0..100 {
        server.requests.recv_timeout(PATIENCE).expect("requests arrive");
    }
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).expect("the child lives");
    let said = said(child.wait_with_output().expect("the child ends"));
    assert_eq!(said.code, Some(130), "{said:?}");
    assert!(said.out.contains("stopped by hand after") && said.out.contains("\nrate "), "{said:?}");
}
