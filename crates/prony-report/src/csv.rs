//! The latencies of runs as CSV in the long form: one row for each run, clock and quantile. docs/formats.md
//! explains the columns.

use std::fmt::Write as _;

use prony_model::{Clock, LatencySummary, QUANTILES, RunResult};

/// The columns, and the line feed after them (RFC 4180 has CR LF; every reader takes both, and so do `cut` and
/// `awk`, which don't take CR).
pub const HEADER: &str = "file,started_at,target,outcome,clock,quantile,value_ms,low_ms,high_ms,n\n";

/// The rows of one run; `file` is where it was stored.
pub fn rows(file: &str, result: &RunResult) -> String {
    let run = [file, &result.timing.started_at, &result.plan.target.to_string()].map(field).join(",");
    let mut text = String::new();
    for clock in Clock::ALL {
        if let Some(summary) = result.summary(clock) {
            summary_rows(&format!("{run},,{}", clock.name()), summary, &mut text);
        }
    }
    if let Some(tls) = &result.tls {
        summary_rows(&format!("{run},,handshake"), &tls.handshakes.full_latency, &mut text);
        summary_rows(&format!("{run},,resumed"), &tls.handshakes.resumed_latency, &mut text);
    }
    for entry in &result.outcomes {
        let run = format!("{run},{}", field(&entry.outcome));
        summary_rows(&format!("{run},response"), &entry.response, &mut text);
        summary_rows(&format!("{run},service"), &entry.service, &mut text);
    }
    for stage in &result.stages {
        let clock = |name: &str| format!("{run},,{}", field(&format!("stage.{}.{name}", stage.name)));
        summary_rows(&clock("response"), &stage.response, &mut text);
        summary_rows(&clock("service"), &stage.service, &mut text);
    }
    for flow in result.scenario.iter().flat_map(|found| &found.flows) {
        let clock = |name: &str| format!("{run},,{}", field(&format!("flow.{}.{name}", flow.name)));
        summary_rows(&clock("time"), &flow.time, &mut text);
        summary_rows(&clock("time-without-think"), &flow.time_without_think, &mut text);
    }
    for step in result.scenario.iter().flat_map(|found| &found.steps) {
        let clock = |name: &str| format!("{run},,{}", field(&format!("step.{}.{name}", step.name)));
        summary_rows(&clock("response"), &step.response, &mut text);
        summary_rows(&clock("service"), &step.service, &mut text);
    }
    if let Some(figure) = result.server.as_ref().and_then(|server| server.cpu_per_request_us) {
        let ms = |us: f64| (us / 1e3).to_string();
        let (low, high) =
            figure.interval.map_or_else(Default::default, |interval| (ms(interval.low), ms(interval.high)));
        // Writing to a `String` can't fail.
        let _ =
            writeln!(text, "{run},,cpu-per-request,,{},{low},{high},{}", ms(figure.value), figure.requests);
    }
    text
}

/// A row for the least, for each quantile and for the greatest; none where nothing was recorded.
fn summary_rows(head: &str, summary: &LatencySummary, text: &mut String) {
    if summary.count == 0 {
        return;
    }
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let mut row = |quantile: &str, value: Option<f64>, low: Option<f64>, high: Option<f64>| {
        // Writing to a `String` can't fail.
        let _ = writeln!(
            text,
            "{head},{quantile},{},{},{},{}",
            number(value),
            number(low),
            number(high),
            summary.count
        );
    };
    row("0", summary.min_ms, None, None);
    for (key, _) in QUANTILES {
        let value = summary.quantiles_ms.get(key).copied().flatten();
        let interval = summary.intervals_ms.get(key);
        // A quantile that is only known to be greater has a lower end and no other.
        let above = summary.withheld.get(key).and_then(|note| note.above_ms);
        let low = interval.map(|interval| interval.low).or(above);
        row(key, value, low, interval.map(|interval| interval.high));
    }
    row("1", summary.max_ms, None, None);
}

/// `text` as a field: in quotes where it must be (RFC 4180, section 2).
pub(crate) fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let check = |text: &str, expected: &str| assert_eq!(field(text), expected);
        check("http://h:1/?a=b", "http://h:1/?a=b");
        check("a,b", "\"a,b\"");
        check("say \"so\"", "\"say \"\"so\"\"\"");
        check("two\nlines", "\"two\nlines\"");
    }
}
