//! The probe's report for a terminal: did it succeed, what came, where the time went, then what to know of it.

use prony_model::{LaterPhases, PhaseSummary, ProbeResult, ProbedRequest};
use unicode_width::UnicodeWidthStr as _;

use super::facts::{self, name, phase_text, shown, time_cell, until};
use super::picture::picture;
use crate::Style;
use crate::number::count;
use crate::page::{Colour, Page};

/// The report; no line is wider than `style` says.
pub fn text(result: &ProbeResult, style: &Style) -> String {
    let mut page = Page::new(style);
    page.parts(&facts::choices(result));
    page.gap();
    let verdict = facts::verdict(result);
    let colour = if verdict.good { Colour::Green } else { Colour::Red };
    page.labelled(verdict.word, Some(colour), &verdict.text);
    if let Some(advice) = verdict.advice {
        page.labelled("", None, &advice);
    }
    if result.plan.count > 1 && !result.requests.is_empty() {
        page.labelled("status", None, &facts::endings(result).join(" · "));
    }
    page.gap();
    if let Some(first) = result.requests.first() {
        if result.plan.count > 1 {
            page.line("the first request");
            page.gap();
        }
        request(&mut page, first);
    }
    if let Some(later) = &result.later {
        page.gap();
        self::later(&mut page, later);
    }
    page.finish()
}

/// One request: what went which way, the head, the phases, and what to know of them.
fn request(page: &mut Page, request: &ProbedRequest) {
    for (label, text) in facts::traffic(request) {
        page.labelled(label, None, &text);
    }
    page.gap();
    if let (Some(line), Some(response)) = (facts::status_line(request), &request.response) {
        page.labelled("head", None, &line);
        for (name, value) in &response.headers {
            page.labelled("", None, &format!("{name}: {value}"));
        }
        page.gap();
    }
    let (columns, unicode) = (page.style().columns(), page.style().unicode);
    match picture(request, columns, unicode) {
        Some(lines) => lines.iter().for_each(|line| page.fitted(line)),
        None => list(page, request),
    }
    page.gap();
    for (label, text) in facts::notes(request) {
        page.labelled(label, None, &text);
    }
}

/// The phases where the picture does not fit.
fn list(page: &mut Page, request: &ProbedRequest) {
    let mut rows: Vec<Row> = shown(&request.phases)
        .map(|phase| Row {
            name: name(phase),
            cells: vec![phase_text(request, phase), time_cell(until(request, phase))],
        })
        .collect();
    let total = request.phases.total_ms;
    rows.push(Row { name: "total", cells: vec![time_cell(total), time_cell(total)] });
    table(page, &["phase", "until then"], &rows);
}

/// The requests after the first one, phase by phase.
fn later(page: &mut Page, later: &LaterPhases) {
    page.line("the good requests after the first");
    page.gap();
    let row = |name, summary: &PhaseSummary| Row {
        name,
        cells: vec![
            time_cell(summary.min_ms),
            time_cell(summary.median_ms),
            time_cell(summary.max_ms),
            count(summary.count),
        ],
    };
    let mut rows: Vec<Row> = prony_model::ProbePhase::ALL
        .into_iter()
        .filter(|phase| later.of(*phase).count > 0)
        .map(|phase| row(name(phase), later.of(phase)))
        .collect();
    rows.push(row("total", &later.total));
    table(page, &["min", "median", "max", "n"], &rows);
    if let Some(note) = facts::without_median(later) {
        page.labelled("", None, note);
    }
}

/// A row of a table of milliseconds.
struct Row {
    name: &'static str,
    cells: Vec<String>,
}

/// Columns of a row's name: as wide as the label column.
const NAME: usize = 10;
/// Columns of a number at least, with the gap before it.
const CELL: usize = 10;

/// A table; where it does not fit, a paragraph for each row.
fn table(page: &mut Page, headings: &[&str], rows: &[Row]) {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.cells.get(column)).map(|cell| cell.width() + 2);
        cells.max().unwrap_or_default().max(headings[column].len() + 2).max(CELL)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    if NAME + widths.iter().sum::<usize>() > page.style().columns() {
        for row in rows {
            let cells: Vec<String> =
                headings.iter().zip(&row.cells).map(|(heading, cell)| format!("{heading} {cell}")).collect();
            page.labelled(row.name, None, &format!("{} (ms)", cells.join(", ")));
        }
        return;
    }
    let mut line = |name: &str, cells: &mut dyn Iterator<Item = &str>| {
        let cells = cells.zip(&widths).map(|(cell, width)| format!("{cell:>width$}"));
        page.line(&format!("{name:<NAME$}{}", cells.collect::<String>()));
    };
    line("ms", &mut headings.iter().copied());
    for row in rows {
        line(row.name, &mut row.cells.iter().map(String::as_str));
    }
}
