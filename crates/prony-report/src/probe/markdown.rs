//! The probe's report as Markdown: the same facts in the same order as the text.

use std::fmt::Write as _;

use prony_model::{LaterPhases, PhaseSummary, ProbePhase, ProbeResult, ProbedRequest};

use super::facts::{self, name, phase_text, shown, time_cell, until};
use crate::clean::clean;
use crate::markdown::escaped;
use crate::number::count;

/// The report.
pub fn markdown(result: &ProbeResult) -> String {
    let verdict = facts::verdict(result);
    let choices: Vec<String> = facts::choices(result).iter().map(|part| escaped(part)).collect();
    let advice = verdict.advice.map(|advice| format!(" — {}", escaped(&advice))).unwrap_or_default();
    let mut text =
        format!("{}\n\n**{}** {}{advice}\n", choices.join(" · "), verdict.word, escaped(&verdict.text));
    if result.plan.count > 1 && !result.requests.is_empty() {
        // Writing to a `String` can't fail.
        let _ = writeln!(text, "\n- status {}", escaped(&facts::endings(result).join(" · ")));
    }
    if let Some(first) = result.requests.first() {
        if result.plan.count > 1 {
            text.push_str("\nThe first request:\n");
        }
        request(&mut text, first);
    }
    if let Some(later) = &result.later {
        text.push_str("\nThe good requests after the first:\n\n");
        self::later(&mut text, later);
    }
    text
}

fn request(text: &mut String, request: &ProbedRequest) {
    text.push('\n');
    for (label, sentence) in facts::traffic(request) {
        let _ = writeln!(text, "- {label} {}", escaped(&sentence));
    }
    if let (Some(line), Some(response)) = (facts::status_line(request), &request.response) {
        // Indented code: nothing that stands in a line can end it. After a list, the paragraph makes it one.
        let _ = writeln!(text, "\nThe head:\n\n    {}", clean(&line));
        for (name, value) in &response.headers {
            let _ = writeln!(text, "    {}", clean(&format!("{name}: {value}")));
        }
    }
    let phases: Vec<ProbePhase> = shown(&request.phases).collect();
    let total = time_cell(request.phases.total_ms);
    text.push('\n');
    let mut row = |name: &str, cells: &mut dyn Iterator<Item = String>, last: &str| {
        let cells: Vec<String> = cells.collect();
        let _ = writeln!(text, "| {name} | {} | {last} |", cells.join(" | "));
    };
    row("ms", &mut phases.iter().map(|phase| name(*phase).to_owned()), "total");
    row(":--", &mut phases.iter().map(|_| "--:".to_owned()), "--:");
    row("phase", &mut phases.iter().map(|phase| phase_text(request, *phase)), &total);
    row("until then", &mut phases.iter().map(|phase| time_cell(until(request, *phase))), &total);
    let notes = facts::notes(request);
    if !notes.is_empty() {
        text.push('\n');
    }
    for (label, sentence) in notes {
        let _ = writeln!(text, "- {label}: {}", escaped(&sentence));
    }
}

fn later(text: &mut String, later: &LaterPhases) {
    text.push_str("| ms | min | median | max | n |\n|:--|--:|--:|--:|--:|\n");
    let mut row = |name: &str, summary: &PhaseSummary| {
        let times = [summary.min_ms, summary.median_ms, summary.max_ms].map(time_cell);
        let _ = writeln!(text, "| {name} | {} | {} |", times.join(" | "), count(summary.count));
    };
    for phase in ProbePhase::ALL.into_iter().filter(|phase| later.of(*phase).count > 0) {
        row(name(phase), later.of(phase));
    }
    row("total", &later.total);
    if let Some(note) = facts::without_median(later) {
        let _ = writeln!(text, "\n- {note}");
    }
}
