//! The course of runs as CSV: one row for each second. docs/outputs.md explains the columns.

use std::fmt::Write as _;

use prony_model::RunResult;

use crate::csv::field;

/// The columns, and the line feed after them.
pub const HEADER: &str = "file,started_at,target,second,covered_s,sent,done,failed,received_bytes,done_per_s,p50_ms,p99_ms,max_ms,answered,service_p50_ms,service_p99_ms,service_max_ms\n";

/// The rows of one run; `file` is where it was stored.
pub fn rows(file: &str, result: &RunResult) -> String {
    let run = [file, &result.timing.started_at, &result.plan.target.to_string()].map(field).join(",");
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let mut text = String::new();
    for point in &result.series {
        let rate = (point.covered_s > 0.0).then(|| point.done as f64 / point.covered_s);
        // Writing to a `String` can't fail.
        let _ = writeln!(
            text,
            "{run},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
            point.second,
            point.covered_s,
            point.sent,
            point.done,
            point.failed,
            point.received_bytes,
            number(rate),
            number(point.p50_ms),
            number(point.p99_ms),
            number(point.max_ms),
            point.answered.map_or_else(String::new, |answered| answered.to_string()),
            number(point.service_p50_ms),
            number(point.service_p99_ms),
            number(point.service_max_ms),
        );
    }
    text
}
