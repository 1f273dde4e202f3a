//! The latency table, as cells: one unit, three significant digits, a dash where a number is withheld.

use prony_model::{FindingCode, LatencySummary, Load, RunResult};

use crate::number::{cell, count, dash, or_dash};

/// The quantiles that the table shows, with their headings; the stored result has more.
const SHOWN: [(&str, &str); 4] = [("0.5", "p50"), ("0.9", "p90"), ("0.99", "p99"), ("0.999", "p99.9")];

/// A first byte that comes at less than this share of the service time is worth a row of its own.
const FIRST_BYTE_SHARE: f64 = 0.95;
/// Our own lateness is shown in a closed loop from this share of the response time on: the same bound from
/// which it is a finding (docs/findings.md#send-lag).
const LAG_SHARE: f64 = 0.05;

/// A unit that a whole table is written in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Unit {
    pub(crate) name: &'static str,
    /// Units in a millisecond.
    pub(crate) per_ms: f64,
}

impl Unit {
    const MICROSECONDS: Self = Self { name: "µs", per_ms: 1e3 };
    const MILLISECONDS: Self = Self { name: "ms", per_ms: 1.0 };
    const SECONDS: Self = Self { name: "s", per_ms: 1e-3 };

    /// The unit in which the typical response is neither a tiny fraction nor a long number.
    pub(crate) fn of(result: &RunResult) -> Self {
        let summary = result.figures().response;
        let typical_ms = quantile(summary, "0.5").or(summary.mean_ms).unwrap_or(1.0);
        match typical_ms {
            typical if typical < 0.1 => Self::MICROSECONDS,
            typical if typical >= 1000.0 => Self::SECONDS,
            _ => Self::MILLISECONDS,
        }
    }

    /// `ms` milliseconds in this unit.
    pub(crate) fn cell(self, ms: f64) -> String {
        cell(ms * self.per_ms)
    }
}

/// The whole table.
pub(crate) struct Table {
    pub(crate) unit: Unit,
    pub(crate) rows: Vec<Row>,
    /// What the dashes mean, and the intervals.
    pub(crate) notes: Vec<String>,
}

/// One clock.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) cells: Vec<String>,
    /// The least, for reports that have the room.
    pub(crate) min: String,
}

/// The headings over [`Row::cells`].
pub(crate) fn headings() -> Vec<&'static str> {
    SHOWN.iter().map(|(_, heading)| *heading).chain(["max", "mean", "n"]).collect()
}

/// Which of the kernel's delays the table shows beside the clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KernelRows {
    /// Network and server alone.
    Network,
    /// Also the client's own: until a request left, and from an answer's arrival on.
    All,
}

/// The latency table of `result`; both clocks always, the others where they say something.
pub(crate) fn table(result: &RunResult, kernel: KernelRows) -> Table {
    let unit = Unit::of(result);
    let latency = &result.latency;
    let figures = result.figures();
    let mut shown = vec![("response", figures.response)];
    if is_kernel_response_worth_a_row(result) {
        shown.push(("by kernel", &latency.kernel_response));
    }
    shown.push(("service", figures.service));
    if is_early(&latency.first_byte, figures.service) {
        shown.push(("1st byte", &latency.first_byte));
    }
    if let Some(events) = result.events.as_ref().filter(|events| events.events > 0) {
        shown.push(("1st event", &events.first_response));
        shown.push(("1st, sent", &events.first_service));
        shown.push(("between", &events.between));
    }
    if let Some(retries) = result.retries.as_ref().filter(|retries| retries.recovered > 0) {
        shown.push(("recovered", &retries.recovered_response));
    }
    if latency.connect.count > 0 {
        shown.push(("connect", &latency.connect));
    }
    if let Some(tls) = &result.tls {
        let handshakes = &tls.handshakes;
        let rows = [("handshake", &handshakes.full_latency), ("resumed", &handshakes.resumed_latency)];
        shown.extend(rows.into_iter().filter(|(_, summary)| summary.count > 0));
    }
    if is_lag_worth_a_row(result) {
        shown.push(("lag", figures.lag));
    }
    if latency.blocked.max_ms.is_some_and(|max| max > 0.0) {
        shown.push(("blocked", &latency.blocked));
    }
    let of_the_kernel = [
        ("departure", &latency.departure, KernelRows::All),
        ("network", &latency.network, KernelRows::Network),
        ("arrival", &latency.arrival, KernelRows::All),
    ];
    let wanted = of_the_kernel
        .into_iter()
        .filter(|(_, summary, rows)| summary.count > 0 && (*rows == KernelRows::Network || kernel == *rows));
    shown.extend(wanted.map(|(name, summary, _)| (name, summary)));
    let rows = shown.iter().map(|(name, summary)| row(name, summary, unit)).collect();
    let notes = notes(&shown, unit);
    Table { unit, rows, notes }
}

fn quantile(summary: &LatencySummary, key: &str) -> Option<f64> {
    summary.quantiles_ms.get(key).copied().flatten()
}

fn is_early(first_byte: &LatencySummary, service: &LatencySummary) -> bool {
    let medians = quantile(first_byte, "0.5").zip(quantile(service, "0.5"));
    medians.is_some_and(|(first_byte, service)| first_byte < FIRST_BYTE_SHARE * service)
}

/// Always in an open loop, where it shows how well the schedule was kept.
fn is_lag_worth_a_row(result: &RunResult) -> bool {
    let lag = result.figures().lag;
    let open = matches!(result.plan.load, Load::Open { .. });
    let tails = quantile(lag, "0.99").zip(quantile(result.figures().response, "0.99"));
    lag.count > 0 && (open || tails.is_some_and(|(lag, response)| lag > LAG_SHARE * response))
}

/// In an open loop, and wherever the client made its own tail, which this row is without. In a closed loop it is
/// otherwise what `network` says: nothing waits for a connection.
fn is_kernel_response_worth_a_row(result: &RunResult) -> bool {
    let open = matches!(result.plan.load, Load::Open { .. });
    let own_tail = result.findings.iter().any(|finding| {
        matches!(finding.code, FindingCode::TailBlame | FindingCode::SendLag | FindingCode::ReceiveDelay)
    });
    result.latency.kernel_response.count > 0 && (open || own_tail)
}

/// Both clocks of a run that is on.
pub(crate) fn so_far(result: &RunResult) -> Table {
    let unit = Unit::of(result);
    let rows = [("response", &result.latency.response), ("service", &result.latency.service)];
    Table {
        unit,
        rows: rows.into_iter().map(|(name, summary)| row(name, summary, unit)).collect(),
        notes: Vec::new(),
    }
}

fn row(name: &'static str, summary: &LatencySummary, unit: Unit) -> Row {
    let mut cells: Vec<String> = SHOWN
        .iter()
        .map(|(key, _)| match (quantile(summary, key), summary.withheld.get(*key)) {
            (Some(value), _) => unit.cell(value),
            (None, Some(note)) => or_dash(note.above_ms, |above| format!(">{}", unit.cell(above))),
            (None, None) => dash(),
        })
        .collect();
    for value in [summary.max_ms, summary.mean_ms] {
        cells.push(or_dash(value, |value| unit.cell(value)));
    }
    cells.push(count(summary.count));
    let min = or_dash(summary.min_ms, |value| unit.cell(value));
    Row { name, cells, min }
}

/// The intervals of the response time, and why numbers are withheld: one sentence for each reason.
fn notes(shown: &[(&'static str, &LatencySummary)], unit: Unit) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some((name, summary)) = shown.first() {
        notes.extend(intervals(name, summary, unit));
    }
    let mut reasons: Vec<(Mark, Vec<Place>)> = Vec::new();
    for (name, summary) in shown {
        for (mark, headings) in withheld(summary) {
            let at = reasons.iter().position(|(known, _)| *known == mark).unwrap_or_else(|| {
                reasons.push((mark, Vec::new()));
                reasons.len() - 1
            });
            let places = &mut reasons[at].1;
            match places.iter_mut().find(|(known, _)| *known == headings) {
                Some((_, names)) => names.push(name),
                None => places.push((headings, vec![name])),
            }
        }
    }
    notes.extend(reasons.into_iter().map(|((mark, reason), places)| {
        let places: Vec<String> = places
            .into_iter()
            .map(|(headings, names)| format!("{headings} of {}", names.join(", ")))
            .collect();
        format!("{mark} {}: {reason}", places.join("; "))
    }));
    notes
}

/// Headings, and the clocks under which their numbers are withheld.
type Place<'a> = (String, Vec<&'a str>);

/// The sign that stands in the place of a number, and why.
type Mark<'a> = (&'static str, &'a str);

/// The withheld numbers of one clock, as runs of neighbours with one mark, each with the reason of its first: the
/// reasons of the others follow from it, since they need more of the same. The stored result has all of them.
fn withheld(summary: &LatencySummary) -> Vec<(Mark<'_>, String)> {
    let mut runs: Vec<(Mark, Vec<&str>)> = Vec::new();
    for (key, heading) in SHOWN {
        let Some(note) = summary.withheld.get(key) else { continue };
        let sign = if note.above_ms.is_some() { ">" } else { "–" };
        match runs.last_mut() {
            Some(((known, _), headings)) if *known == sign => headings.push(heading),
            _ => runs.push(((sign, note.reason.as_str()), vec![heading])),
        }
    }
    let describe = |headings: Vec<&str>| match headings.as_slice() {
        [only] => (*only).to_owned(),
        [first, ..] => format!("{first} and above"),
        [] => String::new(),
    };
    runs.into_iter().map(|(mark, headings)| (mark, describe(headings))).collect()
}

fn intervals(name: &str, summary: &LatencySummary, unit: Unit) -> Option<String> {
    let parts: Vec<String> = SHOWN
        .iter()
        .filter_map(|(key, heading)| {
            let interval = summary.intervals_ms.get(*key)?;
            let hint = if interval.indicative { " (indicative)" } else { "" };
            Some(format!("{heading} {}–{}{hint}", unit.cell(interval.low), unit.cell(interval.high)))
        })
        .collect();
    (!parts.is_empty()).then(|| format!("{name}, 95 % intervals: {}", parts.join(", ")))
}
