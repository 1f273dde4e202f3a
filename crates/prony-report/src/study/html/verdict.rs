//! What came of the study: one sentence, then the thresholds and what was compared, as text.

use std::fmt::Write as _;

use prony_model::{
    ComparisonOutcome, MetricComparison, StudyComparison, StudyResult, StudyThreshold, ThresholdOutcome,
};

use super::super::facts;
use super::format::{link, paragraphs, verdict};
use super::table::{Html, Table, dash, numbers, words as text_column};
use crate::compare;
use crate::number::{count, plural, signed_percent};
use crate::svg::escaped;

/// The top of the page.
pub(super) fn section(result: &StudyResult) -> String {
    let mut html = format!(
        "<h1>{}</h1>\n<p class=\"verdict\" id=\"verdict\">{} {}</p>\n",
        escaped(&result.title),
        verdict(result.verdict),
        escaped(&sentence(result))
    );
    // Writing to a `String` can't fail.
    let _ = writeln!(html, "<p class=\"soft small\">{}</p>", escaped(&circumstances(result)));
    html.push_str(&paragraphs(&result.intro));
    if !result.thresholds.is_empty() {
        html.push_str("<section id=\"demands\">\n<h2>Thresholds</h2>\n");
        html.push_str(&thresholds(result));
        html.push_str("</section>\n");
    }
    if !result.comparisons.is_empty() {
        html.push_str("<section id=\"differences\">\n<h2>What differs</h2>\n");
        for (index, compared) in result.comparisons.iter().enumerate() {
            html.push_str(&comparison(result, index, compared));
        }
        html.push_str("</section>\n");
    }
    html
}

/// Whether it is valid, whether it met its thresholds.
fn sentence(result: &StudyResult) -> String {
    let outcome =
        |outcome| result.thresholds.iter().filter(|threshold| threshold.outcome == outcome).count() as u64;
    let total = result.thresholds.len() as u64;
    let (met, unknown) = (outcome(ThresholdOutcome::Met), outcome(ThresholdOutcome::Unknown));
    let mut text = facts::grounds(result);
    if total > 0 {
        let open = if unknown > 0 { format!(", {} unknown", count(unknown)) } else { String::new() };
        text = format!("{text}; {} of {} met{open}", count(met), plural(total, "threshold"));
    }
    text
}

/// How much was done, when, in which order.
fn circumstances(result: &StudyResult) -> String {
    let mut parts = facts::choices(result);
    parts.extend(result.started_at.as_ref().map(|start| format!("started {start}")));
    if !result.complete {
        parts.push("prony study --resume makes the missing runs".to_owned());
    }
    parts.join(" · ")
}

fn thresholds(result: &StudyResult) -> String {
    let columns =
        vec![text_column("what", "required"), numbers("measured", "measured"), text_column("cell", "cell")];
    let mut table = Table::new("thresholds", "Demands, and what became of them", "", columns);
    for (index, threshold) in result.thresholds.iter().enumerate() {
        let StudyThreshold { cell, text, metric, measured, outcome, .. } = threshold;
        let word = match outcome {
            ThresholdOutcome::Met => "<span class=\"word good\">✓ MET</span>",
            ThresholdOutcome::Missed => "<span class=\"word bad\">✕ MISSED</span>",
            ThresholdOutcome::Unknown => "<span class=\"word care\">? UNKNOWN</span>",
        };
        let measured = measured.map_or_else(dash, |value| facts::value(*metric, value).into());
        let row = [text.as_str().into(), measured, link(result, *cell)];
        table.row(&index.to_string(), &Html::markup(word.to_owned()), &row);
    }
    table.finish()
}

fn comparison(result: &StudyResult, index: usize, compared: &StudyComparison) -> String {
    let StudyComparison { title, a, b, margin, metrics } = compared;
    let (a, b) = (facts::cell_name(result, *a), facts::cell_name(result, *b));
    if let Some((first, reason)) = compare::nothing_measured(metrics) {
        return format!(
            "<h3>{}</h3>\n<p id=\"compare-{index}\">{} {} against {}: {}</p>\n",
            escaped(title),
            word(first).as_str(),
            escaped(b),
            escaped(a),
            escaped(reason)
        );
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
            metric.change.map_or_else(facts::dash, signed_percent),
            metric.interval.map_or_else(facts::dash, compare::interval),
            value(metric.a),
            value(metric.b),
            count(metric.pairs),
            compare::metric_notes(metric, metrics, *margin).join(", "),
        ];
        table.row(metric.metric.name(), &word(metric), &row.map(Html::from));
    }
    let reason =
        compare::reason(metrics).map_or_else(String::new, |reason| format!("<p>{}</p>\n", escaped(reason)));
    format!("<h3>{}</h3>\n{}{reason}", escaped(title), table.finish())
}

/// The verdict on B, with its shape.
fn word(metric: &MetricComparison) -> Html {
    let (shape, class) = match metric.outcome {
        ComparisonOutcome::Faster => ("▲", "good"),
        ComparisonOutcome::FasterSizeUncertain => ("△", "good"),
        ComparisonOutcome::Slower => ("▼", "bad"),
        ComparisonOutcome::SlowerSizeUncertain => ("▽", "bad"),
        ComparisonOutcome::NoDifference => ("=", "soft"),
        ComparisonOutcome::TooNoisy { .. } | ComparisonOutcome::NoVerdict { .. } => ("?", "care"),
    };
    let word = metric.outcome.word();
    let word = if metric.primary { word.to_uppercase() } else { word.to_owned() };
    Html::markup(format!("<span class=\"word {class}\">{shape} {word}</span>"))
}

/// As it was typed: 2 %, not 2.0 %.
fn percent(share: f64) -> String {
    format!("{} %", (1e4 * share).round() / 100.0)
}
