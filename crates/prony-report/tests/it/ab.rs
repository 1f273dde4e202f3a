//! ab's report of constructed requests: numbers, and what public scripts read from it.

use std::collections::BTreeMap;

use prony_model::{ErrorKind, FirstResponse, Load, Outcome, RunResult, SampleRecord, StatusClass};
use prony_report::ab::{self, Attributes, Options, Requests};

use crate::fixtures::closed;
use crate::scripts::reads;

/// A request that began after `at_ms` and took `total_us`, of which the connection took a tenth.
fn sample(at_ms: u64, total_us: u64, outcome: Outcome, body_bytes: u64) -> SampleRecord {
    let intended_ns = 5_000_000_000 + at_ms * 1_000_000;
    let connect_ns = total_us * 100;
    SampleRecord {
        thread: 0,
        port: 40_000,
        intended_ns,
        ready_ns: intended_ns,
        sent_ns: intended_ns + connect_ns,
        tx_ns: 0,
        rx_ns: 0,
        first_byte_ns: intended_ns + total_us * 900,
        done_ns: intended_ns + total_us * 1000,
        connect_ns,
        outcome,
        status: 200,
        body_bytes,
    }
}

/// 100 requests in two seconds over 5 connections: 1 to 100 ms, the last five of them bad in five ways.
fn run() -> (RunResult, Requests) {
    let mut result = closed(&[1.0; 100]);
    result.plan.load = Load::Closed { connections: 5 };
    result.timing.measured_s = 1.998;
    result.timing.drain_s = 0.002;
    result.requests.answered = 97;
    result.statuses = BTreeMap::from([(200, 96), (404, 1)]);
    result.first_response =
        Some(FirstResponse { status: 200, server: Some("Golden/1.0 (here)".to_owned()), body_bytes: 12 });
    result.bytes.sent = 9_000;
    result.bytes.received = 20_480;
    result.bytes.body_received = 1_160;
    result.connections.closed_by_server = 7;
    let good = Outcome::Done(StatusClass::Success);
    let mut requests = Requests::default();
    for number in 1..=100 {
        let (outcome, body_bytes) = match number {
            96 => (Outcome::UnexpectedStatus(StatusClass::ClientError), 12),
            97 => (good, 20),
            98 => (Outcome::Failed(ErrorKind::Reset), 0),
            99 => (Outcome::Failed(ErrorKind::ClosedEarly), 0),
            100 => (Outcome::Failed(ErrorKind::RequestTimeout), 0),
            _ => (good, 12),
        };
        requests.add(&sample(number * 20, number * 1000, outcome, body_bytes));
    }
    requests.add(&sample(2000, 77, Outcome::Failed(ErrorKind::Refused), 0));
    (result, requests.sorted())
}

fn options() -> Options {
    Options {
        host: "127.0.0.1".to_owned(),
        port: 3000,
        path: "/a?b=c".to_owned(),
        proxy: None,
        keep_alive: true,
        sends_body: true,
        percentiles: true,
        confidence: true,
        variable_length: false,
        progress: false,
        html: None,
    }
}

fn check(name: &str, report: &str) {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, report);
    });
}

#[test]
fn reports() {
    let (result, requests) = run();
    let options = options();
    let whole = [ab::head("prony 1.2.3", &options), ab::report(&result, &requests, &options)].concat();
    check("ab", &whole);
    let short = Options { percentiles: false, confidence: false, variable_length: true, ..options.clone() };
    check("ab-short", &ab::report(&result, &requests, &short));
    let html = Options { html: Some(Attributes::default()), path: "/<b>&\"".to_owned(), ..options };
    let whole = [ab::head("prony 1.2.3", &html), ab::report(&result, &requests, &html)].concat();
    check("ab-html", &whole);
}

#[test]
fn files() {
    let (result, requests) = run();
    let csv = ab::csv(&requests);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!((lines[0], lines.len()), ("Percentage served,Time in ms", 102));
    assert_eq!([lines[1], lines[51], lines[101]], ["0,1.000", "50,51.000", "100,100.000"]);
    let tsv = ab::gnuplot(&result, &requests);
    let lines: Vec<&str> = tsv.lines().collect();
    assert_eq!((lines[0], lines.len()), ("starttime\tseconds\tctime\tdtime\tttime\twait", 101));
    // Begun at 2026-01-02T03:04:05Z; the last one 1.98 seconds later.
    assert_eq!(lines[10], "Fri Jan 02 03:04:05 2026\t1767323045\t1\t9\t10\t8");
    assert_eq!(lines[100], "Fri Jan 02 03:04:06 2026\t1767323046\t10\t90\t100\t80");
}

#[test]
fn nothing_at_all() {
    let (result, _) = run();
    let nothing = Requests::default();
    let report = ab::report(&result, &nothing, &options());
    assert!(report.contains("Complete requests:      0\n") && !report.contains("per second"), "{report}");
    assert!(report.ends_with("HTML transferred:       1160 bytes\n"), "{report}");
    assert_eq!(ab::csv(&nothing), "Percentage served,Time in ms\n");
    assert_eq!(ab::gnuplot(&result, &nothing).lines().count(), 1);
}

/// Words of the server and of the command line can neither move a cursor nor leave their cell.
#[test]
fn foreign_text_is_harmless() {
    let (mut result, requests) = run();
    result.first_response =
        Some(FirstResponse { status: 200, server: Some("\u{1b}[2J<i>".to_owned()), body_bytes: 0 });
    let text = ab::report(&result, &requests, &options());
    assert!(text.contains("Server Software:        \\u{1b}[2J<i>\n"), "{text}");
    let html = Options { html: Some(Attributes::default()), ..options() };
    let html = ab::report(&result, &requests, &html);
    assert!(html.contains("\\u{1b}[2J&lt;i&gt;</td>"), "{html}");
}

/// Patterns as public scripts have them, in Python, PHP, JavaScript and shell.
#[test]
fn scripts_read_their_numbers() {
    let (result, requests) = run();
    let options = Options { progress: true, ..options() };
    let report = [ab::head("prony 1.2.3", &options), ab::report(&result, &requests, &options)].concat();
    for (pattern, expected) in [
        (r"This is ApacheBench, Version (\d\.\d)", "2.3"),
        (r"Server Software:\s+(\S+)", "Golden/1.0"),
        (r"Document Path:\s+(.+)", "/a?b=c"),
        (r"Document Length:\s+(\d+) bytes", "12"),
        (r"Concurrency Level:\s+(\d+)", "5"),
        (r"Time taken for tests:\s+([\d.]+) seconds", "2.000"),
        (r"Time taken for tests:\s+(\d+\.?\d*)", "2.000"),
        (r"Complete requests:\s+(\d+)", "100"),
        (r"(?i)complete requests:\s+([\d.]+)", "100"),
        (r"Concurrency Level:\s+\d+[\s\S]*?Complete requests:\s+(\d+)", "100"),
        (r"Failed requests:\s+(\d+)", "5"),
        (r"\(Connect: \d+, Receive: \d+, Length: (\d+), Exceptions: \d+\)", "2"),
        (r"Non-2xx responses:\s+(\d+)", "1"),
        (r"Keep-Alive requests:\s+(\d+)", "90"),
        (r"Total transferred:\s+(\d+) bytes", "20480"),
        (r"Total body sent:\s+(\d+)", "9000"),
        (r"HTML transferred:\s+(\d+) bytes", "1160"),
        (r"Requests per second:\s+([\d.]+)", "50.00"),
        (r"Requests per second:\s+(\d+\.\d+)", "50.00"),
        (r"Requests per second:\s+(\d+)", "50"),
        (r"Requests per second:\s+([\d.]+) \[#/sec\] \(mean\)", "50.00"),
        (r"Time per request:\s+([\d.]+)", "100.000"),
        (r"Time per request:\s+([\d.]+) \[ms\]", "100.000"),
        (r"Time per request:\s+([\d.]+)\s+\[ms\]\s+\(mean\)", "100.000"),
        (r"Time per request:\s+([\d.]+)\s+\[ms\] \(mean, across all concurrent requests\)", "20.000"),
        (r"Transfer rate:\s+([\d.]+) \[Kbytes/sec\] received", "10.00"),
        (r"\s+([\d.]+) kb/s sent", "4.39"),
        (r"(?m)^Connect:\s+\d+\s+(\d+)\s+[\d.]+\s+\d+\s+\d+$", "5"),
        (r"(?i)waiting:\s+([\d.]+)\s+[\d.]+\s+[\d.]+\s+[\d.]+\s+[\d.]+", "1"),
        (r"(?i)total:\s+[\d.]+\s+[\d.]+\s+([\d.]+)\s+[\d.]+\s+[\d.]+", "29.0"),
        (r"(?m)^Total:\s+\d+\s+\d+\s+[\d.]+\s+(\d+)", "51"),
        (r"(?m)^\s*50%\s+(\d+)", "51"),
        (r"(?m)^\s*95%\s+(\d+)", "96"),
        (r"\s*90%\s+(\d+)", "91"),
        (r"99%\s+(\d+)", "100"),
        (r"100%\s+(\d+)", "100"),
        (r"(\d+) \(longest request\)", "100"),
    ] {
        reads(&report, pattern, expected);
    }
}
