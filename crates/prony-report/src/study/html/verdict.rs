//! What came of the study: one sentence, then what was demanded and what was compared, in words.

use std::time::Duration;

use prony_model::{
    ComparisonOutcome, MetricComparison, StudyComparison, StudyResult, StudyThreshold, ThresholdOutcome,
    Verdict,
};

use super::table::{Html, Table, dash, numbers, words as text_column};
use super::words::{cell_name, link, paragraphs, said, verdict};
use crate::facts::plural;
use crate::number::{count, duration, signed_percent};
use crate::svg::escaped;

/// The top of the page.
pub(super) fn section(result: &StudyResult) -> String {
    let mut html = format!(
        "<h1>{}</h1>\n<p class=\"verdict\" id=\"verdict\">{} {}</p>\n",
        escaped(&result.title),
        verdict(result.verdict),
        escaped(&sentence(result))
    );
    html.push_str(&format!("<p class=\"soft small\">{}</p>\n", escaped(&circumstances(result))));
    html.push_str(&paragraphs(&result.intro));
    if !result.thresholds.is_empty() {
        html.push_str("<section id=\"demands\">\n<h2>What was demanded</h2>\n");
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

/// Whether it is valid, whether it met its demands.
fn sentence(result: &StudyResult) -> String {
    let runs = || result.cells.iter().flat_map(|cell| &cell.runs);
    let made = runs().count() as u64;
    let planned: u64 = result.cells.iter().map(|cell| u64::from(cell.planned)).sum();
    let with = |verdict| runs().filter(|run| run.verdict == verdict).count() as u64;
    let (doubtful, invalid) = (with(Verdict::Doubtful), with(Verdict::Invalid));
    let of = if made == planned { count(made) } else { format!("{} of {}", count(made), count(planned)) };
    let noun = if planned == 1 { "run" } else { "runs" };
    let mut said = format!("{of} {noun} of {} made", plural(result.cells.len() as u64, "cell"));
    said.push_str(&match (invalid, doubtful) {
        (0, 0) if made > 0 => ", nothing speaks against their numbers".to_owned(),
        (0, 0) => String::new(),
        (0, doubtful) => format!(", {} of them doubtful", count(doubtful)),
        (invalid, 0) => format!(", {} of them invalid and not counted", count(invalid)),
        (invalid, doubtful) => {
            format!(", {} of them invalid and not counted, {} doubtful", count(invalid), count(doubtful))
        }
    });
    let outcome =
        |outcome| result.thresholds.iter().filter(|demand| demand.outcome == outcome).count() as u64;
    let demands = result.thresholds.len() as u64;
    let (met, unknown) = (outcome(ThresholdOutcome::Met), outcome(ThresholdOutcome::Unknown));
    if demands > 0 {
        let open = if unknown > 0 { format!(", {} unknown", count(unknown)) } else { String::new() };
        said.push_str(&format!("; {} of {} met{open}", count(met), plural(demands, "threshold")));
    }
    said.push('.');
    said
}

/// When, how long, how often, in which order.
fn circumstances(result: &StudyResult) -> String {
    let mut parts = vec![result.name.clone()];
    parts.extend(result.started_at.as_ref().map(|start| format!("started {start}")));
    parts.push(format!(
        "took {}",
        duration(Duration::from_secs_f64(if result.took_s.is_finite() {
            result.took_s.clamp(0.0, 1e12).round()
        } else {
            0.0
        },))
    ));
    parts.push(plural(result.repeats.into(), "repeat"));
    parts.push(format!("seed {}", result.seed));
    if result.short {
        parts.push("the short form of the study".to_owned());
    }
    if !result.complete {
        parts.push("not complete: prony study --resume makes the missing runs".to_owned());
    }
    parts.join(" · ")
}

fn thresholds(result: &StudyResult) -> String {
    let columns =
        vec![text_column("what", "demanded"), numbers("measured", "measured"), text_column("cell", "cell")];
    let mut table = Table::new("thresholds", "Demands, and what became of them", "", columns);
    for (index, demand) in result.thresholds.iter().enumerate() {
        let StudyThreshold { cell, text, metric, measured, outcome, .. } = demand;
        let word = match outcome {
            ThresholdOutcome::Met => "<span class=\"word good\">✓ MET</span>",
            ThresholdOutcome::Missed => "<span class=\"word bad\">✕ MISSED</span>",
            ThresholdOutcome::Unknown => "<span class=\"word care\">? UNKNOWN</span>",
        };
        let measured = measured.map_or_else(dash, |value| said(*metric, value).into());
        let row = [text.as_str().into(), measured, link(result, *cell)];
        table.row(&index.to_string(), &Html::markup(word.to_owned()), &row);
    }
    table.finish()
}

fn comparison(result: &StudyResult, index: usize, compared: &StudyComparison) -> String {
    let StudyComparison { title, a, b, margin, metrics } = compared;
    let (a, b) = (cell_name(result, *a), cell_name(result, *b));
    let columns = vec![
        text_column("metric", "metric"),
        numbers("change", "change"),
        numbers("interval", "95 % interval"),
        numbers("a", "A"),
        numbers("b", "B"),
        numbers("pairs", "pairs"),
        text_column("remark", ""),
    ];
    let caption = format!("B, {b}, against A, {a}; up to ±{} counts as none", percent(*margin));
    let mut table = Table::new(&format!("compare-{index}"), &caption, "B is", columns);
    for told in metrics {
        let metric = super::published::study_metric(told.metric);
        let value = |value: Option<f64>| value.map_or_else(dash, |value| said(metric, value).into());
        let primary = if told.primary { " (primary)" } else { "" };
        table.row(
            told.metric.name(),
            &word(told),
            &[
                format!("{}{primary}", told.metric.name()).into(),
                told.change.map_or_else(dash, |change| signed_percent(change).into()),
                told.interval.map_or_else(dash, |range| {
                    format!("[{}, {}]", signed_percent(range.low), signed_percent(range.high)).into()
                }),
                value(told.a),
                value(told.b),
                count(told.pairs).into(),
                remark(told, *margin).into(),
            ],
        );
    }
    format!("<h3>{}</h3>\n{}", escaped(title), table.finish())
}

/// What is said of B, with its shape.
fn word(told: &MetricComparison) -> Html {
    let (shape, word, class) = match told.outcome {
        ComparisonOutcome::Faster => ("▲", "FASTER", "good"),
        ComparisonOutcome::FasterSizeUncertain => ("△", "FASTER", "good"),
        ComparisonOutcome::Slower => ("▼", "SLOWER", "bad"),
        ComparisonOutcome::SlowerSizeUncertain => ("▽", "SLOWER", "bad"),
        ComparisonOutcome::NoDifference => ("=", "no difference", ""),
        ComparisonOutcome::TooNoisy { .. } => ("?", "TOO NOISY", "care"),
        ComparisonOutcome::NoVerdict { .. } => ("?", "NO VERDICT", "care"),
    };
    let word = if told.primary { word.to_owned() } else { word.to_lowercase() };
    Html::markup(format!("<span class=\"word {class}\">{shape} {word}</span>"))
}

/// What the word leaves open.
fn remark(told: &MetricComparison, margin: f64) -> String {
    match &told.outcome {
        ComparisonOutcome::Faster | ComparisonOutcome::Slower => String::new(),
        ComparisonOutcome::FasterSizeUncertain | ComparisonOutcome::SlowerSizeUncertain => {
            "size uncertain".to_owned()
        }
        ComparisonOutcome::NoDifference => format!("within ±{}", percent(margin)),
        ComparisonOutcome::TooNoisy { pairs_needed, .. } => pairs_needed.map_or_else(String::new, |pairs| {
            format!("would need about {} pairs for ±{}", count(pairs), percent(margin))
        }),
        ComparisonOutcome::NoVerdict { reason } => reason.clone(),
    }
}

/// As it was typed: 2 %, not 2.0 %.
fn percent(share: f64) -> String {
    format!("{} %", (1e4 * share).round() / 100.0)
}
