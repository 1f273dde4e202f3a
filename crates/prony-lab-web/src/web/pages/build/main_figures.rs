//! The main figures of a build, each beside its history and its difference to the baseline.

use askama::Template;
use prony_model::{Metric, MetricComparison};
use serde::Deserialize;

use super::figure;
use super::paired::{COMPARISON_BYTES_MAX, Paired, difference};
use prony_lab_core::ansi_stripper;
use prony_lab_core::definitions::Definitions;
use prony_lab_model::{BuildDetail, BuildId, BuildKind};
use prony_lab_store::figures;
use prony_lab_store::projects::Project;
use prony_lab_store::{StoreError, Tx, builds, files, series};

/// Rows of the table: a study of more is looked at in the table of all figures.
const ROWS_MAX: usize = 24;
/// Figures among which the main ones are looked for.
const FIGURES_MAX: u32 = 2_000;
/// Builds of a small picture.
pub(in crate::web::pages) const SPARK_BUILDS: u32 = 30;

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
    let paired = Paired::read(tx, id, detail.baseline)?;
    let found = figures::of(tx, id, FIGURES_MAX)?;
    let mut rows = Vec::new();
    for found in figure::main(found, |found| paired.is_primary(found), ROWS_MAX) {
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
            difference: paired.difference(&found).unwrap_or_else(|| figure::change(before.as_ref(), &found)),
        });
    }
    Ok(rows)
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
        Metric::Rate | Metric::Capacity => "/s",
        Metric::Cpu => "µs of CPU time per request",
        _ => "ms",
    }
}
