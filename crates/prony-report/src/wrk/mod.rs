//! The report of wrk 4, line for line, so that what reads wrk's output can read ours.
//!
//! [`head`] comes before the load, [`Rates`] takes in what each thread did, and [`report`] draws it all.
//!
//! wrk adds latencies that it did not measure, to make up for requests that it did not send while it waited
//! ("coordinated omission"); these numbers are the measured ones. wrk prints `-nan%` where there is nothing to
//! count; here it is `0.00%`.

mod rates;
mod spread;
mod units;

pub use rates::Rates;

use std::fmt::Write as _;
use std::time::Duration;

use prony_model::{ErrorKind, RunResult};
use prony_stats::Histogram;

use self::spread::Spread;
use self::units::{binary, column, metric, time_s, time_us};
use crate::clean;

/// The quantiles of `--latency`.
const QUANTILES: [(u32, f64); 4] = [(50, 0.5), (75, 0.75), (90, 0.9), (99, 0.99)];

/// What stands on stdout before the load; `url` as it was typed.
pub fn head(url: &str, duration: Duration, threads: u32, connections: u32) -> String {
    format!(
        "Running {} test @ {}\n  {threads} threads and {connections} connections\n",
        time_s(duration.as_secs_f64()),
        clean(url)
    )
}

/// What stands on stdout after the load; with `latency`, also the distribution.
pub fn report(result: &RunResult, rates: &Rates, latency: bool) -> String {
    let service = service_times(result);
    let mut text = format!("  Thread Stats{:>6}{:>11}{:>8}{:>12}\n", "Avg", "Stdev", "Max", "+/- Stdev");
    text.push_str(&row("Latency", &Spread::of_times(&service), time_us));
    text.push_str(&row("Req/Sec", &Spread::of_rates(rates), metric));
    if latency {
        text.push_str("  Latency Distribution\n");
        for (percent, quantile) in QUANTILES {
            let time = service.value_at_quantile(quantile).unwrap_or_default() / 1000;
            // Writing to a `String` can't fail.
            let _ = writeln!(text, "{percent:7}%{}", column(&time_us(time as f64), 10));
        }
    }
    totals(&mut text, result);
    text
}

/// The lines below the tables.
fn totals(text: &mut String, result: &RunResult) {
    let answered = result.requests.answered;
    let received = result.bytes.received as f64;
    // wrk's clock runs until its threads have ended.
    let took_s = result.timing.measured_s + result.timing.drain_s;
    let per_s = |count: f64| if took_s > 0.0 { count / took_s } else { 0.0 };
    let _ = writeln!(text, "  {answered} requests in {}, {}B read", time_us(took_s * 1e6), binary(received));
    let errors = SocketErrors::of(result);
    if errors != SocketErrors::default() {
        let SocketErrors { connect, read, write, timeout } = errors;
        let _ = writeln!(
            text,
            "  Socket errors: connect {connect}, read {read}, write {write}, timeout {timeout}"
        );
    }
    let unexpected: u64 =
        result.statuses.iter().filter(|(status, _)| **status > 399).map(|(_, count)| count).sum();
    if unexpected > 0 {
        let _ = writeln!(text, "  Non-2xx or 3xx responses: {unexpected}");
    }
    let _ = writeln!(text, "Requests/sec: {:9.2}", per_s(answered as f64));
    let _ = writeln!(text, "Transfer/sec: {:>10}B", binary(per_s(received)));
}

/// One row of the table.
fn row(name: &str, spread: &Spread, format: fn(f64) -> String) -> String {
    format!(
        "    {name:<10}{}{}{}{:8.2}%\n",
        column(&format(spread.mean), 8),
        column(&format(spread.deviation), 10),
        column(&format(spread.max), 9),
        100.0 * spread.within
    )
}

/// Service times of all complete answers, of whatever status: wrk distinguishes them only by counting.
fn service_times(result: &RunResult) -> Histogram {
    let mut all = Histogram::new();
    for outcome in result.outcomes.iter().filter(|outcome| is_answer(&outcome.outcome)) {
        // A result that was altered by hand has nothing to show.
        if let Ok(histogram) = Histogram::from_base64_v2(&outcome.service_histogram.data) {
            all.add(&histogram);
        }
    }
    all
}

/// Whether an outcome stands for a complete answer: a class of status codes, expected or not.
fn is_answer(outcome: &str) -> bool {
    let class = outcome.strip_prefix("unexpected-").unwrap_or(outcome);
    class.len() == 3 && class.ends_with("xx")
}

/// Failures by wrk's kinds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct SocketErrors {
    connect: u64,
    read: u64,
    write: u64,
    timeout: u64,
}

impl SocketErrors {
    /// A failure to send is only seen when the answer is awaited: `write` stays 0.
    fn of(result: &RunResult) -> Self {
        let mut errors = Self::default();
        for (kind, count) in &result.requests.failed_by_kind {
            match kind {
                ErrorKind::Status | ErrorKind::CheckFailed => {}
                ErrorKind::Refused
                | ErrorKind::ConnectTimeout
                | ErrorKind::NoPort
                | ErrorKind::NoDescriptor
                | ErrorKind::Unreachable
                | ErrorKind::Certificate => errors.connect += count,
                ErrorKind::Reset
                | ErrorKind::ClosedEarly
                | ErrorKind::ClosedReused
                | ErrorKind::Protocol
                | ErrorKind::Tls
                | ErrorKind::StreamReset
                | ErrorKind::Other => errors.read += count,
                ErrorKind::RequestTimeout => errors.timeout += count,
            }
        }
        errors
    }
}
