//! What a study says in a word. Pure: results in, words out.

use prony_model::{
    ComparisonOutcome, ComparisonResult, MetricComparison, StudyResult, ThresholdOutcome, Verdict,
};

use super::study::cell_name;
use crate::model::{BuildId, BuildVerdict};

/// The verdict on a build with the study `result`, which was compared with that of `baseline` if there is one, cell by
/// cell; and a sentence that says why, where there is something to say.
///
/// A demand that is missed comes first: it is the project's own word. Then numbers that can't be defended, then the worst
/// of what the primary metrics of the cells say.
pub(super) fn of(
    result: &StudyResult,
    baseline: Option<BuildId>,
    compared: &[ComparisonResult],
) -> (BuildVerdict, Option<String>) {
    if let Some(missed) = result.thresholds.iter().find(|one| one.outcome == ThresholdOutcome::Missed) {
        let measured = missed.measured.map(|value| format!(", measured was {value:.4}")).unwrap_or_default();
        let words = format!("{}: {} is missed{measured}", cell_name(result, missed.cell), missed.text);
        return (BuildVerdict::ThresholdMissed, Some(words));
    }
    let outcomes = compared.iter().filter_map(|one| Some((one.b.name.as_str(), one.metrics.first()?)));
    let (verdict, words) = worst(outcomes);
    let is_invalid = result.verdict == Verdict::Invalid;
    match (verdict, baseline) {
        (BuildVerdict::NoBaseline | BuildVerdict::TooNoisy, _) if is_invalid => (BuildVerdict::Invalid, None),
        (BuildVerdict::NoBaseline, Some(baseline)) => {
            let words = format!(
                "nothing of it can be compared with build {baseline}: the output of its study says why"
            );
            (BuildVerdict::TooNoisy, Some(words))
        }
        (verdict, Some(baseline)) => {
            (verdict, words.map(|words| format!("{words}, against build {baseline}")))
        }
        (verdict, None) => (verdict, words),
    }
}

/// The verdict of a study that compares two commits itself.
pub(super) fn of_comparison(result: &StudyResult) -> (BuildVerdict, Option<String>) {
    let names: Vec<String> = result.comparisons.iter().map(|one| one.title.clone()).collect();
    let metrics = result.comparisons.iter().map(|one| one.metrics.first());
    let (verdict, words) =
        worst(names.iter().zip(metrics).filter_map(|(name, metric)| Some((name.as_str(), metric?))));
    match verdict {
        BuildVerdict::NoBaseline | BuildVerdict::TooNoisy if result.verdict == Verdict::Invalid => {
            (BuildVerdict::Invalid, words)
        }
        BuildVerdict::NoBaseline => (BuildVerdict::TooNoisy, words),
        verdict => (verdict, words),
    }
}

/// The worst of what the primary metrics say; nothing at all is [`BuildVerdict::NoBaseline`].
fn worst<'a>(
    outcomes: impl Iterator<Item = (&'a str, &'a MetricComparison)>,
) -> (BuildVerdict, Option<String>) {
    let mut worst: Option<(u8, BuildVerdict, String)> = None;
    for (cell, metric) in outcomes {
        let (rank, verdict) = match &metric.outcome {
            outcome if outcome.is_slower() => (4, BuildVerdict::Slower),
            ComparisonOutcome::TooNoisy { .. } => (2, BuildVerdict::TooNoisy),
            ComparisonOutcome::NoVerdict { .. } => (1, BuildVerdict::TooNoisy),
            outcome if outcome.is_faster() => (3, BuildVerdict::Faster),
            _ => (0, BuildVerdict::NoDifference),
        };
        if worst.as_ref().is_none_or(|(known, _, _)| rank > *known) {
            worst = Some((rank, verdict, told(cell, metric)));
        }
    }
    worst.map_or((BuildVerdict::NoBaseline, None), |(_, verdict, words)| (verdict, Some(words)))
}

/// `kv: p99 slower, +7.9 %`
fn told(cell: &str, metric: &MetricComparison) -> String {
    // `prony compare` names a cell with the folder before it, which means nothing here.
    let cell = cell.rsplit_once(": ").map_or(cell, |(_, cell)| cell);
    let change = metric.change.map(|change| format!(", {:+.1} %", change * 100.0)).unwrap_or_default();
    let why = match &metric.outcome {
        ComparisonOutcome::NoVerdict { reason } => format!(" ({reason})"),
        _ => String::new(),
    };
    format!("{cell}: {} {}{change}{why}", metric.metric.name(), metric.outcome.word())
}
