//! ab's report as text.

use std::fmt::Write as _;

use super::Facts;
use super::times::{Row, Times};
use crate::clean;

/// Columns of a label.
const LABEL: usize = 24;

/// Everything below the empty lines under the progress.
pub(super) fn report(facts: &Facts<'_>) -> String {
    let mut text = String::new();
    what(&mut text, facts);
    counts(&mut text, facts);
    rates(&mut text, facts);
    if let Some(times) = facts.requests.times() {
        self::times(&mut text, facts, &times);
    }
    text
}

/// `label`, a colon, and `value` in its column.
fn line(text: &mut String, label: &str, value: &str) {
    // Writing to a `String` can't fail.
    let _ = writeln!(text, "{:<LABEL$}{value}", format!("{label}:"));
}

/// The server and the document.
fn what(text: &mut String, facts: &Facts<'_>) {
    line(text, "Server Software", &facts.server());
    line(text, "Server Hostname", &clean(&facts.options.host));
    line(text, "Server Port", &facts.options.port.to_string());
    text.push('\n');
    line(text, "Document Path", &clean(&facts.options.path));
    line(text, "Document Length", &facts.document_length());
    text.push('\n');
}

/// What became of the requests; lines about what did not happen are left out, as ab does.
fn counts(text: &mut String, facts: &Facts<'_>) {
    line(text, "Concurrency Level", &facts.concurrency().to_string());
    line(text, "Time taken for tests", &format!("{:.3} seconds", facts.took_s()));
    line(text, "Complete requests", &facts.complete().to_string());
    let failures = facts.failures();
    line(text, "Failed requests", &failures.total().to_string());
    if failures.total() > 0 {
        let _ = writeln!(
            text,
            "   (Connect: {}, Receive: {}, Length: {}, Exceptions: {})",
            failures.connect, failures.receive, failures.length, failures.exceptions
        );
    }
    if facts.non_2xx() > 0 {
        line(text, "Non-2xx responses", &facts.non_2xx().to_string());
    }
    if facts.options.keep_alive {
        line(text, "Keep-Alive requests", &facts.kept_alive().to_string());
    }
    let bytes = &facts.result.bytes;
    line(text, "Total transferred", &format!("{} bytes", bytes.received));
    if facts.options.sends_body {
        line(text, "Total body sent", &bytes.sent.to_string());
    }
    line(text, "HTML transferred", &format!("{} bytes", bytes.body_received));
}

fn rates(text: &mut String, facts: &Facts<'_>) {
    let complete = facts.complete();
    let Some(per_s) = facts.per_s(complete) else { return };
    let bytes = &facts.result.bytes;
    let kilobytes_per_s = |bytes| facts.per_s(bytes).unwrap_or_default() / 1024.0;
    let across_all_ms = 1000.0 / per_s;
    line(text, "Requests per second", &format!("{per_s:.2} [#/sec] (mean)"));
    let per_request_ms = across_all_ms * f64::from(facts.concurrency());
    line(text, "Time per request", &format!("{per_request_ms:.3} [ms] (mean)"));
    let value = format!("{across_all_ms:.3} [ms] (mean, across all concurrent requests)");
    line(text, "Time per request", &value);
    line(text, "Transfer rate", &format!("{:.2} [Kbytes/sec] received", kilobytes_per_s(bytes.received)));
    if facts.options.sends_body {
        for (what, bytes) in [("sent", bytes.sent), ("total", bytes.received + bytes.sent)] {
            let _ = writeln!(text, "{:LABEL$}{:.2} kb/s {what}", "", kilobytes_per_s(bytes));
        }
    }
}

/// The tables of times.
fn times(text: &mut String, facts: &Facts<'_>, times: &Times<'_>) {
    text.push_str("\nConnection Times (ms)\n");
    let rows = [
        ("Connect:", "the initial connection time", times.connect()),
        ("Processing:", "the processing time", times.processing()),
        ("Waiting:", "the waiting time", times.waiting()),
        ("Total:", "the total time", times.total()),
    ];
    if facts.options.confidence {
        text.push_str("              min  mean[+/-sd] median   max\n");
        for (label, _, row) in &rows {
            let Row { min_ms, mean_ms, deviation_ms, median_ms, max_ms } = row;
            let _ = writeln!(
                text,
                "{label:<12}{min_ms:5} {mean_ms:4} {deviation_ms:5.1} {median_ms:6} {max_ms:7}"
            );
        }
        text.extend(rows.iter().filter_map(|(_, what, row)| doubt(what, row)));
    } else {
        text.push_str("              min   avg   max\n");
        for (label, _, Row { min_ms, mean_ms, max_ms, .. }) in &rows {
            let _ = writeln!(text, "{label:<12}{min_ms:5} {mean_ms:5}{max_ms:5}");
        }
    }
    if facts.options.percentiles && times.requests().len() > 1 {
        text.push_str("\nPercentage of the requests served within a certain time (ms)\n");
        for (percent, ms) in times.served() {
            let longest = if percent == 100 { " (longest request)" } else { "" };
            let _ = writeln!(text, "{:>5}  {ms:5}{longest}", format!("{percent}%"));
        }
    }
}

/// ab's warning about a mean and a median that are far apart, measured by the standard deviation.
fn doubt(what: &str, row: &Row) -> Option<String> {
    let apart_ms = row.mean_ms.abs_diff(row.median_ms) as f64;
    if apart_ms > 2.0 * row.deviation_ms {
        return Some(format!(
            "ERROR: The median and mean for {what} are more than twice the standard\n       \
             deviation apart. These results are NOT reliable.\n"
        ));
    }
    (apart_ms > row.deviation_ms).then(|| {
        format!(
            "WARNING: The median and mean for {what} are not within a normal deviation\n        \
             These results are probably not that reliable.\n"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(mean_ms: u64, median_ms: u64, deviation_ms: f64, expected: Option<&str>) {
        let row = Row { min_ms: 0, mean_ms, deviation_ms, median_ms, max_ms: 100 };
        let message = doubt("the total time", &row);
        assert_eq!(message.as_deref().and_then(|message| message.split(':').next()), expected, "{row:?}");
    }

    #[test]
    fn means_far_from_the_median_are_doubted() {
        check(5, 5, 0.0, None);
        check(7, 5, 2.0, None);
        check(8, 5, 2.0, Some("WARNING"));
        check(5, 8, 2.0, Some("WARNING"));
        check(10, 5, 2.0, Some("ERROR"));
    }
}
