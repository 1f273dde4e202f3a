//! The verdict of a study. Pure: results in, text out.

use prony_model::{ComparisonOutcome, MetricComparison, StudyResult, ThresholdOutcome, Verdict};

use super::study::cell_name;
use crate::model::{BuildId, BuildVerdict};

/// The verdict on a build with the study `result`, which was compared with that of `baseline` if there is one: the primary
/// metric of each cell; and a sentence with the reason, where there is one.
///
/// A missed threshold comes first: it is the project's own choice. Then numbers that can't be defended, then the worst
/// of the outcomes of the cells' primary metrics.
pub(super) fn of(
    result: &StudyResult,
    baseline: Option<BuildId>,
    compared: &[(String, MetricComparison)],
) -> (BuildVerdict, Option<String>) {
    if let Some(missed) = result.thresholds.iter().find(|one| one.outcome == ThresholdOutcome::Missed) {
        let measured = missed.measured.map(|value| format!(", measured was {value:.4}")).unwrap_or_default();
        let words = format!("{}: {} is missed{measured}", cell_name(result, missed.cell), missed.text);
        return (BuildVerdict::ThresholdMissed, Some(words));
    }
    let (verdict, words) = worst(compared.iter().map(|(cell, primary)| (cell.as_str(), primary)));
    match (verdict, baseline) {
        (BuildVerdict::NoBaseline | BuildVerdict::TooNoisy, _) if is_invalid(result) => {
            (BuildVerdict::Invalid, None)
        }
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
        BuildVerdict::NoBaseline | BuildVerdict::TooNoisy if is_invalid(result) => {
            (BuildVerdict::Invalid, words)
        }
        BuildVerdict::NoBaseline => (BuildVerdict::TooNoisy, words),
        verdict => (verdict, words),
    }
}

/// Whether nothing of it can be defended. Single runs that can't count for nothing, and the others for what they are.
fn is_invalid(result: &StudyResult) -> bool {
    let has_value = result.cells.iter().any(|cell| cell.figures.iter().any(|figure| figure.value.is_some()));
    result.verdict == Verdict::Invalid && !has_value
}

/// The worst outcome of the primary metrics; nothing at all is [`BuildVerdict::NoBaseline`].
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
            worst = Some((rank, verdict, describe(cell, metric)));
        }
    }
    worst.map_or((BuildVerdict::NoBaseline, None), |(_, verdict, words)| (verdict, Some(words)))
}

/// `kv: p99 slower, +7.9 %`
fn describe(cell: &str, metric: &MetricComparison) -> String {
    // `prony compare` names a cell with the folder before it, which means nothing here.
    let cell = cell.rsplit_once(": ").map_or(cell, |(_, cell)| cell);
    let change = metric.change.map(|change| format!(", {:+.1} %", change * 100.0)).unwrap_or_default();
    let why = match &metric.outcome {
        ComparisonOutcome::NoVerdict { reason } => format!(" ({reason})"),
        _ => String::new(),
    };
    format!("{cell}: {} {}{change}{why}", metric.metric.name(), metric.outcome.word())
}

#[cfg(test)]
mod tests {
    use prony_model::{ComparisonMethod, Metric};
    use serde_json::json;

    use super::*;
    use ComparisonOutcome::{Faster, NoDifference, Slower, SlowerSizeUncertain};

    fn metric(outcome: ComparisonOutcome, change: f64) -> MetricComparison {
        MetricComparison {
            metric: Metric::P99,
            primary: true,
            method: ComparisonMethod::SignedRanks,
            pairs: 10,
            a: Some(1.0),
            b: Some(1.0 + change),
            change: Some(change),
            interval: None,
            spread: None,
            p: None,
            differs: false,
            outcome,
        }
    }

    /// A study with nothing but what matters here.
    fn study(verdict: &str, outcome: &str) -> StudyResult {
        let figure = json!({ "metric": "p99", "value": (verdict != "invalid").then_some(1.5), "interval": null,
            "basis": "none", "runs": 1, "samples": 9, "range": null, "note": null });
        let threshold = json!({ "cell": 0, "text": "p99 at most 1 ms", "metric": "p99", "at_least": null, "at_most": 1.0,
            "measured": 1.5, "outcome": outcome });
        let cell = json!({ "name": "kv", "key": {}, "kind": "run", "load": "", "planned": 1, "runs": [], "figures": [figure],
            "failed_by_kind": {}, "statuses": {}, "curve": [], "bins": [], "courses": [], "executions": [] });
        let all = json!({ "format": "prony.study", "version": 1, "verdict": verdict, "name": "a", "title": "A",
            "source": null, "intro": "", "texts": [], "short": false, "complete": true, "seed": 1, "repeats": 1,
            "started_at": null, "took_s": 1.0, "axes": [], "targets": [], "cells": [cell], "comparisons": [],
            "thresholds": [threshold], "published": [], "findings": [], "failures": [], "environment": null,
            "file": "" });
        serde_json::from_value(all).expect("a study")
    }

    fn noisy() -> ComparisonOutcome {
        ComparisonOutcome::TooNoisy { smallest_detectable: None, pairs_needed: None }
    }

    #[test]
    fn the_worst_cell_speaks_for_a_build() {
        let check = |outcomes: &[(ComparisonOutcome, f64)], expected: BuildVerdict, words: &str| {
            let compared: Vec<_> = outcomes
                .iter()
                .enumerate()
                .map(|(cell, (outcome, change))| {
                    (format!("folder: kv {cell}"), metric(outcome.clone(), *change))
                })
                .collect();
            let result = of(&study("valid", "met"), Some(BuildId(7)), &compared);
            assert_eq!(result, (expected, Some(words.to_owned())), "{outcomes:?}");
        };
        check(
            &[(NoDifference, 0.001), (Faster, -0.3), (Slower, 0.079)],
            BuildVerdict::Slower,
            "kv 2: p99 slower, +7.9 %, against build 7",
        );
        check(
            &[(SlowerSizeUncertain, 0.02)],
            BuildVerdict::Slower,
            "kv 0: p99 slower, +2.0 %, against build 7",
        );
        check(
            &[(noisy(), 0.02), (Faster, -0.3)],
            BuildVerdict::Faster,
            "kv 1: p99 faster, -30.0 %, against build 7",
        );
        check(
            &[(NoDifference, 0.0), (noisy(), 0.02)],
            BuildVerdict::TooNoisy,
            "kv 1: p99 too noisy, +2.0 %, against build 7",
        );
        check(
            &[(NoDifference, 0.0)],
            BuildVerdict::NoDifference,
            "kv 0: p99 no difference, +0.0 %, against build 7",
        );
        check(
            &[],
            BuildVerdict::TooNoisy,
            "nothing of it can be compared with build 7: the output of its study says why",
        );
    }

    #[test]
    fn thresholds_come_first_and_indefensible_results_are_invalid() {
        let slower = [("kv".to_owned(), metric(ComparisonOutcome::Slower, 0.1))];
        let (verdict, words) = of(&study("invalid", "missed"), Some(BuildId(7)), &slower);
        assert_eq!(verdict, BuildVerdict::ThresholdMissed);
        assert_eq!(words.as_deref(), Some("kv: p99 at most 1 ms is missed, measured was 1.5000"));
        assert_eq!(of(&study("invalid", "unknown"), None, &[]), (BuildVerdict::Invalid, None));
        assert_eq!(of(&study("valid", "met"), None, &[]), (BuildVerdict::NoBaseline, None));
        // Enough runs were valid to compare these.
        assert_eq!(of(&study("invalid", "unknown"), Some(BuildId(7)), &slower).0, BuildVerdict::Slower);
        let open = [("kv".to_owned(), metric(noisy(), 0.1))];
        assert_eq!(of(&study("invalid", "unknown"), Some(BuildId(7)), &open).0, BuildVerdict::Invalid);
        // Some runs could not be defended, but there are numbers of others.
        let mut partly = study("valid", "met");
        partly.verdict = Verdict::Invalid;
        assert_eq!(of(&partly, None, &[]).0, BuildVerdict::NoBaseline);
        assert_eq!(of(&partly, Some(BuildId(7)), &open).0, BuildVerdict::TooNoisy);
    }
}
