//! The report of a comparison: a line for each metric, the primary one first, then what to make of it.

use std::fmt::Write as _;

use prony_model::{
    ChangeInterval, ComparisonKind, ComparisonMethod, ComparisonOutcome, ComparisonResult, Finding, Load,
    LookPlan, Metric, MetricComparison, Severity, Verdict,
};

use crate::markdown::{escaped, findings};
use crate::number::{dash, or_dash, plural, rate, seconds, signed_percent, significant};
use crate::page::{Colour, Page};
use crate::text::{finding, severity_word};
use crate::{Style, tls};

/// Columns of the verdict word; `no difference` and a space fit.
const WORD: usize = 14;
/// Columns of the metric: `p99.9 response` and a space fit.
const METRIC: usize = 15;
/// Columns of the change.
const CHANGE: usize = 9;
/// Columns of the interval; `[−12.3 %, +12.3 %]` and two spaces fit.
const INTERVAL: usize = 20;
/// Columns of the number of pairs; `100 pairs` and two spaces fit.
const PAIRS: usize = 11;

/// The report for a terminal; no line is wider than `style` says.
pub fn text(result: &ComparisonResult, style: &Style) -> String {
    let mut page = Page::new(style);
    page.labelled("A", None, &result.a.name);
    page.labelled("B", None, &result.b.name);
    page.parts(&manner(result));
    page.gap();
    let (worst, others) = split(&result.findings);
    if let Some(worst) = worst {
        let (word, colour) = match result.verdict {
            Verdict::Invalid => ("INVALID", Colour::Red),
            Verdict::Valid | Verdict::Doubtful => ("DOUBTFUL", Colour::Yellow),
        };
        finding(&mut page, word, Some(colour), worst);
        page.gap();
    }
    rows(&mut page, &result.metrics, result.margin);
    page.gap();
    page.labelled("medians", None, &medians(result).join(" · "));
    for other in others {
        finding(&mut page, severity_word(other.severity), None, other);
    }
    for note in notes(result) {
        page.labelled("note", None, &note);
    }
    page.finish()
}

/// The same for issues and pull requests.
pub fn markdown(result: &ComparisonResult) -> String {
    let mut text = format!(
        "**B** {} against **A** {}  \n{}\n",
        escaped(&result.b.name),
        escaped(&result.a.name),
        escaped(&manner(result).join(" · "))
    );
    if !result.findings.is_empty() {
        let _ = write!(text, "\n{}", findings(&result.findings));
    }
    text.push_str(&table(&result.metrics, result.margin));
    text.push('\n');
    for note in notes(result) {
        let _ = writeln!(text, "- {}", escaped(&note));
    }
    text
}

/// A line for each metric, and why there is no verdict, if that is so.
pub(crate) fn rows(page: &mut Page, metrics: &[MetricComparison], margin: f64) {
    if let Some((first, reason)) = nothing_measured(metrics) {
        let (word, colour) = word(first);
        page.worded(&word, WORD, colour, reason);
        return;
    }
    for metric in metrics {
        row(page, metric, &metric_notes(metric, metrics, margin).join(", "));
    }
    if let Some(reason) = reason(metrics) {
        page.worded("", WORD, None, reason);
    }
}

/// The primary metric, and why there is no figure of any, where there is none.
pub(crate) fn nothing_measured(metrics: &[MetricComparison]) -> Option<(&MetricComparison, &str)> {
    let is_empty = metrics.iter().all(|metric| metric.change.is_none());
    reason(metrics).filter(|_| is_empty).and_then(|reason| Some((metrics.first()?, reason)))
}

/// The same as a table in Markdown.
pub(crate) fn table(metrics: &[MetricComparison], margin: f64) -> String {
    if let Some((first, reason)) = nothing_measured(metrics) {
        return format!("\n**{}**: {reason}\n", word(first).0);
    }
    let mut text =
        "\n| | | change | 95 % interval | A (baseline) | B | pairs | |\n|:--|:--|--:|:--|--:|--:|--:|:--|\n"
            .to_owned();
    for metric in metrics {
        // Writing to a `String` can't fail.
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            word(metric).0,
            name(metric.metric),
            or_dash(metric.change, signed_percent),
            or_dash(metric.interval, interval),
            value(metric.metric, metric.a),
            value(metric.metric, metric.b),
            metric.pairs,
            escaped(&metric_notes(metric, metrics, margin).join(", "))
        );
    }
    if let Some(reason) = reason(metrics) {
        let _ = writeln!(text, "\n{}", escaped(reason));
    }
    text
}

/// The finding that decides whether the numbers can be used, and the others.
fn split(findings: &[Finding]) -> (Option<&Finding>, &[Finding]) {
    match findings.split_first() {
        Some((worst, others)) if worst.severity > Severity::Note => (Some(worst), others),
        _ => (None, findings),
    }
}

/// How both were measured.
fn manner(result: &ComparisonResult) -> Vec<String> {
    let mut parts = load(result);
    let sides = [&result.a.plan, &result.b.plan].map(|plan| tls::choices(&plan.target));
    if sides[0] == sides[1] {
        parts.extend(sides[0].clone());
    } else {
        for (side, name) in sides.iter().zip(["A", "B"]) {
            parts.extend(side.iter().map(|choice| format!("{name}: {choice}")));
        }
    }
    let each = result.block_s.map(|block_s| format!(" of {}", seconds(block_s))).unwrap_or_default();
    let counted = result.metrics.first().map_or(0, |metric| metric.pairs);
    match result.kind {
        ComparisonKind::Interleaved => {
            parts.push(format!("{} of blocks{each} in random order", plural(counted, "pair")));
        }
        ComparisonKind::Searches => parts.push(format!("{} of searches", plural(counted, "pair"))),
        ComparisonKind::Stored | ComparisonKind::TooFewRuns => {
            parts.push(format!("{} of stored runs", plural(counted, "pair")));
        }
    }
    parts.extend(result.seed.map(|seed| format!("seed {seed}")));
    parts
}

fn load(result: &ComparisonResult) -> Vec<String> {
    let plan = &result.a.plan;
    let threads = plural(plan.threads.into(), "thread");
    let sessions = plan.scenario.as_ref().map(|scenario| format!("sessions of {}", scenario.name));
    let load = match plan.load {
        _ if result.kind == ComparisonKind::Searches => format!("searches for the capacity, {threads}"),
        Load::Closed { connections } => {
            format!("closed loop, {}, {threads}", plural(connections.into(), "connection"))
        }
        Load::Open { rate_per_s, .. } => {
            let of = if sessions.is_some() { " sessions" } else { "" };
            format!("open loop, {}{of} /s, {threads}", rate(rate_per_s.as_per_second()))
        }
    };
    sessions.into_iter().chain([load]).collect()
}

/// The word for the verdict on B; the primary metric's stands out.
fn word(metric: &MetricComparison) -> (String, Option<Colour>) {
    let (word, colour) = (metric.outcome.word(), Colour::of_outcome(&metric.outcome));
    match metric.outcome {
        _ if !metric.primary => (word.to_owned(), None),
        ComparisonOutcome::NoDifference | ComparisonOutcome::NoDifferenceSeen => (word.to_owned(), colour),
        _ => (word.to_uppercase(), colour),
    }
}

pub(crate) fn name(metric: Metric) -> String {
    match metric {
        Metric::Rate => "rate".to_owned(),
        Metric::Cpu => "CPU/request".to_owned(),
        Metric::Capacity => "capacity".to_owned(),
        _ => format!("{} response", metric.name()),
    }
}

/// The line of a metric; its notes get a line of their own where they don't fit.
fn row(page: &mut Page, metric: &MetricComparison, notes: &str) {
    let (word, colour) = word(metric);
    let room = page.style().columns() - WORD;
    let change = or_dash(metric.change, signed_percent);
    let interval = or_dash(metric.interval, interval);
    let (name, pairs) = (name(metric.metric), plural(metric.pairs, "pair"));
    let wide = format!("{name:<METRIC$}{change:<CHANGE$}{interval:<INTERVAL$}{pairs:<PAIRS$}");
    let line =
        if wide.chars().count() <= room { wide } else { format!("{name} {change} {interval} {pairs}") };
    if line.chars().count() + notes.chars().count() <= room {
        page.worded(&word, WORD, colour, &format!("{line}{notes}"));
    } else {
        page.worded(&word, WORD, colour, &line);
        if !notes.is_empty() {
            page.worded("", WORD, None, notes);
        }
    }
}

pub(crate) fn interval(interval: ChangeInterval) -> String {
    format!("[{}, {}]", signed_percent(interval.low), signed_percent(interval.high))
}

/// What stands behind a line.
pub(crate) fn metric_notes(
    metric: &MetricComparison,
    metrics: &[MetricComparison],
    margin: f64,
) -> Vec<String> {
    let mut notes = Vec::new();
    // As it was typed: 2 %, not 2.0 %.
    let margin = format!("±{} %", (1e4 * margin).round() / 100.0);
    match &metric.outcome {
        ComparisonOutcome::Faster | ComparisonOutcome::Slower => {}
        ComparisonOutcome::NoDifferenceSeen => notes.push("the bounds overlap".to_owned()),
        ComparisonOutcome::FasterSizeUncertain | ComparisonOutcome::SlowerSizeUncertain => {
            notes.push("size uncertain".to_owned());
        }
        ComparisonOutcome::NoDifference => notes.push(format!("within {margin}")),
        ComparisonOutcome::TooNoisy { pairs_needed: Some(pairs), smallest_detectable } => {
            let least =
                smallest_detectable.map(|least| format!("can detect {} at best; ", signed_percent(least)));
            notes.push(format!(
                "{}would need about {pairs} pairs for {margin}",
                least.unwrap_or_default().replace('+', "±")
            ));
        }
        ComparisonOutcome::TooNoisy { pairs_needed: None, .. } => {
            notes.extend(metric.p.map(|p| format!("p = {}", significant(p))));
        }
        // Printed once for all, if it is the same for all.
        ComparisonOutcome::NoVerdict { .. } if reason(metrics).is_some() => {}
        ComparisonOutcome::NoVerdict { reason } => notes.push(reason.clone()),
    }
    let is_evaluated = !matches!(metric.outcome, ComparisonOutcome::NoVerdict { .. });
    if metric.method == ComparisonMethod::LabelSwaps && is_evaluated {
        notes.push("of all blocks together".to_owned());
    }
    if metric.primary {
        notes.push("primary".to_owned());
    }
    notes
}

/// Why there is no verdict on any metric, if that is so.
pub(crate) fn reason(metrics: &[MetricComparison]) -> Option<&str> {
    let (first, others) = metrics.split_first()?;
    let ComparisonOutcome::NoVerdict { reason } = &first.outcome else { return None };
    others.iter().all(|metric| metric.outcome == first.outcome).then_some(reason)
}

fn medians(result: &ComparisonResult) -> Vec<String> {
    let median = |metric: &MetricComparison| {
        format!(
            "{} A {}, B {}",
            name(metric.metric),
            value(metric.metric, metric.a),
            value(metric.metric, metric.b)
        )
    };
    result.metrics.iter().map(median).collect()
}

pub(crate) fn value(metric: Metric, value: Option<f64>) -> String {
    match (metric, value) {
        (_, None) => dash(),
        (Metric::Rate | Metric::Capacity, Some(value)) => format!("{} /s", rate(value)),
        (Metric::Cpu, Some(value)) => seconds(value / 1e6),
        (_, Some(value)) => seconds(value / 1e3),
    }
}

/// What the words do not say.
fn notes(result: &ComparisonResult) -> Vec<String> {
    let mut notes = Vec::new();
    match result.kind {
        ComparisonKind::Interleaved => notes.push(
            "applies to these two processes: after a restart either may be a few percent faster or slower"
                .to_owned(),
        ),
        ComparisonKind::Stored => notes.push(
            "applies to these runs: they were not measured in turn, so a change of the machine in between \
             looks like one of the server; better: prony compare URL_A URL_B"
                .to_owned(),
        ),
        ComparisonKind::Searches => notes.push(
            "applies to these searches: bounds that are apart are a difference, of the servers or of the machine in \
             between; bounds that overlap don't show that there is none"
                .to_owned(),
        ),
        ComparisonKind::TooFewRuns => notes.push(
            "applies to these two runs: on a shared machine the next run of the same server differs by 30 % and \
             more. Measure both in turn: prony compare URL_A URL_B, or store at least 6 runs of each"
                .to_owned(),
        ),
    }
    if result.looks == LookPlan::Sequential {
        let looks: Vec<String> = result.looks_taken.iter().map(|look| look.pairs.to_string()).collect();
        if !looks.is_empty() {
            notes.push(format!("looked at after {} pairs; the intervals allow for that", looks.join(", ")));
        }
    }
    if result.metrics.len() > 1 && result.kind != ComparisonKind::TooFewRuns {
        notes.push(
            "the metrics below the primary one are corrected for multiple comparisons (Holm)".to_owned(),
        );
    }
    notes.extend(result.notes.iter().cloned());
    notes
}
