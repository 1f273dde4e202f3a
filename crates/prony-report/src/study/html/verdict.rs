//! What came of the study: one sentence, then the thresholds and what was compared, as text.

use prony_model::{
    ComparisonOutcome, MetricComparison, StudyComparison, StudyResult, StudyThreshold, ThresholdOutcome,
};

use super::super::facts;
use super::format::link;
use super::table::{Content, Table, Word, numbers, words as text_column};
use crate::number::{count, or_dash, plural, signed_percent};
use crate::{compare, threshold};

/// What was compared.
pub(super) struct Comparison<'a> {
    pub(super) title: &'a str,
    pub(super) outcome: Outcome,
}

/// What came of a comparison.
pub(super) enum Outcome {
    /// The figures, and why there is no verdict on any.
    Table(Table, Option<String>),
    /// Nothing was measured, and why.
    Nothing(Word, String),
}

/// Whether it is valid, whether it met its thresholds.
pub(super) fn sentence(result: &StudyResult) -> String {
    let outcome =
        |outcome| result.thresholds.iter().filter(|one| one.evaluated.outcome == outcome).count() as u64;
    let total = result.thresholds.len() as u64;
    let (met, undecided) = (outcome(ThresholdOutcome::Met), outcome(ThresholdOutcome::Undecided));
    let mut text = facts::grounds(result);
    if total > 0 {
        let open = if undecided > 0 { format!(", {} undecided", count(undecided)) } else { String::new() };
        text = format!("{text}; {} of {} met{open}", count(met), plural(total, "threshold"));
    }
    text
}

/// How much was done, when, in which order.
pub(super) fn circumstances(result: &StudyResult) -> String {
    let mut parts = facts::choices(result);
    parts.extend(result.started_at.as_ref().map(|start| format!("started {start}")));
    if !result.complete {
        parts.push("prony study --resume makes the missing runs".to_owned());
    }
    parts.join(" · ")
}

/// The thresholds; `None` without any.
pub(super) fn thresholds(result: &StudyResult) -> Option<Table> {
    if result.thresholds.is_empty() {
        return None;
    }
    let columns = vec![
        text_column("what", "required"),
        numbers("measured", "measured"),
        numbers("interval", "95 % interval"),
        numbers("n", "n"),
        text_column("cell", "cell"),
        text_column("remark", ""),
    ];
    let mut table =
        Table::new("thresholds", "The thresholds of the study file, and whether they are met", "", columns);
    for (index, StudyThreshold { cell, evaluated }) in result.thresholds.iter().enumerate() {
        let word = match evaluated.outcome {
            ThresholdOutcome::Met => Word::new("good", "✓ MET"),
            ThresholdOutcome::Missed => Word::new("bad", "✕ MISSED"),
            ThresholdOutcome::Undecided => Word::new("care", "? UNDECIDED"),
        };
        let shown = |text: Option<String>| text.map_or_else(Content::dash, Content::from);
        let row = [
            evaluated.text.as_str().into(),
            shown(threshold::measured(evaluated)),
            shown(threshold::interval(evaluated)),
            shown((evaluated.samples > 0).then(|| count(evaluated.samples))),
            link(result, *cell),
            threshold::note(evaluated).unwrap_or_default().into(),
        ];
        table.row(&index.to_string(), Content::Word(word), row);
    }
    Some(table)
}

/// The comparisons.
pub(super) fn comparisons(result: &StudyResult) -> Vec<Comparison<'_>> {
    let comparisons = result.comparisons.iter().enumerate().map(|(index, compared)| Comparison {
        title: &compared.title,
        outcome: outcome(result, index, compared),
    });
    comparisons.collect()
}

fn outcome(result: &StudyResult, index: usize, compared: &StudyComparison) -> Outcome {
    let StudyComparison { a, b, margin, metrics, .. } = compared;
    let (a, b) = (facts::cell_name(result, *a), facts::cell_name(result, *b));
    if let Some((first, reason)) = compare::nothing_measured(metrics) {
        return Outcome::Nothing(word(first), format!("{b} against {a}: {reason}"));
    }
    let columns = vec![
        text_column("metric", "metric"),
        numbers("change", "change"),
        numbers("interval", "95 % interval"),
        numbers("a", "A"),
        numbers("b", "B"),
        numbers("pairs", "pairs"),
        text_column("remark", ""),
    ];
    let caption = format!("B, {b}, against A, {a}; changes within ±{} count as no change", percent(*margin));
    let mut table = Table::new(&format!("compare-{index}"), &caption, "B is", columns);
    for metric in metrics {
        let value = |value| compare::value(metric.metric, value);
        let row = [
            compare::name(metric.metric),
            or_dash(metric.change, signed_percent),
            or_dash(metric.interval, compare::interval),
            value(metric.a),
            value(metric.b),
            count(metric.pairs),
            compare::metric_notes(metric, metrics, *margin).join(", "),
        ];
        table.row(metric.metric.name(), Content::Word(word(metric)), row.map(Content::from));
    }
    Outcome::Table(table, compare::reason(metrics).map(str::to_owned))
}

/// The verdict on B, with its shape.
fn word(metric: &MetricComparison) -> Word {
    let (shape, class) = match metric.outcome {
        ComparisonOutcome::Faster => ("▲", "good"),
        ComparisonOutcome::FasterSizeUncertain => ("△", "good"),
        ComparisonOutcome::Slower => ("▼", "bad"),
        ComparisonOutcome::SlowerSizeUncertain => ("▽", "bad"),
        ComparisonOutcome::NoDifference => ("=", "soft"),
        ComparisonOutcome::NoDifferenceSeen => ("~", "soft"),
        ComparisonOutcome::TooNoisy { .. } | ComparisonOutcome::NoVerdict { .. } => ("?", "care"),
    };
    let word = metric.outcome.word();
    let word = if metric.primary { word.to_uppercase() } else { word.to_owned() };
    Word::new(class, format!("{shape} {word}"))
}

/// As it was typed: 2 %, not 2.0 %.
fn percent(share: f64) -> String {
    format!("{} %", (1e4 * share).round() / 100.0)
}
