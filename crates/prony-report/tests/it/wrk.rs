//! wrk's report of constructed results: numbers, and what public scripts read from it.

use std::collections::BTreeMap;
use std::time::Duration;

use prony_model::{ErrorKind, OutcomeSummary, RunResult, SliceCounts};
use prony_report::brief;
use prony_report::wrk::{self, Rates};

use crate::fixtures::{closed, histogram, summary};
use crate::scripts::reads;

/// 1000 answers within two seconds, of 1 to 1000 µs; a tenth of them 404.
fn run() -> (RunResult, Rates) {
    let times_ms: Vec<f64> = (1..=1000).map(|number| f64::from(number) / 1000.0).collect();
    let mut result = closed(&times_ms);
    result.timing.measured_s = 1.99;
    result.timing.drain_s = 0.01;
    result.bytes.received = 3 << 20;
    result.statuses = BTreeMap::from([(200, 900), (404, 100)]);
    let outcome = |name: &str, times_ms: &[f64]| OutcomeSummary {
        outcome: name.to_owned(),
        count: times_ms.len() as u64,
        response: summary(times_ms),
        service: summary(times_ms),
        response_histogram: histogram(times_ms),
        service_histogram: histogram(times_ms),
    };
    result.outcomes = vec![
        outcome("2xx", &times_ms[..900]),
        outcome("unexpected-4xx", &times_ms[900..]),
        outcome("reset", &[50_000.0]),
    ];
    let mut rates = Rates::default();
    for number in 0..40 {
        let answered = 20 + number % 4 / 2 * 10;
        rates.add(&SliceCounts {
            thread: u32::try_from(number % 2).expect("0 or 1"),
            took: Duration::from_millis(50),
            answered,
            done: 0,
            failed: 0,
        });
    }
    (result, rates)
}

fn broken() -> (RunResult, Rates) {
    let (mut result, rates) = run();
    result.requests.failed_by_kind = BTreeMap::from([
        (ErrorKind::Status, 100),
        (ErrorKind::Refused, 1),
        (ErrorKind::ConnectTimeout, 1),
        (ErrorKind::Reset, 4),
        (ErrorKind::ClosedEarly, 5),
        (ErrorKind::Protocol, 6),
        (ErrorKind::RequestTimeout, 7),
    ]);
    (result, rates)
}

fn whole((result, rates): &(RunResult, Rates), latency: bool) -> String {
    let head = wrk::head("http://127.0.0.1:3000/", Duration::from_secs(90), 2, 400);
    [head, wrk::report(result, rates, latency)].concat()
}

fn check(name: &str, report: &str) {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, report);
    });
}

#[test]
fn reports() {
    check("wrk", &whole(&run(), false));
    check("wrk-latency", &whole(&broken(), true));
}

#[test]
fn nothing_at_all() {
    let (mut result, _) = run();
    result.outcomes.clear();
    result.statuses.clear();
    result.requests.answered = 0;
    result.bytes.received = 0;
    check("wrk-nothing", &wrk::report(&result, &Rates::default(), true));
}

/// Patterns as public scripts have them, in Python, PHP, JavaScript and shell.
#[test]
fn scripts_read_their_numbers() {
    let report = whole(&broken(), true);
    for (pattern, expected) in [
        (r"Running (\S+) test @ ", "2m"),
        (r"(\d+) connections", "400"),
        (r"(\d+) threads and \d+ connections", "2"),
        (r"Latency\s+([\d.]+)us", "500.50"),
        (r"Latency\s+(\d+\.?\d*)(us|ms|s)", "500.50"),
        (r"Latency\s+[0-9.]+[a-zA-Z]+\s+([0-9.]+)[a-zA-Z]+\s+[0-9.]+[a-zA-Z]+", "288.82"),
        (r"(?m)^\s+Latency\s+[\d.]+[a-z]+\s+[\d.]+[a-z]+\s+([\d.]+[a-z]+)", "1.00ms"),
        (r"Latency\s+(\S+)", "500.50us"),
        (r"Req/Sec\s+([\d.]+)", "500.00"),
        (r"Req/Sec\s+[\d.]+\s+[\d.]+\s+([\d.]+)", "500.00"),
        (r"(?m)^\s+99%\s+(\S+)", "0.99ms"),
        (r"(?m)^\s+(?:50|75|90|99)%\s+(\S+)\s*$", "500.00us"),
        (r"75%\s+([\d.]+)(us|ms|s)", "750.00"),
        (r"(\d+) requests in", "1000"),
        (r"(?m)^\s+[0-9]+ requests in ([0-9.]+)[smh], .+ read$", "2.00"),
        (r"requests in [\d.]+\w+, ([\d.]+\w+) read", "3.00MB"),
        (r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", "2"),
        (r"Socket errors: connect \d+, read (\d+), write (\d+), timeout (\d+)", "15"),
        (r"(?m)^\s*Socket errors: connect \d+, read \d+, write \d+, timeout (\d+)$", "7"),
        (r"Non-2xx or 3xx responses: (\d+)", "100"),
        (r"(?m)^\s+Non-2xx or 3xx responses:\s+(\d+)", "100"),
        (r"(?m)^Requests/sec:\s+([\d.]+)$", "500.00"),
        (r"Requests/sec:\s*([0-9.]+)", "500.00"),
        (r"Transfer/sec:\s+([\d.]+\w+)", "1.50MB"),
        (r"(?m)^Transfer/sec:\s+(.+)$", "1.50MB"),
        (r"Transfer/sec:\s+(\d+\.\d+)MB", "1.50"),
    ] {
        reads(&report, pattern, expected);
    }
}

/// A stall at the end: wrk's clock goes on, and Prony's measured part is over.
#[test]
fn two_rates_are_both_named() {
    let (mut result, _) = run();
    result.timing.measured_s = 2.0;
    result.timing.drain_s = 0.17;
    result.requests.answered = 5_445;
    result.rate.answered_per_s = 2_726.0;
    let report = wrk::report(&result, &Rates::default(), false);
    assert!(report.contains("Requests/sec:   2509.22"), "{report}");
    let note = brief::rate_note(&result, "wrk", "Requests/sec").expect("two rates");
    for part in ["5,445 answers in 2.17 s", "2,726 /s, over the 2 s"] {
        assert!(note.contains(part), "{note}");
    }
    result.timing.drain_s = 0.004;
    assert_eq!(brief::rate_note(&result, "wrk", "Requests/sec"), None, "three digits agree");
}
