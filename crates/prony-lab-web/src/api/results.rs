//! Results of builds, and people's notes about them.

use prony_model::MetricComparison;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::builds::{List, OneBuild};
use super::call::{Answer, Answered, Call, Nothing};
use prony_lab_core::actions::{self, Ctx};
use prony_lab_core::lab::Refused;
use prony_lab_model::BuildKind;
use prony_lab_store::figures::{self, Figure, Note};
use prony_lab_store::thresholds::{self, Threshold};
use prony_lab_store::{StoreError, Tx, builds, files};

/// Figures of one build in one answer: a study of more is read in its own result.
const FIGURES_MAX: u32 = 10_000;
/// Notes of one build in one answer, the newest.
const NOTES_MAX: u32 = 500;

/// A longer report is not read for its comparisons.
const REPORT_BYTES_MAX: u64 = 16 << 20;
/// Targets of one comparison in one answer: of more, the report has all.
const COMPARISONS_MAX: usize = 1_000;

/// What a build says.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Results {
    /// Its figures, each with the series that it belongs to; none of a build that compares two commits.
    figures: Vec<Figure>,
    /// What a build found that compares two commits: for each cell the metrics of both, the primary one first.
    comparisons: Vec<CellComparison>,
    /// The thresholds of its study file and how they came out.
    #[serde(rename = "demands")]
    thresholds: Vec<Threshold>,
}

/// One cell of two commits that were measured in turn.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct CellComparison {
    /// Target and commits, in words.
    title: String,
    /// The outcome for the commit (b) against its base (a).
    metrics: Vec<MetricComparison>,
}

/// What is read of the report of a comparison.
#[derive(Default, Deserialize)]
struct Report {
    comparisons: Vec<CellComparison>,
}

/// What somebody says about a build.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewNote {
    /// A few sentences.
    words: String,
}

pub(super) async fn results(call: Call<OneBuild, Nothing, Nothing>) -> Answered<Results> {
    let id = call.path.id;
    let read = move |tx: &mut Tx<'_>| -> Result<Results, StoreError> {
        let Some(detail) = builds::one(tx, id)? else {
            return Err(StoreError::Missing(format!("build {id}")));
        };
        let is_comparison = detail.build.kind == BuildKind::Comparison;
        let report: Option<Report> =
            if is_comparison { files::json(tx, id, "report.json", REPORT_BYTES_MAX)? } else { None };
        let mut comparisons = report.unwrap_or_default().comparisons;
        comparisons.truncate(COMPARISONS_MAX);
        let figures = figures::of(tx, id, FIGURES_MAX)?;
        Ok(Results { figures, comparisons, thresholds: thresholds::of_build(tx, id)? })
    };
    Ok(call.lab.store.read(read).await?.into())
}

pub(super) async fn notes(call: Call<OneBuild, Nothing, Nothing>) -> Answered<List<Note>> {
    let id = call.path.id;
    Ok(List { items: call.lab.store.read(move |tx| figures::notes(tx, id, NOTES_MAX)).await?, next: None }
        .into())
}

pub(super) async fn add_note(call: Call<OneBuild, Nothing, NewNote>) -> Answered<List<Note>> {
    let (id, words) = (call.path.id, call.body.words);
    let add = move |tx: &mut Tx<'_>, ctx: &Ctx| -> Result<Vec<Note>, Refused> {
        actions::builds::add_note(tx, ctx, id, &words)?;
        Ok(figures::notes(tx, id, NOTES_MAX)?)
    };
    let items = call.lab.act(call.who.actor(), add).await?;
    Ok(Answer::at(List { items, next: None }, &format!("/builds/{id}/notes")))
}
