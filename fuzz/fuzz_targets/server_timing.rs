//! Feeds any bytes as the values of `Server-Timing` fields: the parser must never panic, must keep its bounds, and
//! must find in what it would itself write exactly what it had found before.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_http::ServerTiming;
use prony_http::server_timing::{METRICS_MAX, PROBLEMS_MAX};

/// The metrics of `timing` as a field value.
fn written(timing: &ServerTiming) -> String {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let metrics = timing.metrics.iter().map(|metric| {
        let duration = metric.duration_ms.map(|ms| format!(";dur={ms:e}")).unwrap_or_default();
        let description = metric.description.as_ref().map(|text| format!(";desc=\"{}\"", quoted(text)));
        format!("{}{duration}{}", metric.name, description.unwrap_or_default())
    });
    metrics.collect::<Vec<_>>().join(", ")
}

fuzz_target!(|input: &[u8]| {
    // A line feed can't stand in a field value, so it may separate them here.
    let timing = ServerTiming::parse(input.split(|byte| *byte == b'\n'));
    assert!(timing.metrics.len() <= METRICS_MAX && timing.problems.len() <= PROBLEMS_MAX);
    for metric in &timing.metrics {
        assert!(metric.duration_ms.is_none_or(|ms| ms.is_finite() && ms >= 0.0), "{metric:?}");
    }
    for problem in &timing.problems {
        assert!(problem.to_string().is_ascii() || problem.metric.len() > 64, "{problem:?}");
    }
    let again = ServerTiming::parse([written(&timing).as_bytes()]);
    assert_eq!(again.metrics, timing.metrics);
    assert!(again.problems.is_empty(), "{:?}", again.problems);
});
