//! The report for a terminal: is it valid, did it succeed, how much, how long, then why.

use prony_model::{Finding, RunResult, Severity, Verdict};

use crate::bars::{bars, drawn};
use crate::latency::{KernelRows, Table, Unit, headings, table};
use crate::number::count;
use crate::page::{Colour, Page};
use crate::{
    Style, facts, failures, replay, retries, scenario, server, slowest, stages, threshold, tls, traces,
};

/// Columns of a row's name in the latency table: as wide as the label column.
const NAME: usize = 10;
/// Columns of a number at least; `>28,000` and a space fit.
const CELL: usize = 8;
/// Columns of the number of samples at least.
const SAMPLES: usize = 12;
/// Columns of a bin's edge at least: the axis stands under the numbers of the labelled lines.
const EDGE: usize = 8;
/// Fewer responses than this have no shape; the table says all there is.
const FEWEST: u64 = 20;
/// Columns of a bar at most: longer ones say no more.
const BAR: usize = 48;

/// The report of one run; no line is wider than `style` says.
pub fn run(result: &RunResult, style: &Style) -> String {
    let mut page = Page::new(style);
    page.parts(&facts::choices(result));
    page.gap();
    let others = verdict(&mut page, result);
    success(&mut page, result);
    threshold::lines(&mut page, &result.thresholds);
    page.gap();
    throughput(&mut page, result);
    limiter(&mut page, result);
    page.gap();
    if result.requests.done > 0 {
        latencies(&mut page, &table(result, KernelRows::Network));
        page.gap();
        stages(&mut page, result);
        steps(&mut page, result);
        distribution(&mut page, result);
        page.gap();
    }
    slowest(&mut page, result);
    traces(&mut page, result);
    labelled(&mut page, others);
    page.finish()
}

/// The first few of the slowest requests.
fn slowest(page: &mut Page, result: &RunResult) {
    for (index, line) in slowest::brief(result).iter().enumerate() {
        page.labelled(if index == 0 { "slowest" } else { "" }, None, line);
    }
    page.gap();
}

/// The slowest traced requests, over the whole width.
fn traces(page: &mut Page, result: &RunResult) {
    let Some(summary) = traces::summary(result) else { return };
    page.labelled("traces", None, &summary);
    let (rows, unit) = traces::rows(result);
    let line = |[response, service, status, sent, trace]: [&str; 5], unit: &str| {
        format!("{unit:<2}{response:>10} {service:>9}  {status:<8} {sent:<12}  {trace}")
    };
    if !rows.is_empty() {
        page.fitting(&line(traces::HEADINGS, unit));
    }
    for row in rows {
        page.fitting(&line(row.cells.each_ref().map(String::as_str), ""));
        if !row.notes.is_empty() {
            page.labelled("", None, &row.notes.join(" · "));
        }
        if let Some(link) = row.link {
            page.unbroken(&link);
        }
    }
    page.gap();
}

/// Findings alone, each with its severity.
pub fn findings(findings: &[Finding], style: &Style) -> String {
    let mut page = Page::new(style);
    labelled(&mut page, findings);
    page.finish()
}

pub(crate) fn labelled(page: &mut Page, findings: &[Finding]) {
    for finding in findings {
        self::finding(page, severity_word(finding.severity), None, finding);
    }
}

/// The word for a severity.
pub(crate) fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Invalid => "invalid",
    }
}

/// The verdict with its reason; returns the findings that are still to be printed.
pub(crate) fn verdict<'a>(page: &mut Page, result: &'a RunResult) -> &'a [Finding] {
    let colour = match result.verdict {
        Verdict::Valid => Colour::Green,
        Verdict::Doubtful => Colour::Yellow,
        Verdict::Invalid => Colour::Red,
    };
    let word = facts::verdict_word(result.verdict);
    let (worst, others) = facts::split_findings(result);
    match worst {
        Some(worst) => finding(page, word, Some(colour), worst),
        None => page.labelled(word, Some(colour), &facts::client(result)),
    }
    others
}

/// What was seen, what to do, and where it is explained.
pub(crate) fn finding(page: &mut Page, label: &str, colour: Option<Colour>, finding: &Finding) {
    page.labelled(label, colour, &finding.message);
    let more = format!("(prony explain {})", finding.code.name());
    page.labelled("", None, format!("{} {more}", finding.advice).trim_start());
}

pub(crate) fn success(page: &mut Page, result: &RunResult) {
    let (share, text) = facts::success(result);
    let colour = (result.requests.done == 0).then_some(Colour::Red);
    page.labelled("SUCCESS", colour, &format!("{share:<9} {text}"));
    for row in failures::rows(result) {
        page.labelled("", None, &format!("{:<9} {} {}", row.share, row.count, row.kind));
        page.inset(&row.first);
    }
    if let Some(statuses) = failures::statuses(result) {
        page.labelled("status", None, &statuses.join(" · "));
    }
}

pub(crate) fn throughput(page: &mut Page, result: &RunResult) {
    let throughput = facts::throughput(result);
    page.labelled(throughput.label, None, &throughput.parts.join("     "));
    if let Some(note) = throughput.note {
        page.labelled("", None, &note);
    }
    if let Some(text) = scenario::sessions(result) {
        page.labelled("sessions", None, &text);
    }
    for (label, text) in replay::lines(result) {
        page.labelled(label, None, &text);
    }
    if let Some(text) = scenario::decoding(result) {
        page.labelled("decoded", None, &text);
    }
    for (index, line) in retries::lines(result).iter().enumerate() {
        page.labelled(if index == 0 { "retries" } else { "" }, None, line);
    }
    if let Some(text) = facts::events(result) {
        page.labelled("events", None, &text);
    }
    if let Some(text) = facts::connections(result) {
        page.labelled("sockets", None, &text);
    }
    for (index, line) in tls::lines(result).iter().enumerate() {
        page.labelled(if index == 0 { "TLS" } else { "" }, None, line);
    }
    if let Some(parts) = server::parts(result) {
        page.labelled("server", None, &parts.join("   "));
    }
    for line in server::dependants(result) {
        page.labelled("", None, &line);
    }
    let requests = &result.requests;
    let is_shown = requests.censored > 0 || requests.answered > 0 && result.rate.answered_per_s <= 0.0;
    if let Some(text) = facts::traffic(result).filter(|_| is_shown) {
        page.labelled("sent", None, &text);
    }
}

/// What would have to change for twice the rate.
pub(crate) fn limiter(page: &mut Page, result: &RunResult) {
    if let Some(limiter) = &result.limiter {
        page.labelled("limiter", None, &limiter.sentence);
    }
}

fn latencies(page: &mut Page, table: &Table) {
    let headings: Vec<String> = headings().into_iter().map(str::to_owned).collect();
    let widths = widths(&headings, table);
    if page.style().columns() < NAME + widths.iter().sum::<usize>() {
        narrow_latencies(page, table);
    } else {
        let line = |name: &str, cells: &[String]| {
            let cells: Vec<String> =
                cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
            format!("{name:<NAME$}{}", cells.concat())
        };
        page.line(&line(table.unit.name, &headings));
        for row in &table.rows {
            page.line(&line(row.name, &row.cells));
        }
    }
    for note in &table.notes {
        page.labelled("", None, note);
    }
}

/// Stages of a rate that changes.
fn stages(page: &mut Page, result: &RunResult) {
    let Some(table) = stages::table(result) else { return };
    named_rows(page, table.unit, &table.headings, &table.rows);
    page.gap();
}

/// Steps and flows of a scenario.
fn steps(page: &mut Page, result: &RunResult) {
    let Some(table) = scenario::table(result) else { return };
    named_rows(page, table.unit, &table.headings, &table.rows);
    for note in &table.notes {
        page.inset(note);
    }
    page.gap();
}

/// A line for each row, or a paragraph where that does not fit. `corner` is what all times are in.
pub(crate) fn named_rows(page: &mut Page, corner: &str, headings: &[String], rows: &[(String, Vec<String>)]) {
    let names = rows.iter().map(|(name, _)| name.chars().count());
    let name_width = names.max().unwrap_or_default().max(NAME - 1) + 1;
    let cells = |column: usize| {
        let cells = rows.iter().map(move |(_, cells)| cells[column].chars().count());
        cells.max().unwrap_or_default().max(headings[column].chars().count()) + 2
    };
    let widths: Vec<usize> = (0..headings.len()).map(cells).collect();
    let line = |name: &str, cells: &[String]| {
        let cells: Vec<String> =
            cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        format!("{name:<name_width$}{}", cells.concat())
    };
    if name_width + widths.iter().sum::<usize>() > page.style().columns() {
        for (name, cells) in rows {
            let named = headings.iter().zip(cells).filter(|(_, cell)| !cell.is_empty());
            let parts: Vec<String> = named.map(|(heading, cell)| format!("{heading} {cell}")).collect();
            page.inset(&format!("{}: {} ({corner})", name.trim(), parts.join(", ")));
        }
    } else {
        page.line(&line(corner, headings));
        for (name, cells) in rows {
            page.line(&line(name, cells));
        }
    }
}

/// Columns for each number: the usual ones, and more where a number needs more.
fn widths(headings: &[String], table: &Table) -> Vec<usize> {
    let longest = |column: usize| {
        let cells = table.rows.iter().filter_map(|row| row.cells.get(column));
        cells.map(|cell| cell.chars().count() + 1).max().unwrap_or_default()
    };
    let least = |column: usize| if column + 1 == headings.len() { SAMPLES } else { CELL };
    (0..headings.len()).map(|column| longest(column).max(least(column))).collect()
}

/// The table where it does not fit: a paragraph for each clock.
fn narrow_latencies(page: &mut Page, table: &Table) {
    let unit = table.unit.name;
    for row in &table.rows {
        let cells: Vec<String> =
            headings().iter().zip(&row.cells).map(|(heading, cell)| format!("{heading} {cell}")).collect();
        page.labelled(row.name, None, &format!("{} ({unit})", cells.join(", ")));
    }
}

/// A line for each bin of the response time: its lower edge, the bar, the number of requests.
fn distribution(page: &mut Page, result: &RunResult) {
    let unit = Unit::of(result);
    let bars = bars(result.figures().response_histogram, unit.per_ms);
    let Some(most) = bars.iter().map(|bar| bar.count).max() else { return };
    if bars.iter().map(|bar| bar.count).sum::<u64>() < FEWEST {
        return;
    }
    let unicode = page.style().unicode;
    let axis = if unicode { "▏" } else { "|" };
    let edges = bars.iter().map(|bar| bar.low.len()).max().unwrap_or_default().max(EDGE);
    let numbers: Vec<String> = bars
        .iter()
        .map(|bar| match (bar.count, bar.up_to_ms) {
            (0, _) => String::new(),
            (number, None) => format!(" {}", count(number)),
            // The exact maximum where it is known; the histogram has that of its bucket.
            (number, Some(end)) => {
                let end = result.figures().response.max_ms.unwrap_or(end);
                format!(" {}, up to {}", count(number), unit.cell(end))
            }
        })
        .collect();
    let widest = numbers.iter().map(String::len).max().unwrap_or_default();
    let columns = page.style().columns().saturating_sub(edges + 2 + widest).min(BAR);
    for (bar, number) in bars.iter().zip(&numbers) {
        let picture = drawn(bar.count as f64 / most as f64, columns, unicode);
        page.drawing(&format!("{:>edges$} ", bar.low), axis, &picture, number);
    }
}
