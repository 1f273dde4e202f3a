//! Real reports of each tool, made by loading a server of Prony on one machine, against what stands in them.

use prony_model::{ExternalResult, ExternalSeries, ExternalTool};
use proptest::prelude::*;

use super::{ReportError, read_report};

macro_rules! report {
    ($name:literal) => {
        include_str!(concat!("../../tests/data/reports/", $name))
    };
}

/// Every real report.
const REPORTS: [(ExternalTool, &str); 16] = [
    (ExternalTool::Ab, report!("ab.txt")),
    (ExternalTool::Ab, report!("ab-errors.txt")),
    (ExternalTool::Wrk, report!("wrk.txt")),
    (ExternalTool::Wrk, report!("wrk-plain.txt")),
    (ExternalTool::Wrk, report!("wrk-errors.txt")),
    (ExternalTool::Wrk2, report!("wrk2.txt")),
    (ExternalTool::Oha, report!("oha.json")),
    (ExternalTool::H2load, report!("h2load.txt")),
    (ExternalTool::Hey, report!("hey.txt")),
    (ExternalTool::Hey, report!("hey-errors.txt")),
    (ExternalTool::Vegeta, report!("vegeta.txt")),
    (ExternalTool::Vegeta, report!("vegeta.json")),
    (ExternalTool::Autocannon, report!("autocannon.json")),
    (ExternalTool::Autocannon, report!("autocannon-errors.json")),
    (ExternalTool::Hyperfine, report!("hyperfine.json")),
    (ExternalTool::Locust, report!("locust.csv")),
];

fn read(text: &str) -> ExternalResult {
    read_report(text).expect("the tool is known").expect("it is whole")
}

/// The only series of the report `text` by `tool`.
fn only(tool: ExternalTool, text: &str) -> ExternalSeries {
    let result = read(text);
    assert_eq!((result.tool, result.series.len()), (tool, 1), "{result:#?}");
    result.series[0].clone()
}

fn quantiles(series: &ExternalSeries) -> Vec<(f64, f64)> {
    series.quantiles.iter().map(|quantile| (quantile.q, quantile.ms)).collect()
}

#[test]
fn ab() {
    let series = only(ExternalTool::Ab, report!("ab.txt"));
    assert_eq!((series.done, series.failed, series.connections), (Some(2000), Some(0), Some(5)));
    assert_eq!((series.duration_s, series.rate_per_s), (Some(0.343), Some(5830.67)));
    assert_eq!(
        (series.min_ms, series.mean_ms, series.sd_ms, series.max_ms),
        (Some(0.0), Some(1.0), Some(2.0), Some(27.0))
    );
    assert!(series.name.starts_with("http://127.0.0.1:"), "{}", series.name);
    assert_eq!(quantiles(&series)[4..], [(0.9, 1.0), (0.95, 2.0), (0.98, 4.0), (0.99, 9.0)]);
    let failed = read(report!("ab-errors.txt"));
    assert_eq!(failed.series[0].failed, Some(40));
    assert!(
        failed.unknown.iter().any(|unknown| unknown.contains("40 responses with another status")),
        "{failed:#?}"
    );
}

#[test]
fn wrk() {
    let series = only(ExternalTool::Wrk, report!("wrk.txt"));
    assert_eq!((series.done, series.failed, series.connections), (Some(36_816), Some(0), Some(4)));
    assert_eq!((series.duration_s, series.rate_per_s), (Some(2.14), Some(17_236.48)));
    assert_eq!(
        (series.min_ms, series.mean_ms, series.sd_ms, series.max_ms),
        (None, Some(1.44), Some(3.26), Some(34.64))
    );
    assert_eq!(quantiles(&series), [(0.5, 0.094), (0.75, 1.47), (0.9, 4.06), (0.99, 17.22)]);
    let plain = only(ExternalTool::Wrk, report!("wrk-plain.txt"));
    assert!(plain.quantiles.is_empty() && plain.mean_ms.is_some(), "{plain:#?}");
    assert_eq!(only(ExternalTool::Wrk, report!("wrk-errors.txt")).failed, Some(10));
    let socket = report!("wrk.txt")
        .replace("Requests/sec:", "  Socket errors: connect 1, read 2, write 3, timeout 4\nRequests/sec:");
    assert_eq!(only(ExternalTool::Wrk, &socket).failed, Some(10));
}

#[test]
fn wrk2_counts_from_when_requests_were_due() {
    let series = only(ExternalTool::Wrk2, report!("wrk2.txt"));
    assert_eq!((series.mean_ms, series.max_ms), (Some(0.94), Some(6.87)));
    assert_eq!(quantiles(&series)[..5], [(0.5, 0.88), (0.75, 1.19), (0.9, 1.43), (0.99, 3.9), (0.999, 5.34)]);
    assert_eq!(quantiles(&series).len(), 7);
    assert_eq!(ExternalTool::Wrk2.clock(), prony_model::ExternalClock::Response);
}

#[test]
fn h2load() {
    let series = only(ExternalTool::H2load, report!("h2load.txt"));
    assert_eq!((series.done, series.failed, series.connections), (Some(2000), Some(0), Some(4)));
    assert_eq!((series.duration_s, series.rate_per_s), (Some(0.363_92), Some(5495.74)));
    assert_eq!((series.min_ms, series.max_ms), (Some(0.02), Some(34.47)));
    assert_eq!((series.mean_ms, series.sd_ms), (Some(0.693), Some(2.47)));
    let newer = report!("h2load.txt")
        .replace(
            "                     min         max         mean         sd        +/- sd",
            "                     min         max         median      p95         p99         mean         sd        +/- sd",
        )
        .replace(
            "time for request:       20us     34.47ms       693us",
            "time for request:       20us     34.47ms       500us   2.00ms   3.00ms   693us",
        );
    assert_eq!(quantiles(&only(ExternalTool::H2load, &newer)), [(0.5, 0.5), (0.95, 2.0), (0.99, 3.0)]);
}

#[test]
fn hey() {
    let series = only(ExternalTool::Hey, report!("hey.txt"));
    assert_eq!((series.done, series.failed), (Some(9821), Some(0)));
    assert_eq!((series.duration_s, series.rate_per_s), (Some(1.0866), Some(9038.1378)));
    assert_eq!(quantiles(&series).last(), Some(&(0.99, 4.6)));
    let failed = read(report!("hey-errors.txt"));
    let only = &failed.series[0];
    assert_eq!((only.done, only.failed, only.mean_ms, only.rate_per_s), (Some(0), Some(100), None, None));
    assert!(failed.unknown.iter().any(|unknown| unknown.contains("the rate of responses")), "{failed:#?}");
}

#[test]
fn vegeta_as_text_and_as_json() {
    let text = only(ExternalTool::Vegeta, report!("vegeta.txt"));
    let json = only(ExternalTool::Vegeta, report!("vegeta.json"));
    for series in [&text, &json] {
        assert_eq!((series.done, series.failed), (Some(400), Some(0)));
        assert!((series.rate_per_s.expect("a rate") - 200.6).abs() < 0.01, "{series:#?}");
        assert!((series.duration_s.expect("a length") - 1.994).abs() < 0.001, "{series:#?}");
        let shown: Vec<_> = quantiles(series).iter().map(|(q, ms)| (*q, (ms * 1e3).round() / 1e3)).collect();
        assert_eq!(shown, [(0.5, 0.155), (0.9, 0.824), (0.95, 4.782), (0.99, 19.902)]);
        assert!((series.min_ms.expect("a least time") - 0.037_917).abs() < 1e-9, "{series:#?}");
    }
}

#[test]
fn requests_of_vegeta_without_a_response_failed() {
    let text = report!("vegeta.txt").replace("200:400", "0:3  200:390  301:5  503:2");
    let json = report!("vegeta.json").replace("\"200\":400", "\"0\":3,\"200\":390,\"301\":5,\"503\":2");
    for series in [only(ExternalTool::Vegeta, &text), only(ExternalTool::Vegeta, &json)] {
        assert_eq!((series.done, series.failed), (Some(395), Some(5)), "{series:#?}");
    }
}

#[test]
fn autocannon() {
    let result = read(report!("autocannon.json"));
    let series = &result.series[0];
    assert_eq!((series.done, series.failed, series.connections), (Some(29_144), Some(0), Some(4)));
    assert_eq!((series.mean_ms, series.max_ms, series.quantile(0.999)), (Some(0.04), Some(71.0), Some(7.0)));
    // Its least time is 1 ms, and its median 0 ms.
    assert_eq!((series.min_ms, series.quantile(0.5)), (None, Some(0.0)));
    assert!(result.unknown.iter().any(|unknown| unknown.starts_with("least time of ")), "{result:#?}");
    let failed = only(ExternalTool::Autocannon, report!("autocannon-errors.json"));
    assert_eq!((failed.done, failed.failed), (Some(0), Some(18_436)));
    assert!(failed.quantiles.is_empty() && failed.mean_ms.is_none(), "{failed:#?}");
}

#[test]
fn hyperfine() {
    let result = read(report!("hyperfine.json"));
    let names: Vec<_> = result.series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(names, ["true", "sleep 0.01"]);
    let second = &result.series[1];
    assert_eq!((second.done, second.failed), (Some(10), Some(0)));
    assert!((second.mean_ms.expect("a mean") - 11.726_507_5).abs() < 1e-9, "{second:#?}");
    assert!((second.quantile(0.5).expect("a median") - 11.562_607_5).abs() < 1e-9, "{second:#?}");
}

#[test]
fn locust() {
    let result = read(report!("locust.csv"));
    let names: Vec<_> = result.series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(names, ["GET //", "GET b, with a comma", "Aggregated"]);
    let all = &result.series[2];
    assert_eq!((all.done, all.failed), (Some(3222), Some(0)));
    assert_eq!((all.quantile(0.5), all.quantile(0.999)), (Some(1.0), Some(48.0)));
}

#[test]
fn k6_in_both_forms() {
    let export = r#"{"metrics": {"http_reqs": {"count": 50, "rate": 24.5},
        "http_req_failed": {"passes": 5, "fails": 45, "value": 0.1},
        "http_req_duration": {"avg": 1.5, "min": 0.5, "med": 1.25, "max": 9, "p(90)": 3, "p(99.9)": 8.5},
        "dropped_iterations": {"count": 7, "rate": 1}, "vus_max": {"value": 3, "min": 3, "max": 3}}}"#;
    let summary = r#"{"state": {"testRunDurationMs": 2040.8}, "metrics": {
        "http_reqs": {"type": "counter", "values": {"count": 50, "rate": 24.5}},
        "http_req_failed": {"type": "rate", "values": {"passes": 5, "fails": 45, "rate": 0.1}},
        "http_req_duration": {"type": "trend", "contains": "time",
            "values": {"avg": 1.5, "min": 0.5, "med": 1.25, "max": 9, "p(90)": 3, "p(99.9)": 8.5}},
        "dropped_iterations": {"type": "counter", "values": {"count": 7, "rate": 1}},
        "vus_max": {"type": "gauge", "values": {"value": 3, "min": 3, "max": 3}}}}"#;
    for text in [export, summary] {
        let result = read(text);
        let series = &result.series[0];
        assert_eq!((result.tool, series.done, series.failed), (ExternalTool::K6, Some(45), Some(5)));
        assert_eq!((series.connections, series.rate_per_s), (Some(3), Some(24.5)));
        assert_eq!(quantiles(series), [(0.5, 1.25), (0.9, 3.0), (0.999, 8.5)]);
        assert!(result.unknown.iter().any(|unknown| unknown.starts_with("7 iterations")), "{result:#?}");
    }
}

#[test]
fn oha() {
    let text = r#"{"summary": {"successRate": 1, "total": 2.5, "slowest": 0.03, "fastest": 0.0002, "average": 0.001,
        "requestsPerSec": 400.5}, "latencyPercentiles": {"p10": 0.0003, "p50": 0.0009, "p99.99": 0.03},
        "statusCodeDistribution": {"200": 990, "503": 10},
        "errorDistribution": {"aborted due to deadline": 4, "connection refused": 2}}"#;
    let series = only(ExternalTool::Oha, text);
    assert_eq!((series.done, series.failed, series.rate_per_s), (Some(1000), Some(2), Some(400.5)));
    assert_eq!((series.mean_ms, series.max_ms), (Some(1.0), Some(30.0)));
    assert_eq!(series.quantile(0.9999), Some(30.0));
    let real = only(ExternalTool::Oha, report!("oha.json"));
    assert_eq!((real.done, real.failed, real.quantiles.len()), (Some(500), Some(0), 9));
    assert!((real.quantile(0.99).expect("p99") - 9.635_872).abs() < 1e-9, "{real:#?}");
}

#[test]
fn what_is_no_report_is_none() {
    for text in
        ["", "{", "{}", "[1]", "GET http://127.0.0.1/\n", "{\"metrics\": {}}", "{\"results\": []}", "Running"]
    {
        assert_eq!(read_report(text), None, "{text}");
    }
}

#[test]
fn forms_that_cannot_be_read_name_the_one_that_can() {
    let advised = |text: &str, part: &str| {
        let error = read_report(text).expect("a tool").expect_err("it can't be read").to_string();
        assert!(error.contains(part), "{error}");
    };
    advised("Running 1s test @ http://127.0.0.1:1/\n│ Latency │ 0 ms │\n", "autocannon -j");
    advised("command,mean,stddev,median,user,system,min,max\ntrue,1,1,1,1,1,1,1\n", "--export-json");
    advised("response-time,DNS+dialup,DNS,Request-write\n0.1,0,0,0\n", "leave -o csv out");
    advised("    http_req_duration..: avg=14.56ms\n    http_reqs: 1671\n", "--summary-export");
}

#[test]
fn damaged_reports_are_refused_by_name() {
    let refused = |text: String, part: &str| {
        let error = read_report(&text).expect("a tool").expect_err("it is damaged");
        assert!(error.to_string().contains(part), "{error}");
        assert!(!matches!(error, ReportError::Form { .. }));
    };
    refused(report!("ab.txt").replace("2000\n", "-3\n"), "`-3` is no whole number");
    refused(report!("ab.txt").replace("Complete requests:", "Requests:"), "without Complete requests:");
    refused(report!("wrk.txt").replace("94.00us", "94.00xs"), "`94.00xs` is no time span");
    refused(report!("vegeta.json").replace("\"200\":400", "\"200\":\"many\""), "is no whole number");
    refused(report!("locust.csv").replace("14,48,72,72", "14,48,72"), "as many cells");
    refused(report!("h2load.txt").replace("5495.74 req/s", "inf req/s"), "`inf` is no number");
}

#[test]
fn what_contradicts_itself_is_left_out() {
    let falls = read(&report!("wrk.txt").replace("17.22ms", "1.00ms"));
    assert!(falls.series[0].quantiles.is_empty(), "{falls:#?}");
    assert!(falls.unknown.iter().any(|unknown| unknown.starts_with("quantiles of ")), "{falls:#?}");
    let small = read(&report!("wrk.txt").replace("34.64ms", "16.00ms"));
    assert_eq!(small.series[0].max_ms, None, "{small:#?}");
    let mean = read(&report!("h2load.txt").replace("      693us", "       10us"));
    assert_eq!(mean.series[0].mean_ms, None, "{mean:#?}");
}

#[test]
fn real_reports_are_known_and_ordered() {
    for (tool, text) in REPORTS {
        let result = read(text);
        assert_eq!(result.tool, tool);
        for series in &result.series {
            assert_ordered(series);
        }
    }
}

fn assert_ordered(series: &ExternalSeries) {
    let mut times: Vec<f64> = series.min_ms.into_iter().collect();
    times.extend(series.quantiles.iter().map(|quantile| quantile.ms));
    times.extend(series.max_ms);
    assert!(times.is_sorted(), "{series:#?}");
}

proptest! {
    #[test]
    fn no_damage_panics_or_breaks_the_order(which in 0..REPORTS.len(), at in 0..1000_usize, with in "[-0-9.eE%,\\[\\]{}\"a-z\n ]{0,4}", cut in 0..40_usize) {
        let text = REPORTS[which].1;
        let mut from = text.len() * at / 1000;
        while !text.is_char_boundary(from) {
            from -= 1;
        }
        let mut to = (from + cut).min(text.len());
        while !text.is_char_boundary(to) {
            to += 1;
        }
        let damaged = format!("{}{with}{}", &text[..from], &text[to..]);
        if let Some(Ok(result)) = read_report(&damaged) {
            for series in &result.series {
                assert_ordered(series);
            }
        }
    }
}
