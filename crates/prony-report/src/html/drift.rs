//! What drifts in a soak: the server's memory and the response time, each with its slope, interval and number of samples.

use prony_model::{Interval, LatencyDrift, MemoryGrowth, RunResult};

use crate::number::{bytes, count, fixed, or_dash, signed_percent};
use crate::study::{Content, Table, Word, numbers, words};

const MIB: f64 = 1024.0 * 1024.0;

/// What is known of drifts; `None` where nothing is.
pub(super) fn table(result: &RunResult) -> Option<Table> {
    let memory = result.server.as_ref().and_then(|server| Some((server, server.memory_growth_bytes_per_h?)));
    if memory.is_none() && result.drift.is_empty() {
        return None;
    }
    let columns = vec![
        words("verdict", "verdict"),
        numbers("slope", "slope"),
        words("interval", "95 % interval"),
        words("in-all", "in all"),
        numbers("n", "n"),
    ];
    let mut table = Table::new("drift", "Slopes over the measured part", "of", columns);
    if let Some((server, growth)) = memory {
        let cells = memory_cells(&growth, server.requests, result.plan.stages.is_some());
        let head = Content::noted("server's memory", format!("resident, of {}", server.own.name));
        table.row("memory", head, cells);
    }
    for drift in &result.drift {
        let head = Content::noted(format!("{} response time", drift.quantile), "of parts of the run");
        table.row(&drift.quantile, head, latency_cells(drift));
    }
    Some(table)
}

fn memory_cells(growth: &MemoryGrowth, requests: u64, rate_changes: bool) -> [Content; 5] {
    let slope = |bytes_per_h: f64| fixed(bytes_per_h / MIB, 1);
    [
        Content::Word(memory_word(growth, rate_changes)),
        format!("{} MiB/h", slope(growth.value)).into(),
        interval(growth.interval, slope).into(),
        format!("{} for each of {} requests", bytes_signed(growth.bytes_per_request), count(requests)).into(),
        Content::noted(count(growth.samples), "samples"),
    ]
}

fn memory_word(growth: &MemoryGrowth, rate_changes: bool) -> Word {
    match growth.interval {
        _ if growth.is_leak => Word::new("care", "▲ grew all along"),
        _ if rate_changes => Word::new("soft", "• not evaluated: the rate changes"),
        Some(interval) if interval.low > 0.0 => Word::new("soft", "• grew, but not all along"),
        _ => Word::new("good", "✓ no growth seen"),
    }
}

fn latency_word(drift: &LatencyDrift) -> Word {
    if drift.is_drift {
        Word::new("care", "▲ drifted all along")
    } else {
        Word::new("good", "✓ no drift seen")
    }
}

fn latency_cells(drift: &LatencyDrift) -> [Content; 5] {
    let slope = |ms: f64| fixed(ms, 3);
    [
        Content::Word(latency_word(drift)),
        format!("{} ms/h", slope(drift.per_hour_ms)).into(),
        interval(Some(drift.interval), slope).into(),
        Content::noted(signed_percent(drift.change), format!("Kendall's tau {}", fixed(drift.tau, 2))),
        Content::noted(count(drift.parts), "parts"),
    ]
}

fn interval(interval: Option<Interval>, slope: impl Fn(f64) -> String) -> String {
    or_dash(interval, |ends| format!("{} to {}", slope(ends.low), slope(ends.high)))
}

fn bytes_signed(value: f64) -> String {
    if value < 0.0 { format!("−{}", bytes(-value)) } else { bytes(value) }
}
