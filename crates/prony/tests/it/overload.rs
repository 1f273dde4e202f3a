//! `prony overload`: the command as a whole, on servers of known capacity that sleep. How long they take to recover is not what
//! these tests are about: `prony-study` evaluates simulated servers, `bench/overload` live ones.

use std::fs;
use std::time::Duration;

use prony_model::{LoadPhase, OverloadOutcome, OverloadResult, OverloadRun, overload_from_json};
use prony_targets::{Running, queue};

use crate::binary::{ProgramOutput, command, program_output, prony};
use crate::folder::Folder;
use crate::server::Server;

/// Four workers of 20 ms: 200 a second.
fn queue_server(change: impl FnOnce(&mut queue::Config)) -> (Running, String) {
    let mut config =
        queue::Config { workers: 4, service: Duration::from_millis(20), ..queue::Config::default() };
    change(&mut config);
    let server = queue::start(config).expect("a free port");
    let url = format!("http://{}/", server.local_addr());
    (server, url)
}

fn overload(words: &[&str]) -> ProgramOutput {
    prony(&[&["overload"], words].concat())
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What must hold of every run, whatever the machine was busy with.
fn check(result: &OverloadResult, run: &OverloadRun) {
    let method = &result.method;
    assert_eq!(run.phases.iter().map(|phase| phase.phase).collect::<Vec<_>>(), LoadPhase::ALL);
    let lengths = [method.before_s, method.pulse_s, method.after_s];
    let rates = [method.base_per_s, method.pulse_per_s, method.base_per_s];
    for ((phase, length_s), rate) in run.phases.iter().zip(lengths).zip(rates) {
        let failed: u64 = phase.failed_by_kind.values().sum();
        assert_eq!(phase.good + phase.late + failed + phase.unanswered, phase.offered, "{phase:?}");
        // The schedule is that of the clock: a slow machine sends late, but misses nothing.
        assert!((phase.offered as f64 - rate * length_s).abs() <= 2.0, "{phase:?}");
    }
    let of_parts: u64 = run.course.iter().map(|part| part.offered).sum();
    assert_eq!(of_parts, run.phases.iter().map(|phase| phase.offered).sum::<u64>());
}

const SHORT: [&str; 12] = [
    "--rate",
    "120",
    "--capacity",
    "200",
    "--times",
    "3",
    "--pulse",
    "1s",
    "--after",
    "3s",
    "--slo",
    "400ms",
];

#[test]
fn a_queue_without_end_stays_down_with_clients_that_retry() {
    let (server, url) = queue_server(|_| {});
    let folder = Folder::new("overload");
    let file = folder.0.join("overload.json").display().to_string();
    let typed = ["--before", "1s", "--clients", "retrying", "--retries", "1", "--json", &file];
    let measured = overload(&[&[url.as_str()], &SHORT[..], &typed[..]].concat());
    let result = overload_from_json(&fs::read_to_string(&file).expect("a file")).expect("an overload");
    let [run] = result.runs.as_slice() else { panic!("{measured:?}") };
    check(&result, run);
    // 600 /s came where 200 are served, and then 120 with two attempts each: it can't be good again, however fast or slow the
    // machine is. A client that was held up for the most part says so instead.
    let is_down = matches!(run.outcome, OverloadOutcome::NotRecovered { .. });
    let is_unknown =
        matches!(run.outcome, OverloadOutcome::Unknown { .. } | OverloadOutcome::BaseNotCarried { .. });
    assert!(is_down || is_unknown, "{:?}: {measured:?}", run.outcome);
    assert_eq!(
        measured.code,
        Some(if matches!(run.outcome, OverloadOutcome::Unknown { .. }) { 3 } else { 1 })
    );
    let attempts = run.attempts.expect("retries");
    assert!(attempts.retries > 300, "{attempts:?}");
    assert!(server.counters().in_vain > 300, "it served clients that had left: {:?}", server.counters());
    for format in ["text", "markdown", "html"] {
        let again = prony(&["report", &file, "-o", format]);
        assert_eq!(again.code, Some(0), "{again:?}");
        assert!(flat(&again.out).contains("with retries"), "{format}: {}", again.out);
    }
}

#[test]
fn a_bounded_queue_refuses_and_goes_on() {
    let (server, url) = queue_server(|config| config.limit = Some(10));
    let typed = ["--before", "1s", "--json", "-", "--quiet"];
    let measured = overload(&[&[url.as_str()], &SHORT[..], &typed[..]].concat());
    let result = overload_from_json(&measured.out).expect("an overload");
    assert!(!result.runs.is_empty() && result.runs[0].retries.is_none(), "{measured:?}");
    for run in &result.runs {
        check(&result, run);
    }
    let during = &result.runs[0].phases[1];
    assert!(during.failed_by_kind.contains_key(&prony_model::ErrorKind::Status), "{during:?}");
    assert!(server.counters().refused > 100, "{:?}", server.counters());
}

#[test]
fn what_can_not_be_overloaded_is_refused_before_any_load() {
    let server = Server::good();
    let refused = |words: &[&str], code: i32, expected: &str| {
        let output = overload(&[&[server.url.as_str()], words].concat());
        assert_eq!(output.code, Some(code), "{output:?}");
        assert!(flat(&output.err).contains(expected), "{expected}: {}", output.err);
        assert!(output.out.is_empty(), "{output:?}");
    };
    refused(&[], 2, "an overload needs a rate that the server carries");
    refused(&["--rate", "100", "--times", "1"], 2, "is no higher than the base");
    refused(&["--rate", "1"], 2, "--pulse 100s");
    refused(&["--rate", "100", "--pulse", "1h"], 2, "--pulse must be");
    refused(&["--rate", "100", "--retries", "0", "--clients", "both"], 2, "leaves no clients that retry");
    refused(&["--rate", "100", "--json", "-", "-o", "html"], 2, "both want stdout");
    assert!(server.requests.try_recv().is_err(), "no request was sent");
}

#[test]
fn a_server_that_can_not_be_measured_is_reported() {
    let broken = Server::not_found();
    let output = overload(&[&broken.url, "--rate", "100"]);
    assert_eq!(output.code, Some(4), "{output:?}");
    assert!(output.err.contains("not one response was good"), "{output:?}");
    let nobody = overload(&["http://127.0.0.1:1/", "--rate", "100"]);
    assert_eq!(nobody.code, Some(4), "{nobody:?}");
}

/// The commands of docs/overload.md, against a port where nobody listens: all of them are understood.
#[test]
fn the_documented_commands_are_understood() {
    let folder = Folder::new("overload-docs");
    let document = include_str!("../../../../docs/overload.md");
    let blocks = document.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines: Vec<&str> =
        blocks.flat_map(str::lines).filter(|line| line.starts_with("prony overload")).collect();
    assert!(lines.len() >= 2, "{lines:?}");
    for line in lines {
        let line = line.replace("http://127.0.0.1:3000/", "http://127.0.0.1:1/");
        let words = shell_words::split(&line).expect("words of a shell");
        let output = command().current_dir(&folder.0).args(&words[1..]).output();
        let output = program_output(output.expect("the binary was built"));
        assert_eq!(output.code, Some(4), "{line}: {output:?}");
    }
    assert!(
        folder.names().is_empty(),
        "nothing is left of overloads that did not begin: {:?}",
        folder.names()
    );
}
