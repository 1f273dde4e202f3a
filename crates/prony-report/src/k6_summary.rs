//! The summary that k6 writes with `--summary-export`, for what reads that: metrics by k6's names as far as they mean the
//! same. docs/outputs.md has the table.
//!
//! Source of the format: grafana/k6, `internal/js/summary-wrapper.js` and `internal/js/summary.go`.

use prony_model::{LatencySummary, RunResult};
use serde_json::{Map, Value, json};

/// The MD5 of nothing, which is the id of k6's root group.
const ROOT_GROUP: &str = "d41d8cd98f00b204e9800998ecf8427e";
/// Quantiles by k6's names.
const QUANTILES: [(&str, &str); 7] = [
    ("med", "0.5"),
    ("p(75)", "0.75"),
    ("p(90)", "0.9"),
    ("p(95)", "0.95"),
    ("p(99)", "0.99"),
    ("p(99.9)", "0.999"),
    ("p(99.99)", "0.9999"),
];

/// One run.
pub fn run(result: &RunResult) -> String {
    let requests = &result.requests;
    let ended = requests.done + requests.failed;
    let measured_s = result.timing.measured_s;
    let counter = |count: u64| {
        let rate = if measured_s > 0.0 { count as f64 / measured_s } else { 0.0 };
        json!({ "count": count, "rate": rate })
    };
    let share = |count: u64| if ended > 0 { count as f64 / ended as f64 } else { 0.0 };
    let connections = &result.connections;
    let mut metrics = Map::new();
    let mut add = |name: &str, value: Value| metrics.insert(name.to_owned(), value);
    add("http_reqs", counter(ended));
    // k6 counts whether a request failed: those that did are its passes.
    add(
        "http_req_failed",
        json!({ "passes": requests.failed, "fails": requests.done, "value": share(requests.failed) }),
    );
    add("dropped_iterations", counter(requests.never_sent));
    add("data_sent", counter(result.bytes.sent));
    add("data_received", counter(result.bytes.received));
    add("vus_max", json!({ "value": connections.asked, "min": connections.asked, "max": connections.asked }));
    let latency = &result.latency;
    for (name, summary) in [
        ("http_req_duration", &latency.service),
        ("http_req_blocked", &latency.blocked),
        ("http_req_connecting", &latency.connect),
        ("http_req_waiting", &latency.first_byte),
        ("response_time", &latency.response),
    ] {
        if summary.count > 0 {
            add(name, trend(summary));
        }
    }
    let findings: Vec<&str> = result.findings.iter().map(|finding| finding.code.name()).collect();
    let summary = json!({
        "metrics": metrics,
        "root_group": { "name": "", "path": "", "id": ROOT_GROUP, "groups": {}, "checks": {} },
        "state": { "testRunDurationMs": measured_s * 1e3 },
        // What k6 has no place for.
        "prony": { "verdict": result.verdict.name(), "findings": findings },
    });
    serde_json::to_string_pretty(&summary).expect("invariant: names and numbers are JSON") + "\n"
}

/// Milliseconds. A quantile that is withheld is absent.
fn trend(summary: &LatencySummary) -> Value {
    let named = [("avg", summary.mean_ms), ("min", summary.min_ms), ("max", summary.max_ms)];
    let quantiles = QUANTILES.map(|(name, key)| (name, summary.quantiles_ms.get(key).copied().flatten()));
    let known = named.into_iter().chain(quantiles);
    known.filter_map(|(name, value)| Some((name.to_owned(), json!(value?)))).collect::<Map<_, _>>().into()
}
