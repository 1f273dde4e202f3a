//! What other tools read: CSV, and the formats of HdrHistogram.

use std::time::Duration;

use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use prony_model::{Clock, Interval, OutcomeSummary, QuantileNote, RunResult};
use prony_report::{check_distributions, csv, hgrm, hlog};

use crate::fixtures::{closed, histogram, summary, tailed};

fn check(name: &str, drawn: &str) {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, drawn);
    });
}

/// A thousand responses with an interval and a bound, and ten quick refusals.
fn run() -> RunResult {
    let mut result = closed(&tailed(1_000, 2.7));
    result.histograms.lag = histogram(&[0.004; 1_000]);
    let response = &mut result.latency.response;
    response.intervals_ms.insert("0.5".to_owned(), Interval { low: 2.68, high: 2.72, indicative: false });
    let note = QuantileNote { reason: "cut off".to_owned(), above_ms: Some(6.5) };
    response.withheld.insert("0.9999".to_owned(), note);
    result.outcomes = vec![OutcomeSummary {
        outcome: "refused".to_owned(),
        count: 10,
        response: summary(&[0.1; 10]),
        service: summary(&[0.1; 10]),
        response_histogram: histogram(&[0.1; 10]),
        service_histogram: histogram(&[0.1; 10]),
    }];
    result
}

#[test]
fn csv_in_the_long_form() {
    let rows = csv::rows("a, b.json", &run());
    assert!(rows.lines().all(|line| line.split(',').count() == csv::HEADER.split(',').count() + 1), "{rows}");
    check("csv", &format!("{}{rows}", csv::HEADER));
}

#[test]
fn handshakes_have_rows_of_their_own() {
    let rows = csv::rows("run.json", &crate::text::over_tls());
    for clock in ["handshake", "resumed"] {
        let of_it: Vec<&str> = rows.lines().filter(|row| row.contains(&format!(",{clock},"))).collect();
        assert_eq!(of_it.len(), prony_model::QUANTILES.len() + 2, "{rows}");
        assert!(
            of_it[0].starts_with("run.json,") && of_it[0].contains(",https://localhost:3000/,,"),
            "{rows}"
        );
    }
    let plain = csv::rows("run.json", &crate::text::healthy());
    assert!(!plain.contains("handshake"), "{plain}");
}

#[test]
fn a_percentile_distribution() {
    check("hgrm", &hgrm::run(&run(), Clock::Response).expect("a distribution"));
    let empty = hgrm::run(&run(), Clock::Network).expect("a table without lines");
    assert_eq!(
        (empty.lines().count(), empty.contains("Total count    =            0")),
        (5, true),
        "{empty}"
    );
}

/// Read back by another implementation.
#[test]
fn a_histogram_log() {
    let (mut early, late) = (run(), run());
    early.timing.started_at = "2026-01-02T03:03:55.250Z".to_owned();
    let log = hlog::runs(&[&late, &early]).expect("whole histograms");
    let mut intervals = Vec::new();
    let mut starts = Vec::new();
    for entry in IntervalLogIterator::new(log.as_bytes()) {
        match entry.expect("a line of the format") {
            LogEntry::StartTime(start) => starts.push(start),
            LogEntry::BaseTime(base) => panic!("no base time, but {base:?}"),
            LogEntry::Interval(interval) => intervals.push(interval),
        }
    }
    assert_eq!(starts, [Duration::from_millis(1_767_323_035_250)]);
    let seen: Vec<_> =
        intervals.iter().map(|it| (it.tag().expect("a tag").as_str(), it.start_timestamp())).collect();
    let at = Duration::from_millis;
    assert_eq!(
        seen,
        [("response", at(1000)), ("lag", at(1000)), ("response", at(10_750)), ("lag", at(10_750))]
    );
    assert!(intervals.iter().all(|interval| interval.duration() == Duration::from_secs(10)));
    let bytes = base64(intervals[0].encoded_histogram());
    let read: hdrhistogram::Histogram<u64> =
        Deserializer::new().deserialize(&mut bytes.as_slice()).expect("a histogram");
    assert_eq!(read.len(), 1_000);
    assert!(
        (read.max() as f64 / 1e6 - intervals[0].max()).abs() < 0.001,
        "{} {}",
        read.max(),
        intervals[0].max()
    );
}

/// The standard alphabet with padding (RFC 4648, section 4), undone the slow way.
fn base64(text: &str) -> Vec<u8> {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.trim_end_matches('=').chars().map(|digit| ALPHABET.find(digit).expect("base64"));
    let bits: Vec<usize> = digits.flat_map(|digit| (0..6).rev().map(move |bit| digit >> bit & 1)).collect();
    let bytes = bits.chunks_exact(8).map(|bits| bits.iter().fold(0_usize, |byte, bit| byte << 1 | bit));
    bytes.map(|byte| u8::try_from(byte).expect("eight bits")).collect()
}

#[test]
fn damaged_distributions_are_found_out() {
    let check = |change: fn(&mut RunResult), expected: &str| {
        let mut result = run();
        change(&mut result);
        let error = check_distributions(&result).expect_err(expected).to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    assert_eq!(check_distributions(&run()), Ok(()));
    check(
        |result| result.histograms.lag.data.truncate(20),
        "the histogram of lag is damaged: failed to read the histogram",
    );
    check(
        |result| result.histograms.response.data = "!".to_owned(),
        "the histogram of response is damaged: failed to read the histogram as base64",
    );
    check(
        |result| result.outcomes[0].service_histogram.count = 11,
        "the histogram of service of refused holds 10 values and says 11",
    );
    check(|result| result.histograms.blocked.count = 1, "the histogram of blocked holds 0 values and says 1");
    check(
        |result| result.histograms.response.unit = "us".to_owned(),
        "the histogram of response is `hdrhistogram-v2-deflate-base64` in `us`",
    );
}
