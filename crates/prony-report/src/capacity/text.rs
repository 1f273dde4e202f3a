//! The report for a terminal.

use prony_model::{CapacityOutcome, CapacityResult, Verdict};
use unicode_width::UnicodeWidthStr;

use super::facts::{self, COLUMNS};
use crate::Style;
use crate::page::{Colour, Page};
use crate::text::{finding, severity_word};

/// Columns of the outcome of a trial; `✕ failed` and two spaces fit.
const OUTCOME: usize = 10;
/// Columns of the answer's word; `CAPACITY` and two spaces fit.
const ANSWER: usize = 10;

/// The report; no line is wider than `style` says.
pub fn text(result: &CapacityResult, style: &Style) -> String {
    let mut page = Page::new(style);
    page.parts(&facts::manner(result));
    page.gap();
    let (word, sentence) = facts::answer(result);
    let colour = match (&result.outcome, result.verdict) {
        (CapacityOutcome::Unknown { .. }, _) | (_, Verdict::Invalid) => Colour::Red,
        (_, Verdict::Doubtful) => Colour::Yellow,
        (_, Verdict::Valid) => Colour::Green,
    };
    page.worded(word, ANSWER, Some(colour), &sentence);
    if let Some(basis) = facts::basis(result) {
        page.labelled("", None, &basis);
    }
    let lines =
        [("law", facts::law(result)), ("limiter", facts::limiter(result)), ("peak", facts::peak(result))];
    for (label, line) in lines {
        if let Some(line) = line {
            page.labelled(label, None, &line);
        }
    }
    page.gap();
    trials(&mut page, result);
    page.gap();
    for found in &result.findings {
        finding(&mut page, severity_word(found.severity), None, found);
    }
    for note in &result.notes {
        page.labelled("note", None, note);
    }
    page.finish()
}

/// A line for each trial, and below it why.
fn trials(page: &mut Page, result: &CapacityResult) {
    let rows: Vec<[String; 7]> = result.trials.iter().map(facts::cells).collect();
    let mut widths = COLUMNS.map(UnicodeWidthStr::width);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
        }
    }
    // What does not fit is left out from the right.
    let mut shown = COLUMNS.len();
    while OUTCOME + widths[..shown].iter().map(|width| width + 2).sum::<usize>() > page.style().columns() {
        shown -= 1;
    }
    let line = |cells: &[String]| -> String {
        let padded = cells.iter().zip(widths).take(shown).map(|(cell, width)| format!("{cell:>width$}"));
        padded.collect::<Vec<_>>().join("  ")
    };
    let head = line(&COLUMNS.map(str::to_owned));
    page.line(&format!("{}{head}", " ".repeat(OUTCOME)));
    for (trial, row) in result.trials.iter().zip(&rows) {
        let mark = facts::mark(trial.outcome);
        let padding = " ".repeat(OUTCOME.saturating_sub(mark.width()));
        page.line(&format!("{mark}{padding}{}", line(row)));
        let why = facts::why(trial);
        if !why.is_empty() {
            page.labelled("", None, &why);
        }
    }
}
