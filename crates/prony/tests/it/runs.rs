//! Whole runs: report, JSON, Markdown, exit codes, Ctrl-C.

use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::binary::{ProgramOutput, command, program_output, prony};
use crate::server::Server;

/// A test that waits longer than this has failed.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

#[test]
fn a_good_run() {
    let server = Server::good();
    let output = prony(&[&server.url, "-n", "2k", "-c", "4"]);
    assert!(output.is_measured(), "{output:?}");
    assert!(output.out.starts_with(&format!("GET {}", server.url)), "{output:?}");
    for part in
        ["closed loop, 4 connections, 1 thread", "SUCCESS   100 %     2,000 of 2,000", "response", "service"]
    {
        assert!(output.out.contains(part), "{part}: {output:?}");
    }
    assert!(output.out.lines().all(|line| line.chars().count() <= 80), "{output:?}");
    assert!(!output.out.contains('\u{1b}'), "no colour in a pipe: {output:?}");
}

#[test]
fn the_address_can_be_named_beside_the_url() {
    let server = Server::good();
    let address = server.url.trim_start_matches("http://").trim_end_matches('/');
    let output = prony(&[
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
    let result = prony_model::from_json(&output.out).expect("a result");
    assert_eq!(result.requests.done, 20, "{output:?}");
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
    let output = prony(&[&server.url, "-n", "100", "-r", "1000", "-o", "json"]);
    let result = prony_model::from_json(&output.out).expect("a result");
    assert_eq!(result.requests.intended, 100, "{:?}", result.requests);
    assert_eq!(result.rate.asked_per_s, Some(1000.0));
}

#[test]
fn all_answers_are_404() {
    let server = Server::not_found();
    let output = prony(&[&server.url, "-n", "10", "-c", "1"]);
    assert_eq!(output.code, Some(4), "{output:?}");
    assert!(
        output.out.contains("SUCCESS   0 %       0 of 10 requests: all were 404 Not Found"),
        "{output:?}"
    );
    assert!(output.out.contains("\ngoodput   0 /s"), "{output:?}");
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

/// A load that gets `signal` once requests arrive.
fn stopped(server: &Server, words: &[&str], signal: Signal, through: &[&str]) -> ProgramOutput {
    let own = command();
    let program = own.get_program();
    let mut child = match through {
        [] => command(),
        [first, ..] => {
            let mut wrapped = Command::new(first);
            wrapped.args(&through[1..]).arg(program).stdin(Stdio::null());
            wrapped
        }
    };
    let child = child
        .args([&server.url, "-c", "2"])
        .args(words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built");
    for _ in 0..100 {
        server.requests.recv_timeout(PATIENCE).expect("requests arrive");
    }
    kill_process(Pid::from_child(&child), signal).expect("the child lives");
    program_output(child.wait_with_output().expect("the child ends"))
}

/// Ctrl-C, or a terminal that closes, ends the load and still reports.
#[test]
fn a_stopped_run_reports() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let output = stopped(&Server::good(), &["-d", "1m", "--warmup", "0"], signal, &[]);
        assert_eq!(output.code, Some(130), "{signal:?} {output:?}");
        assert!(
            output.out.contains("stopped by hand after") && output.out.contains("\nrate "),
            "{signal:?} {output:?}"
        );
    }
}

#[test]
fn nohup_goes_on() {
    let output = stopped(&Server::good(), &["-d", "1s", "--warmup", "0"], Signal::HUP, &["nohup"]);
    assert!(matches!(output.code, Some(0 | 3)), "{output:?}");
    assert!(!output.out.contains("stopped by hand"), "{output:?}");
}

#[test]
fn stopped_before_anything_is_measured() {
    let output = stopped(&Server::good(), &["-d", "1s", "--warmup", "1m"], Signal::INT, &[]);
    assert_eq!(output.code, Some(130), "{output:?}");
    let head = "\nINVALID   the run was stopped by hand before anything was measured\n";
    assert!(output.out.contains(head) && output.out.contains("no request was measured"), "{output:?}");
}

/// An open loop takes the connections that it may have; a number that was typed is refused.
#[test]
fn few_descriptors() {
    let server = Server::good();
    let limited = |words: &str| {
        let own = command();
        let line = format!("ulimit -n 140; exec {} {} {words}", own.get_program().display(), server.url);
        program_output(Command::new("bash").args(["-c", &line]).output().expect("bash is there"))
    };
    let fewer = limited("--rate 100 -d 200ms --warmup 0");
    assert!(fewer.out.contains("at most 42 connections"), "{fewer:?}");
    let refused = limited("--rate 100 -c 50 -d 200ms --warmup 0");
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.starts_with("error: 50 connections need "), "{refused:?}");
}
