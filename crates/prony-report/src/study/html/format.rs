//! Numbers, names and verdicts as the page says them.

use prony_model::{
    FigureBasis, Interval, Severity, StudyCell, StudyFigure, StudyMetric, StudyResult, Verdict,
};

use super::super::facts::{bare, figure};
use super::table::{Content, Word};
pub(super) use crate::number::plain_tick;

/// A value beside a tick: as a value, without zeros that say nothing.
pub(super) fn tick(metric: StudyMetric, number: f64) -> String {
    match metric.unit() {
        "share" => bare(metric, number),
        _ => plain_tick(number),
    }
}

/// Both ends of an interval, without the unit.
pub(super) fn interval(metric: StudyMetric, interval: Interval) -> String {
    let hint = if interval.indicative { " indicative" } else { "" };
    format!("[{}, {}]{hint}", bare(metric, interval.low), bare(metric, interval.high))
}

/// What an axis is of, and in which unit.
pub(super) fn axis(metric: StudyMetric) -> String {
    let unit = match metric.unit() {
        "per_s" => "per second",
        "share" => "%",
        unit => unit,
    };
    format!("{}, {unit}", name(metric))
}

/// The metric in words.
pub(super) fn name(metric: StudyMetric) -> &'static str {
    match metric {
        StudyMetric::Rate => "good responses",
        StudyMetric::Success => "success",
        StudyMetric::Mean => "mean response time",
        StudyMetric::Min => "least response time",
        StudyMetric::P50 => "p50 response time",
        StudyMetric::P90 => "p90 response time",
        StudyMetric::P95 => "p95 response time",
        StudyMetric::P99 => "p99 response time",
        StudyMetric::P99Kernel => "p99 response time by the kernel's clock",
        StudyMetric::P999 => "p99.9 response time",
        StudyMetric::Max => "greatest response time",
        StudyMetric::Connect => "connect time (with the warm-up's connections)",
        StudyMetric::Total => "time of the whole run",
        StudyMetric::CpuPerRequest => "server's CPU time per request",
        StudyMetric::ServerMemory => "server's peak memory",
        StudyMetric::WallMean => "mean time of the command",
        StudyMetric::Wall => "median time of the command",
        StudyMetric::User => "time in user mode",
        StudyMetric::System => "time in the kernel",
        StudyMetric::StartUp => "share of the start",
        StudyMetric::Memory => "memory",
        StudyMetric::Dns => "look-up",
        StudyMetric::Tcp => "connecting",
        StudyMetric::Server => "server",
        StudyMetric::Transfer => "transfer",
        StudyMetric::Probe => "time of the whole probe",
        StudyMetric::Capacity => "capacity",
    }
}

/// A verdict.
pub(crate) fn verdict(verdict: Verdict) -> Word {
    match verdict {
        Verdict::Valid => Word::new("good", "✓ VALID"),
        Verdict::Doubtful => Word::new("care", "▲ DOUBTFUL"),
        Verdict::Invalid => Word::new("bad", "✕ INVALID"),
    }
}

/// How grave a finding is.
pub(crate) fn severity(severity: Severity) -> Word {
    match severity {
        Severity::Note => Word::new("soft", "• note"),
        Severity::Warning => Word::new("care", "▲ warning"),
        Severity::Invalid => Word::new("bad", "✕ invalid"),
    }
}

/// Whether the run `repeat` of `cell` counts in no figure.
pub(super) fn is_invalid(cell: &StudyCell, repeat: u32) -> bool {
    cell.runs.iter().any(|run| run.repeat == repeat && run.verdict == Verdict::Invalid)
}

/// How runs are drawn that count in no figure; empty where there is none.
pub(super) fn of_invalid(cells: &[&StudyCell]) -> &'static str {
    let is_any = cells.iter().any(|cell| cell.runs.iter().any(|run| run.verdict == Verdict::Invalid));
    if is_any { " A run that is drawn grey and dashed is INVALID and counts in no figure." } else { "" }
}

/// The value of `cell` for `metric`, where it is known and can be drawn.
pub(super) fn known(cell: &StudyCell, metric: StudyMetric) -> Option<f64> {
    figure(cell, metric)?.value.filter(|value| value.is_finite() && *value >= 0.0)
}

/// The interval that speaks of the next run; of a capacity also the bounds of the only search.
pub(super) fn across(cell: &StudyCell, metric: StudyMetric) -> Option<Interval> {
    let is_shown = |basis| basis == FigureBasis::AcrossRuns || metric == StudyMetric::Capacity;
    let figure = figure(cell, metric).filter(|figure| is_shown(figure.basis))?;
    figure.interval
}

/// A figure as a cell of a table: the value and, below it, its interval.
pub(super) fn figure_cell(figure: Option<&StudyFigure>) -> Content {
    let Some((figure, known)) = figure.and_then(|figure| Some((figure, figure.value?))) else {
        return Content::dash();
    };
    let number = bare(figure.metric, known);
    match (figure.interval, figure.basis) {
        (Some(range), FigureBasis::AcrossRuns | FigureBasis::WithinRun) => {
            let is_within = figure.basis == FigureBasis::WithinRun && figure.metric != StudyMetric::Capacity;
            let within = if is_within { " within the run" } else { "" };
            Content::noted(number, format!("{}{within}", interval(figure.metric, range)))
        }
        _ => number.into(),
    }
}

/// A cell's name, linked to its row.
pub(super) fn link(result: &StudyResult, cell: u32) -> Content {
    let found = result.cells.get(cell as usize);
    found.map_or_else(Content::dash, |found| Content::Link(cell, found.name.clone()))
}

/// Paragraphs, which are separated by empty lines in `text`.
pub(super) fn paragraphs(text: &str) -> Vec<String> {
    let paragraphs = text.split("\n\n").map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
    paragraphs.filter(|part| !part.is_empty()).collect()
}

/// Text whose lines stay lines.
pub(super) fn lines(text: &str) -> Vec<String> {
    text.trim_end().lines().map(|line| line.replace('\t', "    ")).collect()
}
