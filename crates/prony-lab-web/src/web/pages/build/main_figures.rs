//! The main figures of a build, each beside its history and its difference to the baseline.

use askama::Template;
use prony_model::{ComparisonOutcome, Metric, MetricComparison};
use serde::Deserialize;

use super::figure;
use crate::web::pages::format;
use prony_lab_core::ansi_stripper;
use prony_lab_core::definitions::Definitions;
use prony_lab_model::{BuildDetail, BuildId, BuildKind};
use prony_lab_store::figures::{self, Figure};
use prony_lab_store::projects::Project;
use prony_lab_store::{StoreError, Tx, builds, files, series};

/// Rows of the table: a study of more is looked at in the table of all figures.
const ROWS_MAX: usize = 24;
/// Figures among which the main ones are looked for.
const FIGURES_MAX: u32 = 2_000;
/// Builds of a small picture.
pub(in crate::web::pages) const SPARK_BUILDS: u32 = 30;
/// A longer comparison, or report of one, is not read for its few numbers.
const COMPARISON_BYTES_MAX: u64 = 16 << 20;

#[derive(Template)]
#[template(path = "build_main.html")]
pub(super) struct MainFigures {
    baseline: Option<BuildId>,
    /// Whether it compares two commits itself.
    is_comparison: bool,
    branch: String,
    rows: Vec<Line>,
}

/// One figure.
struct Line {
    name: String,
    link: Option<String>,
    value: String,
    interval: String,
    /// The last values as a picture, and their range in words.
    spark: String,
    range: String,
    before: String,
    difference: String,
}

/// The builds of the project's branch up to one build, which is the last of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Past {
    branch: String,
    builds: Vec<BuildId>,
}

impl Past {
    /// What came before the build; empty as long as it is not over.
    pub(super) fn read(
        tx: &mut Tx<'_>,
        project: Option<&Project>,
        definitions: &Definitions,
        detail: &BuildDetail,
    ) -> Result<Self, StoreError> {
        let build = &detail.build;
        let Some(project) = project.filter(|_| build.state.is_final()) else { return Ok(Self::default()) };
        // A definition of an older prony may not be readable any more; what was built by it is.
        let Ok(definition) = definitions.of(project) else { return Ok(Self::default()) };
        let found = builds::finished_of_branch(tx, project.id, &definition.branch, build.id, SPARK_BUILDS)?;
        let mut builds: Vec<BuildId> = found.iter().map(|finished| finished.id).collect();
        if builds.first() != Some(&build.id) {
            builds.insert(0, build.id);
        }
        Ok(Self { branch: definition.branch.clone(), builds })
    }
}

/// What `prony compare` found of one cell, without the runs that it rests on.
#[derive(Deserialize)]
struct Compared {
    b: Side,
    metrics: Vec<MetricComparison>,
}

#[derive(Deserialize)]
struct Side {
    name: String,
}

/// The comparisons of a study, without anything else of its report.
#[derive(Deserialize)]
struct Report {
    comparisons: Vec<Within>,
}

#[derive(Deserialize)]
struct Within {
    title: String,
    metrics: Vec<MetricComparison>,
}

impl MainFigures {
    /// Reads them. It names no table but those of files and results, so that it stays good while builds come and go: `past`
    /// was read before.
    pub(super) fn read(tx: &mut Tx<'_>, detail: &BuildDetail, past: &Past) -> Result<Self, StoreError> {
        let id = detail.build.id;
        let is_comparison = detail.build.kind == BuildKind::Comparison;
        let rows = if is_comparison { between_commits(tx, id)? } else { beside_history(tx, detail, past)? };
        Ok(Self { baseline: detail.baseline, is_comparison, branch: ansi_stripper::line(&past.branch), rows })
    }
}

/// What the study of a comparison found: its primary metrics.
fn between_commits(tx: &mut Tx<'_>, id: BuildId) -> Result<Vec<Line>, StoreError> {
    let report: Option<Report> = files::json(tx, id, "report.json", COMPARISON_BYTES_MAX)?;
    let all = report.into_iter().flat_map(|report| report.comparisons);
    let rows = all.flat_map(|within| {
        let primary = within.metrics.into_iter().filter(|metric| metric.primary);
        primary.map(move |metric| Line {
            name: format!(
                "{} of {}, {}",
                metric.metric.name(),
                ansi_stripper::line(&within.title),
                unit(metric.metric)
            ),
            link: None,
            value: figure::shown(metric.b),
            interval: String::new(),
            spark: String::new(),
            range: String::new(),
            before: figure::shown(metric.a),
            difference: difference(&metric),
        })
    });
    Ok(rows.take(ROWS_MAX).collect())
}

/// The figures of a build that stands in a history.
fn beside_history(tx: &mut Tx<'_>, detail: &BuildDetail, past: &Past) -> Result<Vec<Line>, StoreError> {
    let id = detail.build.id;
    let compared: Vec<Compared> = match detail.baseline {
        Some(_) => files::json(tx, id, "comparison.json", COMPARISON_BYTES_MAX)?.unwrap_or_default(),
        None => Vec::new(),
    };
    let of = |found: &Figure| {
        let cell = compared.iter().find(|one| is_cell(&one.b.name, &found.cell))?;
        cell.metrics.iter().find(|metric| metric.metric.name() == found.metric)
    };
    let found = figures::of(tx, id, FIGURES_MAX)?;
    let is_primary = |found: &Figure| of(found).is_some_and(|metric| metric.primary);
    let mut rows = Vec::new();
    for found in figure::main(found, is_primary, ROWS_MAX) {
        let before = match detail.baseline {
            Some(baseline) => figures::of_series(tx, baseline, found.series)?,
            None => None,
        };
        let values = series::values_in(tx, found.series, &past.builds)?;
        let project = detail.build.project_name.as_deref();
        rows.push(Line {
            name: figure::title(&found),
            link: project.map(|project| format!("/history/{project}/{}", found.series)),
            value: figure::shown(found.value),
            interval: figure::interval(found.low, found.high),
            spark: prony_report::series::spark(&values),
            range: range(&values),
            before: before.as_ref().map_or_else(|| "–".to_owned(), |before| figure::shown(before.value)),
            difference: of(&found).map_or_else(|| figure::change(before.as_ref(), &found), difference),
        });
    }
    Ok(rows)
}

/// Whether `prony compare` means `cell` by `name`: it puts the folder of the study before it.
fn is_cell(name: &str, cell: &str) -> bool {
    name.strip_suffix(cell).is_some_and(|before| before.is_empty() || before.ends_with(": "))
}

/// A difference with its interval, and what is said of it: markup.
fn difference(metric: &MetricComparison) -> String {
    let (class, shape) = match &metric.outcome {
        outcome if outcome.is_slower() => ("bad", "▼"),
        outcome if outcome.is_faster() => ("good", "▲"),
        ComparisonOutcome::NoDifference => ("good", "="),
        ComparisonOutcome::TooNoisy { .. } => ("care", "~"),
        _ => ("calm", "·"),
    };
    let word = format::word(class, shape, metric.outcome.word());
    let percent = prony_report::signed_percent;
    let Some(change) = metric.change else { return word };
    let interval = metric.interval.map_or_else(String::new, |interval| {
        format!(" <span class=\"soft\">({} to {})</span>", percent(interval.low), percent(interval.high))
    });
    format!("{word} {}{interval}", percent(change))
}

/// `4.38 to 4.81 in 30 builds`; nothing where there is but one.
fn range(values: &[f64]) -> String {
    if values.len() < 2 {
        return String::new();
    }
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{} to {} in {} builds", prony_report::rate(least), prony_report::rate(most), values.len())
}

/// The unit in which comparisons have a metric.
fn unit(metric: Metric) -> &'static str {
    match metric {
        Metric::Rate => "/s",
        Metric::Cpu => "µs of CPU time per request",
        _ => "ms",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn metric(outcome: &serde_json::Value, interval: &serde_json::Value) -> MetricComparison {
        let metric = json!({ "metric": "p99", "primary": true, "method": "signed-ranks", "pairs": 10, "a": 1.0,
            "b": 1.08, "change": 0.08, "interval": interval, "spread": null, "p": null, "differs": true,
            "outcome": outcome });
        serde_json::from_value(metric).expect("a comparison of a metric")
    }

    #[test]
    fn a_difference_comes_with_its_interval_and_a_word() {
        let check = |word: serde_json::Value, expected: &str| {
            let markup = difference(&metric(&word, &json!({ "low": 0.05, "high": 0.11 })));
            assert!(markup.contains(expected) && markup.contains("+8.0 %"), "{markup}");
            assert!(markup.contains("(+5.0 % to +11 %)"), "{markup}");
        };
        check(json!({ "word": "slower" }), "▼</span> slower");
        check(json!({ "word": "faster-size-uncertain" }), "▲</span> faster");
        check(json!({ "word": "no-difference" }), "=</span> no difference");
        check(json!({ "word": "too-noisy", "smallest_detectable": null, "pairs_needed": null }), "too noisy");
        check(json!({ "word": "no-verdict", "reason": "<b>" }), "no verdict");
        assert!(!difference(&metric(&json!({ "word": "slower" }), &json!(null))).contains("to"));
    }

    #[test]
    fn a_cell_is_found_behind_the_folder_of_its_study() {
        assert!(is_cell("/tmp/study: GET /", "GET /") && is_cell("GET /", "GET /"));
        assert!(!is_cell("/tmp/study: all GET /", "GET /"), "that is another cell");
        assert!(is_cell("study: a: b", "a: b"), "a cell may have a colon in its name");
    }
}
