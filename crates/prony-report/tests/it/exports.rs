//! What other tools read: CSV, and the formats of HdrHistogram.

use std::time::Duration;

use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use prony_model::{Clock, Interval, OutcomeSummary, QuantileNote, RunResult, SecondPoint, Verdict};
use prony_report::{bencher, check_distributions, csv, hgrm, hlog, k6_summary, timeline_csv};

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

/// The shape is that of Bencher's documentation: benchmark, measure, value and its bounds.
#[test]
fn bencher_gets_what_can_be_defended() {
    let mut result = run();
    result.latency.response.quantiles_ms.insert("0.999".to_owned(), None);
    let drawn: serde_json::Value = serde_json::from_str(&bencher::runs(&[("", &result)])).expect("JSON");
    let (name, measures) = drawn.as_object().and_then(|all| all.iter().next()).expect("a benchmark");
    assert!(name.contains("http://"), "{name}");
    let p50 = result.latency.response.quantiles_ms["0.5"].expect("a median") * 1e6;
    assert_eq!(
        measures["latency"],
        serde_json::json!({ "value": p50, "lower_value": 2.68 * 1e6, "upper_value": 2.72 * 1e6 })
    );
    assert_eq!(measures["throughput"]["value"], serde_json::json!(result.rate.done_per_s));
    assert_eq!(measures.get("response-time-p999"), None, "it is withheld");
    for (measure, metric) in measures.as_object().expect("measures") {
        let metric = metric.as_object().expect("a metric");
        let known = ["value", "lower_value", "upper_value"];
        assert!(metric.keys().all(|key| known.contains(&key.as_str())), "{measure}: {metric:?}");
        assert!(metric.values().all(serde_json::Value::is_number), "{measure}: {metric:?}");
    }
    result.verdict = Verdict::Invalid;
    assert_eq!(bencher::runs(&[("", &result)]), "{}\n", "an invalid run has no figures to track");
    let two = bencher::runs(&[("a.json", &run()), ("b.json", &run())]);
    assert!(two.contains("(a.json)") && two.contains("(b.json)"), "{two}");
}

#[test]
fn k6_gets_its_own_names() {
    let mut result = run();
    result.latency.service = result.latency.response.clone();
    (result.requests.done, result.requests.failed, result.requests.never_sent) = (990, 10, 3);
    result.timing.measured_s = 10.0;
    result.latency.service.quantiles_ms.insert("0.9999".to_owned(), None);
    let drawn: serde_json::Value = serde_json::from_str(&k6_summary::run(&result)).expect("JSON");
    let metrics = &drawn["metrics"];
    assert_eq!(metrics["http_reqs"], serde_json::json!({ "count": 1000, "rate": 100.0 }));
    assert_eq!(metrics["http_req_failed"], serde_json::json!({ "passes": 10, "fails": 990, "value": 0.01 }));
    assert_eq!(metrics["dropped_iterations"]["count"], 3);
    let times = &metrics["http_req_duration"];
    let service = &result.latency.service;
    assert_eq!(times["med"], serde_json::json!(service.quantiles_ms["0.5"]));
    assert_eq!(times["avg"], serde_json::json!(service.mean_ms));
    assert_eq!(times.get("p(99.99)"), None, "it is withheld");
    assert_eq!(drawn["prony"]["verdict"], result.verdict.name());
}

#[test]
fn a_timeline_has_a_row_for_each_second() {
    let mut result = run();
    let second = |second, covered_s, done| SecondPoint {
        second,
        covered_s,
        sent: done + 1,
        done,
        failed: 1,
        received_bytes: 100,
        p50_ms: (done > 0).then_some(2.5),
        p99_ms: None,
        max_ms: Some(9.25),
        answered: (second == 0).then_some(11),
        service_p50_ms: Some(1.5),
        service_p99_ms: None,
        service_max_ms: Some(7.75),
    };
    result.series = vec![second(0, 1.0, 10), second(1, 0.5, 0)];
    let rows = timeline_csv::rows("a, b.json", &result);
    let rows: Vec<&str> = rows.lines().collect();
    assert_eq!(rows.len(), 2);
    assert!(
        rows[0].starts_with("\"a, b.json\",")
            && rows[0].ends_with(",0,1,11,10,1,100,10,2.5,,9.25,11,1.5,,7.75"),
        "{rows:?}"
    );
    assert!(rows[1].ends_with(",1,0.5,1,0,1,100,0,,,9.25,,1.5,,7.75"), "{rows:?}");
    // The name of the file has a comma.
    assert!(rows.iter().all(|row| row.split(',').count() == timeline_csv::HEADER.split(',').count() + 1));
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
