//! The report for a terminal.

use prony_model::{OverloadOutcome, OverloadResult, OverloadRun, Verdict};
use unicode_width::UnicodeWidthStr;

use super::facts::{self, COLUMNS};
use crate::Style;
use crate::page::{Colour, Page};
use crate::text::{finding, severity_word};

/// Columns of the answer's word; `METASTABLE` and two spaces fit.
const ANSWER: usize = 12;
/// Columns of the name of a phase.
const PHASE: usize = 8;

/// The report; no line is wider than `style` says.
pub fn text(result: &OverloadResult, style: &Style) -> String {
    let mut page = Page::new(style);
    page.parts(&facts::manner(result));
    page.gap();
    for run in &result.runs {
        let (word, sentence) = facts::answer(result, run);
        page.worded(word, ANSWER, Some(colour(&run.outcome, result.verdict)), &sentence);
    }
    for run in &result.runs {
        page.gap();
        phases(&mut page, run);
        for (name, detail) in facts::details(run) {
            page.labelled(name, None, &detail);
        }
    }
    page.gap();
    for found in &result.findings {
        finding(&mut page, severity_word(found.severity), None, found);
    }
    for note in &result.notes {
        page.labelled("note", None, note);
    }
    page.finish()
}

fn colour(outcome: &OverloadOutcome, verdict: Verdict) -> Colour {
    match (outcome, verdict) {
        (OverloadOutcome::Carried | OverloadOutcome::Recovered { .. }, Verdict::Valid) => Colour::Green,
        (OverloadOutcome::Carried | OverloadOutcome::Recovered { .. }, Verdict::Doubtful) => Colour::Yellow,
        _ => Colour::Red,
    }
}

/// A line for each phase of a run, and below it what was not good.
fn phases(page: &mut Page, run: &OverloadRun) {
    let rows: Vec<[String; 8]> = run.phases.iter().map(facts::cells).collect();
    let mut widths = COLUMNS.map(UnicodeWidthStr::width);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
        }
    }
    // What does not fit is left out from the right.
    let mut shown = COLUMNS.len();
    while PHASE + widths[..shown].iter().map(|width| width + 2).sum::<usize>() > page.style().columns() {
        shown -= 1;
    }
    let line = |name: &str, cells: &[String]| -> String {
        let padded = cells.iter().zip(widths).take(shown).map(|(cell, width)| format!("  {cell:>width$}"));
        format!("{name:PHASE$}{}", padded.collect::<String>())
    };
    page.line(facts::clients(run));
    page.line(&line("", &COLUMNS.map(str::to_owned)));
    for (phase, row) in run.phases.iter().zip(&rows) {
        page.line(&line(phase.phase.name(), row));
        let failures = facts::failures(phase);
        if !failures.is_empty() {
            page.labelled("", None, &failures);
        }
    }
}
