//! The summary for a terminal: the verdict, what was missed, a table for every load, differences and
//! published figures, then why to doubt.

use prony_model::{
    Severity, StudyCell, StudyFailure, StudyFigure, StudyFinding, StudyMetric, StudyResult, ThresholdOutcome,
    Verdict,
};

use super::facts::{self, Column, Group};
use super::searches;
use super::sessions::{self, Part, Row, Time};
use crate::facts::verdict_word;
use crate::number::{count, dash, or_dash, plural};
use crate::page::{Colour, Page};
use crate::text::{finding, named_rows, severity_word};
use crate::{Style, compare, threshold};

/// Columns between two numbers at least.
const GAP: usize = 2;
/// Columns of a cell's name at most; a longer one gets a line of its own.
const LONGEST_NAME: usize = 32;
/// Lines of a target's log that are shown.
const LOG_LINES: usize = 4;

/// The summary of a study; no line is wider than `style` says.
pub fn text(result: &StudyResult, style: &Style) -> String {
    let mut page = Page::new(style);
    page.parts(std::slice::from_ref(&result.title));
    page.parts(&facts::choices(result));
    page.gap();
    let others = verdict(&mut page, result);
    thresholds(&mut page, result);
    for failure in &result.failures {
        failed(&mut page, result, failure);
    }
    for group in facts::groups(result).into_iter().chain(facts::by_agent(result)) {
        page.gap();
        table(&mut page, &group);
    }
    for comparison in &result.comparisons {
        page.gap();
        page.parts(&[format!(
            "{}: {} against {}",
            comparison.title,
            facts::cell_name(result, comparison.b),
            facts::cell_name(result, comparison.a)
        )]);
        compare::rows(&mut page, &comparison.metrics, comparison.margin);
    }
    published(&mut page, result);
    page.gap();
    for found in others {
        doubt(&mut page, severity_word(found.finding.severity), result, found);
    }
    page.finish()
}

/// The verdict, what it rests on, and the worst finding; returns the findings that are still to be printed.
fn verdict<'a>(page: &mut Page, result: &'a StudyResult) -> &'a [StudyFinding] {
    let colour = match result.verdict {
        Verdict::Valid => Colour::Green,
        Verdict::Doubtful => Colour::Yellow,
        Verdict::Invalid => Colour::Red,
    };
    page.labelled(verdict_word(result.verdict), Some(colour), &facts::grounds(result));
    match result.findings.split_first() {
        Some((worst, others)) if worst.finding.severity > Severity::Note => {
            doubt(page, "", result, worst);
            others
        }
        _ => &result.findings,
    }
}

fn doubt(page: &mut Page, label: &str, result: &StudyResult, found: &StudyFinding) {
    finding(page, label, None, &found.finding);
    page.labelled("", None, &facts::places(result, &found.places));
}

/// What was missed and what is unknown, one by one; what was met as a number.
fn thresholds(page: &mut Page, result: &StudyResult) {
    let all = result.thresholds.len() as u64;
    let of = |outcome| result.thresholds.iter().filter(move |one| one.evaluated.outcome == outcome);
    for one in of(ThresholdOutcome::Missed).chain(of(ThresholdOutcome::Undecided)) {
        let (word, colour) =
            (threshold::outcome_word(one.evaluated.outcome), threshold::colour(one.evaluated.outcome));
        let name = facts::cell_name(result, one.cell);
        page.labelled(word, colour, &format!("{name}: {}", threshold::sentence(&one.evaluated)));
    }
    let met = of(ThresholdOutcome::Met).count() as u64;
    if all > 0 {
        page.labelled("met", None, &format!("{met} of {}", plural(all, "threshold")));
    }
}

fn failed(page: &mut Page, result: &StudyResult, failure: &StudyFailure) {
    let name = facts::cell_name(result, failure.cell);
    page.labelled(
        "FAILED",
        Some(Colour::Red),
        &format!("{name}, repeat {}: {}", failure.repeat, failure.why),
    );
    let lines: Vec<&str> = failure.log_tail.lines().filter(|line| !line.trim().is_empty()).collect();
    for line in &lines[lines.len().saturating_sub(LOG_LINES)..] {
        page.labelled("", None, &format!("| {line}"));
    }
}

/// A line for each cell; a paragraph where that does not fit.
fn table(page: &mut Page, group: &Group) {
    if !group.title.is_empty() {
        page.parts(std::slice::from_ref(&group.title));
    }
    let columns: Vec<Column> = facts::columns(group.kind, false)
        .into_iter()
        .filter(|column| column.is_needed(&group.cells))
        .collect();
    let heading = |column: &Column| {
        let (heading, unit) = (column.heading(), column.unit());
        if unit.is_empty() { heading } else { format!("{heading} {unit}") }
    };
    let headings: Vec<String> = columns.iter().map(heading).collect();
    let rows: Vec<Vec<String>> =
        group.cells.iter().map(|cell| columns.iter().map(|column| column.shown(cell)).collect()).collect();
    let longest = group.cells.iter().map(|cell| cell.name.chars().count()).max().unwrap_or_default();
    let name = longest.min(LONGEST_NAME);
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([headings[column].chars().count()]).max().unwrap_or_default() + GAP
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    if name + widths.iter().sum::<usize>() > page.style().columns() {
        paragraphs(page, group, &headings, &rows);
    } else {
        let joined = |cells: &[String]| {
            let cells = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}"));
            cells.collect::<Vec<String>>().concat()
        };
        page.line(&format!("{:name$}{}", "", joined(&headings)));
        for (cell, row) in group.cells.iter().zip(&rows) {
            if cell.name.chars().count() > name {
                page.parts(std::slice::from_ref(&cell.name));
                page.line(&format!("{:name$}{}", "", joined(row)));
            } else {
                page.line(&format!("{:name$}{}", cell.name, joined(row)));
            }
        }
    }
    for cell in &group.cells {
        for part in sessions::parts(cell) {
            parts_of(page, cell, &part);
        }
        for line in searches::lines(cell) {
            page.labelled("search", None, &format!("{}: {line}", cell.name));
        }
    }
    for (cell, limiter) in group.cells.iter().filter_map(|cell| Some((cell, facts::limiter(cell)?))) {
        page.labelled("limiter", None, &format!("{}: {limiter}", cell.name));
    }
    for failures in group.cells.iter().filter_map(|cell| facts::failures(cell)) {
        page.labelled("failed", None, &failures);
    }
    for note in facts::notes(&group.cells, &columns) {
        page.labelled("note", None, &note);
    }
}

/// Steps and flows, or the stages, of one cell.
fn parts_of(page: &mut Page, cell: &StudyCell, part: &Part<'_>) {
    page.gap();
    page.parts(&[format!("{}: {}", cell.name, part.summary)]);
    let value = |figure: Option<&StudyFigure>| {
        let figure = figure.and_then(|figure| Some(facts::bare(figure.metric, figure.value?)));
        figure.unwrap_or_else(dash)
    };
    let columns = sessions::COLUMNS.iter().filter(|(key, ..)| *key != "service-p99");
    // Of a service time there is only the median.
    let short = |heading: &str| heading.trim_end_matches(" p50").to_owned();
    let mut headings: Vec<String> = columns.clone().map(|(_, heading, ..)| short(heading)).collect();
    headings.insert(1, "±".to_owned());
    headings.extend(["n", "failed"].map(str::to_owned));
    let row = |row: &Row<'_>| {
        let of = |(_, _, time, metric): &(_, _, Time, StudyMetric)| row.figure(*time, *metric);
        let mut cells: Vec<String> = columns.clone().map(|column| value(of(column))).collect();
        let half = row.figure(Time::Response, StudyMetric::P50).and_then(facts::half);
        cells.insert(1, half.unwrap_or_else(dash));
        cells.extend([count(row.done), count(row.failed)]);
        (row.name.clone(), cells)
    };
    let rows: Vec<_> = part.rows.iter().map(row).collect();
    named_rows(page, "ms", &headings, &rows);
    for note in sessions::notes(&part.rows) {
        page.labelled("note", None, &note);
    }
}

fn paragraphs(page: &mut Page, group: &Group, headings: &[String], rows: &[Vec<String>]) {
    for (cell, row) in group.cells.iter().zip(rows) {
        page.parts(std::slice::from_ref(&cell.name));
        let cells: Vec<String> =
            headings.iter().zip(row).map(|(heading, shown)| format!("{heading} {shown}")).collect();
        page.labelled("", None, &cells.join(", "));
    }
}

fn published(page: &mut Page, result: &StudyResult) {
    if result.published.is_empty() {
        return;
    }
    page.gap();
    let source = result.source.as_deref().map(|source| format!(" ({source})")).unwrap_or_default();
    let short = if result.short { ": the short form is no comparison" } else { "" };
    page.parts(&[format!("published{source} and measured{short}")]);
    for figure in &result.published {
        let measured = or_dash(figure.measured, |value| facts::value(figure.metric, value));
        page.labelled(
            &facts::ratio(figure.ratio),
            None,
            &format!(
                "{} of {}: {} published, {measured} here",
                facts::name(figure.metric),
                facts::cell_name(result, figure.cell),
                facts::as_written(figure.metric, figure.published),
            ),
        );
        for more in [&figure.source, &figure.note].into_iter().flatten() {
            page.labelled("", None, more);
        }
    }
}
