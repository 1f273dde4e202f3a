//! The report for a terminal: is it valid, did it succeed, how much, how long, then why.

use prony_model::{Finding, RunResult, Severity, Verdict};

use crate::bars::{bar, bins};
use crate::latency::{Table, headings, table};
use crate::number::{cell, count};
use crate::page::{Colour, Page};
use crate::{Style, facts, failures};

/// Columns of a row's name in the latency table: as wide as the label column.
const NAME: usize = 10;
/// Columns of a number; `>28,000` and a space fit.
const CELL: usize = 8;
/// Columns of the number of samples.
const SAMPLES: usize = 12;
/// Columns of a bar at most: longer ones say no more.
const BAR: usize = 48;

/// The report of one run; no line is wider than `style` says.
pub fn run(result: &RunResult, style: &Style) -> String {
    let mut page = Page::new(style);
    page.parts(&facts::choices(result));
    page.gap();
    let others = verdict(&mut page, result);
    success(&mut page, result);
    page.gap();
    throughput(&mut page, result);
    page.gap();
    if result.requests.done > 0 {
        latencies(&mut page, &table(result));
        page.gap();
        distribution(&mut page, result);
        page.gap();
    }
    for finding in others {
        let label = match finding.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Invalid => "invalid",
        };
        self::finding(&mut page, label, None, finding);
    }
    page.finish()
}

/// The verdict with its reason; returns the findings that are still to be told.
fn verdict<'a>(page: &mut Page, result: &'a RunResult) -> &'a [Finding] {
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
fn finding(page: &mut Page, label: &str, colour: Option<Colour>, finding: &Finding) {
    page.labelled(label, colour, &finding.message);
    let anchor = format!("(docs/findings.md#{})", finding.code.name());
    page.labelled("", None, format!("{} {anchor}", finding.advice).trim_start());
}

fn success(page: &mut Page, result: &RunResult) {
    let (share, text) = facts::success(result);
    let colour = (result.requests.done == 0).then_some(Colour::Red);
    page.labelled("SUCCESS", colour, &format!("{share:<9} {text}"));
    for row in failures::rows(result) {
        page.labelled("", None, &format!("{:<9} {} {}", row.share, row.count, row.kind));
        page.labelled("", None, &row.first);
    }
    if let Some(statuses) = failures::statuses(result) {
        page.labelled("status", None, &statuses.join(" · "));
    }
}

fn throughput(page: &mut Page, result: &RunResult) {
    let (label, text) = facts::throughput(result);
    page.labelled(label, None, &text);
    if let Some(text) = facts::connections(result) {
        page.labelled("sockets", None, &text);
    }
}

fn latencies(page: &mut Page, table: &Table) {
    let headings = headings();
    let numbers = headings.len() - 1;
    if page.style().columns() < NAME + numbers * CELL + SAMPLES {
        narrow_latencies(page, table);
    } else {
        let line = |name: &str, cells: &[&str]| {
            let (samples, numbers) = cells.split_last().map_or(("", cells), |(last, rest)| (*last, rest));
            let numbers: Vec<String> = numbers.iter().map(|number| format!("{number:>CELL$}")).collect();
            format!("{name:<NAME$}{}{samples:>SAMPLES$}", numbers.concat())
        };
        page.line(&line(table.unit.name, &headings));
        for row in &table.rows {
            page.line(&line(row.name, &row.cells.iter().map(String::as_str).collect::<Vec<_>>()));
        }
    }
    for note in &table.notes {
        page.labelled("", None, note);
    }
}

/// The table where it does not fit: a paragraph for each clock.
fn narrow_latencies(page: &mut Page, table: &Table) {
    let unit = table.unit.name;
    for row in &table.rows {
        let said: Vec<String> =
            headings().iter().zip(&row.cells).map(|(heading, cell)| format!("{heading} {cell}")).collect();
        page.labelled(row.name, None, &format!("{} ({unit})", said.join(", ")));
    }
}

/// A line for each bin of the response time: its lower bound, the bar, the number of requests.
fn distribution(page: &mut Page, result: &RunResult) {
    const NS_PER_MS: f64 = 1e6;
    let bins = bins(&result.histograms.response);
    let Some(most) = bins.iter().map(|bin| bin.count).max() else { return };
    let unit = crate::latency::Unit::of(result);
    let unicode = page.style().unicode;
    let axis = if unicode { "▏" } else { "|" };
    let samples = count(most).len() + 1;
    let columns = (page.style().columns() - NAME - 1 - samples).min(BAR);
    for bin in &bins {
        let low = cell(unit.of_ms(bin.low_ns / NS_PER_MS));
        let drawn = bar(bin.count as f64 / most as f64, columns, unicode);
        let number = if bin.count == 0 { String::new() } else { format!(" {}", count(bin.count)) };
        page.drawing(&format!("{low:>NAME$}"), axis, &drawn, &number);
    }
}
