//! The verdict of a study. Pure: results in, text out.

use prony_model::{ComparisonOutcome, MetricComparison, StudyResult, ThresholdOutcome, Verdict};

use super::study::cell_name;
use prony_lab_model::{BuildId, BuildVerdict};

/// The primary metric of a cell that was compared with that of an earlier build.
#[derive(Debug, Clone)]
pub(super) struct Primary {
    pub(super) cell: String,
    pub(super) baseline: BuildId,
    pub(super) metric: MetricComparison,
}

/// A verdict with the build it refers to, and a sentence with the reason, where there is one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BuildOutcome {
    pub(super) verdict: BuildVerdict,
    pub(super) baseline: Option<BuildId>,
    pub(super) words: Option<String>,
}

/// The verdict on a build with the study `result`, whose cells were compared with earlier builds, `first` of them first:
/// the primary metric of each cell.
///
/// A missed threshold comes first: it is the project's own choice. Then numbers that can't be defended, then the worst
/// of the outcomes of the cells' primary metrics.
pub(super) fn of(result: &StudyResult, first: Option<BuildId>, compared: &[Primary]) -> BuildOutcome {
    let missed = result.thresholds.iter().find(|one| one.evaluated.outcome == ThresholdOutcome::Missed);
    if let Some((cell, missed)) = missed.map(|one| (one.cell, &one.evaluated)) {
        let measured = prony_report::threshold_measured(missed);
        let measured = measured.map(|words| format!(", measured: {words}")).unwrap_or_default();
        let words = format!("{}: {} is missed{measured}", cell_name(result, cell), missed.text);
        return BuildOutcome { verdict: BuildVerdict::ThresholdMissed, baseline: first, words: Some(words) };
    }
    let worst = worst(compared.iter().map(|one| (one.cell.as_str(), &one.metric)));
    let verdict = worst.as_ref().map_or(BuildVerdict::NoBaseline, |worst| worst.verdict);
    if matches!(verdict, BuildVerdict::NoBaseline | BuildVerdict::TooNoisy) && is_invalid(result) {
        return BuildOutcome { verdict: BuildVerdict::Invalid, baseline: first, words: None };
    }
    match (worst, first) {
        (Some(worst), _) => {
            let baseline = compared[worst.place].baseline;
            let words = format!("{}, against build {baseline}", worst.words);
            BuildOutcome { verdict, baseline: Some(baseline), words: Some(words) }
        }
        (None, Some(first)) => {
            let words = format!(
                "none of its figures can be compared with build {first}: see the output of its study"
            );
            BuildOutcome { verdict: BuildVerdict::TooNoisy, baseline: Some(first), words: Some(words) }
        }
        (None, None) => BuildOutcome { verdict, baseline: None, words: None },
    }
}

/// The verdict of a study that compares two commits itself.
pub(super) fn of_comparison(result: &StudyResult) -> (BuildVerdict, Option<String>) {
    let names: Vec<String> = result.comparisons.iter().map(|one| one.title.clone()).collect();
    let metrics = result.comparisons.iter().map(|one| one.metrics.first());
    let named = names.iter().zip(metrics).filter_map(|(name, metric)| {
        // The target stands before the commits.
        let commits = name.rsplit_once(": ").map_or(name.as_str(), |(_, commits)| commits);
        Some((commits, metric?))
    });
    let worst = worst(named);
    let verdict = worst.as_ref().map_or(BuildVerdict::TooNoisy, |worst| worst.verdict);
    let words = worst.map(|worst| worst.words);
    match verdict {
        BuildVerdict::TooNoisy if is_invalid(result) => (BuildVerdict::Invalid, words),
        verdict => (verdict, words),
    }
}

/// Whether nothing of it can be defended. Single runs that can't count for nothing, and the others for what they are.
fn is_invalid(result: &StudyResult) -> bool {
    let has_value = result.cells.iter().any(|cell| cell.figures.iter().any(|figure| figure.value.is_some()));
    result.verdict == Verdict::Invalid && !has_value
}

/// The outcome that speaks for all.
struct Worst {
    verdict: BuildVerdict,
    /// Among those that were given.
    place: usize,
    words: String,
}

/// The worst outcome of the primary metrics, if there is one.
fn worst<'a>(outcomes: impl Iterator<Item = (&'a str, &'a MetricComparison)>) -> Option<Worst> {
    let mut worst: Option<(u8, Worst)> = None;
    for (place, (cell, metric)) in outcomes.enumerate() {
        let (rank, verdict) = match &metric.outcome {
            outcome if outcome.is_slower() => (4, BuildVerdict::Slower),
            ComparisonOutcome::TooNoisy { .. } => (2, BuildVerdict::TooNoisy),
            ComparisonOutcome::NoVerdict { .. } => (1, BuildVerdict::TooNoisy),
            outcome if outcome.is_faster() => (3, BuildVerdict::Faster),
            _ => (0, BuildVerdict::NoDifference),
        };
        if worst.as_ref().is_none_or(|(known, _)| rank > *known) {
            worst = Some((rank, Worst { verdict, place, words: describe(cell, metric) }));
        }
    }
    worst.map(|(_, worst)| worst)
}

/// `kv: p99 slower, +7.9 %`
fn describe(cell: &str, metric: &MetricComparison) -> String {
    let change =
        metric.change.map(|change| format!(", {}", prony_report::signed_percent(change))).unwrap_or_default();
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
            "failed_by_kind": {}, "statuses": {}, "curve": [], "bins": [], "timelines": [], "executions": [] });
        let all = json!({ "format": "prony.study", "version": 1, "verdict": verdict, "name": "a", "title": "A",
            "source": null, "intro": "", "texts": [], "short": false, "complete": true, "seed": 1, "repeats": 1,
            "started_at": null, "took_s": 1.0, "axes": [], "targets": [], "cells": [cell], "comparisons": [],
            "thresholds": [threshold], "published": [], "findings": [], "failures": [], "environment": null,
            "file": "" });
        serde_json::from_value(all).expect("a study")
    }

    fn primary(cell: &str, baseline: i64, outcome: ComparisonOutcome, change: f64) -> Primary {
        Primary { cell: cell.to_owned(), baseline: BuildId(baseline), metric: metric(outcome, change) }
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
                .map(|(cell, (outcome, change))| primary(&format!("kv {cell}"), 7, outcome.clone(), *change))
                .collect();
            let result = of(&study("valid", "met"), Some(BuildId(7)), &compared);
            assert_eq!((result.verdict, result.words), (expected, Some(words.to_owned())), "{outcomes:?}");
            assert_eq!(result.baseline, Some(BuildId(7)));
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
            "kv 1: p99 faster, −30 %, against build 7",
        );
        check(
            &[(NoDifference, 0.0), (noisy(), 0.02)],
            BuildVerdict::TooNoisy,
            "kv 1: p99 too noisy, +2.0 %, against build 7",
        );
        check(
            &[(NoDifference, 0.0)],
            BuildVerdict::NoDifference,
            "kv 0: p99 no difference, +0 %, against build 7",
        );
        check(
            &[],
            BuildVerdict::TooNoisy,
            "none of its figures can be compared with build 7: see the output of its study",
        );
    }

    #[test]
    fn thresholds_come_first_and_indefensible_results_are_invalid() {
        let slower = [primary("kv", 7, Slower, 0.1)];
        let missed = of(&study("invalid", "missed"), Some(BuildId(7)), &slower);
        assert_eq!(missed.verdict, BuildVerdict::ThresholdMissed);
        assert_eq!(missed.words.as_deref(), Some("kv: p99 at most 1 ms is missed, measured: 1.5 ms"));
        let invalid = of(&study("invalid", "unknown"), None, &[]);
        assert_eq!((invalid.verdict, invalid.words), (BuildVerdict::Invalid, None));
        assert_eq!(of(&study("valid", "met"), None, &[]).verdict, BuildVerdict::NoBaseline);
        // Enough runs were valid to compare these.
        assert_eq!(of(&study("invalid", "unknown"), Some(BuildId(7)), &slower).verdict, BuildVerdict::Slower);
        let open = [primary("kv", 7, noisy(), 0.1)];
        assert_eq!(of(&study("invalid", "unknown"), Some(BuildId(7)), &open).verdict, BuildVerdict::Invalid);
        // Some runs could not be defended, but there are numbers of others.
        let mut partly = study("valid", "met");
        partly.verdict = Verdict::Invalid;
        assert_eq!(of(&partly, None, &[]).verdict, BuildVerdict::NoBaseline);
        assert_eq!(of(&partly, Some(BuildId(7)), &open).verdict, BuildVerdict::TooNoisy);
    }

    #[test]
    fn a_verdict_names_the_build_that_its_cell_was_compared_with() {
        let compared = [primary("a", 9, NoDifference, 0.0), primary("b", 6, Slower, 0.1)];
        let result = of(&study("valid", "met"), Some(BuildId(9)), &compared);
        assert_eq!((result.verdict, result.baseline), (BuildVerdict::Slower, Some(BuildId(6))));
        assert_eq!(result.words.as_deref(), Some("b: p99 slower, +10 %, against build 6"));
    }
}
