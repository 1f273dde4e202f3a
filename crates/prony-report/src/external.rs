//! Reports of other tools as Prony shows them, alone and beside a run of Prony: the same facts as text and as Markdown.

use std::fmt::Write as _;

use prony_model::{ExternalClock, ExternalQuantile, ExternalResult, ExternalSeries, ExternalTool, RunResult};

use crate::Style;
use crate::facts;
use crate::markdown::escaped;
use crate::number::{cell, count, dash, plural, rate, seconds, significant};
use crate::page::Page;

/// The quantiles that are shown, and their headings; JSON has all of them.
const SHOWN: [(f64, &str); 5] = [(0.5, "p50"), (0.9, "p90"), (0.95, "p95"), (0.99, "p99"), (0.999, "p99.9")];
/// Columns of a figure at least.
const CELL: usize = 9;
/// Columns of a figure's name.
const NAME: usize = 10;
/// Why there is no verdict.
const NO_VERDICT: &str = "no verdict: a report holds the figures of one run, without their spread. For a verdict, measure \
                          both with `prony compare URL URL`";

/// The report for a terminal; no line is wider than `style` says.
pub fn text(result: &ExternalResult, style: &Style) -> String {
    let mut page = Page::new(style);
    for series in &result.series {
        page.gap();
        page.parts(&parts(result.tool, series));
        let times = times(series);
        if !times.is_empty() {
            let widest = times.iter().map(|(_, value)| value.len() + 1).max().unwrap_or_default();
            let cell = CELL.max(widest);
            // As many to a line as fit.
            let most = (page.style().columns().saturating_sub(NAME) / cell).max(1);
            for (index, chunk) in times.chunks(most).enumerate() {
                let row = |cells: &mut dyn Iterator<Item = &str>| {
                    cells.map(|text| format!("{text:>cell$}")).collect::<Vec<_>>().concat()
                };
                let label = if index == 0 { "ms" } else { "" };
                page.fitting(&format!("{label:<NAME$}{}", row(&mut chunk.iter().map(|(name, _)| *name))));
                page.fitting(&format!(
                    "{:<NAME$}{}",
                    "",
                    row(&mut chunk.iter().map(|(_, value)| value.as_str()))
                ));
            }
        }
    }
    page.gap();
    page.labelled("clock", None, result.tool.clock().words());
    for unknown in &result.unknown {
        page.labelled("unknown", None, unknown);
    }
    page.finish()
}

/// The report as Markdown.
pub fn markdown(result: &ExternalResult) -> String {
    let mut text = String::new();
    for series in &result.series {
        let parts: Vec<String> = parts(result.tool, series).iter().map(|part| escaped(part)).collect();
        // Writing to a `String` can't fail.
        let _ = writeln!(text, "{}\n", parts.join(" · "));
        let times = times(series);
        if !times.is_empty() {
            let row = |cells: &mut dyn Iterator<Item = &str>| cells.collect::<Vec<_>>().join(" | ");
            let _ = writeln!(text, "| ms | {} |", row(&mut times.iter().map(|(name, _)| *name)));
            let _ = writeln!(text, "| :-- | {} |", row(&mut times.iter().map(|_| "--:")));
            let _ = writeln!(text, "| | {} |\n", row(&mut times.iter().map(|(_, value)| value.as_str())));
        }
    }
    let _ = writeln!(text, "- clock: {}", escaped(result.tool.clock().words()));
    for unknown in &result.unknown {
        let _ = writeln!(text, "- unknown: {}", escaped(unknown));
    }
    text
}

/// Who measured what, and how much; each part is one fact.
fn parts(tool: ExternalTool, series: &ExternalSeries) -> Vec<String> {
    let mut parts = vec![format!("as {} reported", tool.name())];
    if series.name != tool.name() {
        parts.push(series.name.clone());
    }
    let is_command = tool.clock() == ExternalClock::Command;
    let what = if is_command { "run" } else { "response" };
    parts.push(series.done.map_or_else(|| format!("number of {what}s unknown"), |done| plural(done, what)));
    parts.extend(series.failed.map(|failed| format!("{} failed", count(failed))));
    parts.extend(series.rate_per_s.map(|per_s| format!("{} /s", rate(per_s))));
    parts.extend(series.duration_s.map(|length| format!("in {}", seconds(length))));
    let who = if tool == ExternalTool::K6 { "user" } else { "connection" };
    parts.extend(series.connections.map(|number| plural(number, who)));
    parts
}

/// Names and values of the times, in increasing order.
fn times(series: &ExternalSeries) -> Vec<(&'static str, String)> {
    figures(series).filter_map(|(name, value)| Some((name, cell(value?)))).collect()
}

fn figures(series: &ExternalSeries) -> impl Iterator<Item = (&'static str, Option<f64>)> {
    let quantiles = SHOWN.map(|(q, name)| (name, series.quantile(q)));
    [("min", series.min_ms)].into_iter().chain(quantiles).chain([
        ("max", series.max_ms),
        ("mean", series.mean_ms),
        ("sd", series.sd_ms),
    ])
}

/// The figures of `result` that reports of other tools have, on `clock` as far as Prony has it.
pub fn of_run(name: &str, result: &RunResult, clock: ExternalClock) -> ExternalResult {
    let figures = result.figures();
    let summary = if clock == ExternalClock::Response { figures.response } else { figures.service };
    let quantiles = summary
        .quantiles_ms
        .iter()
        .filter_map(|(q, ms)| Some(ExternalQuantile { q: q.parse().ok()?, ms: (*ms)? }));
    let mut result_of = ExternalResult::new(
        ExternalTool::Prony,
        vec![ExternalSeries {
            name: name.to_owned(),
            done: Some(figures.requests.done),
            failed: Some(figures.requests.failed),
            connections: None,
            duration_s: Some(result.timing.measured_s),
            rate_per_s: Some(figures.rate.done_per_s),
            min_ms: summary.min_ms,
            mean_ms: summary.mean_ms,
            sd_ms: summary.stddev_ms,
            max_ms: summary.max_ms,
            quantiles: quantiles.collect(),
        }],
    );
    if let (Some(worst), _) = facts::split_findings(result) {
        let word = facts::verdict_word(result.verdict);
        result_of.unknown.push(format!("what its figures are worth: {word}, {}", worst.message));
    }
    result_of
}

/// One side of a comparison with a report of another tool.
#[derive(Debug, Clone, Copy)]
pub struct ExternalSide<'a> {
    /// The file.
    pub name: &'a str,
    /// What it holds.
    pub result: &'a ExternalResult,
    /// What of it is compared.
    pub series: &'a ExternalSeries,
}

/// Two reports beside each other, of which at least one is another tool's, for a terminal.
pub fn beside_text(sides: [ExternalSide<'_>; 2], style: &Style) -> String {
    let mut page = Page::new(style);
    for (letter, side) in ["A", "B"].iter().zip(&sides) {
        page.labelled(letter, None, &named(side));
    }
    page.gap();
    let line = |cells: [&str; 3]| cells.map(|cell| format!("{cell:>CELL$}")).concat();
    page.line(&format!("{:<NAME$}{}", "", line(["A", "B", "B / A"])));
    for row in rows(sides) {
        page.line(&format!("{:<NAME$}{}", row.name, line([&row.a, &row.b, &row.ratio])));
    }
    page.gap();
    for (label, note) in notes(sides) {
        page.labelled(label, None, &note);
    }
    page.finish()
}

/// The same as Markdown.
pub fn beside_markdown(sides: [ExternalSide<'_>; 2]) -> String {
    let mut text = String::new();
    for (letter, side) in ["A", "B"].iter().zip(&sides) {
        // Writing to a `String` can't fail.
        let _ = writeln!(text, "- {letter}: {}", escaped(&named(side)));
    }
    let _ = writeln!(text, "\n| | A | B | B / A |\n| :-- | --: | --: | --: |");
    for row in rows(sides) {
        let _ = writeln!(text, "| {} | {} | {} | {} |", row.name, row.a, row.b, row.ratio);
    }
    text.push('\n');
    for (label, note) in notes(sides) {
        let _ = writeln!(text, "- {label}: {}", escaped(&note));
    }
    text
}

fn named(side: &ExternalSide<'_>) -> String {
    let mut parts = vec![side.name.to_owned()];
    parts.extend(self::parts(side.result.tool, side.series));
    parts.join(", ")
}

struct Row {
    name: String,
    a: String,
    b: String,
    ratio: String,
}

/// What both sides have.
fn rows(sides: [ExternalSide<'_>; 2]) -> Vec<Row> {
    let [a, b] = sides.map(|side| side.series);
    let times = figures(a).zip(figures(b)).map(|((name, a), (_, b))| (format!("{name} ms"), a, b, false));
    let rates = [("rate /s".to_owned(), a.rate_per_s, b.rate_per_s, true)];
    let row = |(name, a, b, is_rate): (String, Option<f64>, Option<f64>, bool)| {
        let (a, b) = a.zip(b)?;
        let shown = if is_rate { rate } else { cell };
        let ratio = if a > 0.0 { significant(b / a) } else { dash() };
        Some(Row { name, a: shown(a), b: shown(b), ratio })
    };
    rates.into_iter().chain(times).filter_map(row).collect()
}

fn notes(sides: [ExternalSide<'_>; 2]) -> Vec<(&'static str, String)> {
    let clocks = sides.map(|side| side.result.tool.clock());
    let mut notes = vec![("note", NO_VERDICT.to_owned())];
    if clocks[0] == clocks[1] {
        notes.push(("clock", clocks[0].words().to_owned()));
    } else {
        notes.push((
            "warning",
            format!("the times are not the same: of A {}; of B {}", clocks[0].words(), clocks[1].words()),
        ));
    }
    for (letter, side) in ["A", "B"].iter().zip(sides) {
        notes
            .extend(side.result.unknown.iter().map(|unknown| ("unknown", format!("of {letter}: {unknown}"))));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found by the fuzzer `reports`: a Locust file whose percentiles have 17 digits.
    #[test]
    fn figures_of_any_length_stay_apart_and_within_the_page() {
        for value in [1.5, 1_234_567.0, 63_442_260_001_520_480.0, 1e300] {
            let quantiles =
                vec![ExternalQuantile { q: 0.5, ms: value }, ExternalQuantile { q: 0.9, ms: value }];
            let series = ExternalSeries { max_ms: Some(value), quantiles, ..ExternalSeries::default() };
            let result = ExternalResult::new(ExternalTool::Locust, vec![series]);
            for width in [40, 80] {
                let drawn = text(&result, &Style { width, colour: false, unicode: true });
                assert!(drawn.lines().all(|line| line.chars().count() <= width), "{drawn}");
                let shown = cell(value);
                if shown.len() + NAME < width {
                    let whole = drawn.split_whitespace().filter(|word| *word == shown).count();
                    assert_eq!(whole, 3, "{drawn}");
                }
            }
        }
    }
}
