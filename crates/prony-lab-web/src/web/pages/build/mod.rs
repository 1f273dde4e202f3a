//! `/build/{id}`: one build. Whether it is valid and its verdict first, then its main figures, charts, all figures, when its
//! tasks ran, and a block for each of them.

mod act;
mod agents;
mod charts;
pub(super) mod figure;
pub(super) mod main_figures;
mod output;
pub(super) mod paired;
mod times;

use std::borrow::Borrow;
use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Html;
use serde_json::json;

pub(crate) use act::{add_note, cancel, retry};
pub(crate) use output::{file, whole};

use charts::Charts;
use main_figures::{MainFigures, Past};
use paired::Paired;

use super::commits::Section;
use super::{Frame, bisects, format, middle, middle_of};
use crate::http::{Principal, WebError};
use crate::web::fields::PathParam;
use prony_lab_core::ansi_stripper;
use prony_lab_core::lab::Lab;
use prony_lab_core::quantity;
use prony_lab_model::clock::{self, Moment};
use prony_lab_model::{
    AdHocLoad, Build, BuildDetail, BuildId, BuildKind, EventId, LoadAgents, RangeState, Repeat, Task,
    TaskState,
};
use prony_lab_store::figures::{self, Note};
use prony_lab_store::thresholds::{self, Threshold};
use prony_lab_store::{StoreError, Tx, builds, events};
use prony_report::fleet::AgentTable;

/// Figures on the page: a study of more is read in its own report.
const FIGURES: u32 = 2_000;
/// Under this name the worker takes in the page that a study makes.
const REPORT: &str = "report.html";
/// And in this folder its stored runs.
const RUNS: &str = "runs/";
/// Notes on the page, the newest.
const NOTES: u32 = 100;

#[derive(Template)]
#[template(path = "build.html")]
struct Page {
    frame: Frame,
    seen: EventId,
    build: Build,
    load: Option<AdHocLoad>,
    expires_at: Moment,
    baseline: Option<BuildId>,
    repeat_of: Option<Repeat>,
    repeats: Vec<Repeat>,
    notes: Vec<Note>,
    commits: Section,
    main: Arc<str>,
    charts: Arc<str>,
    rest: Arc<str>,
}

/// What is the same for every reader.
#[derive(Template)]
#[template(path = "build_rest.html")]
struct Rest {
    id: BuildId,
    is_comparison: bool,
    thresholds: Vec<ThresholdRow>,
    groups: Vec<figure::Group>,
    /// Columns of the table of results.
    columns: usize,
    has_baseline: bool,
    total: usize,
    invalid: usize,
    is_cut: bool,
    machine: Option<String>,
    /// The address of the study's own page.
    report: Option<String>,
    /// What each agent measured, where the load was shared.
    agents: Option<AgentTable>,
    files: Vec<File>,
    /// The stored runs of a study among its files.
    runs: Vec<File>,
    times: Option<times::Times>,
    blocks: Vec<Block>,
}

struct File {
    name: String,
    /// The name as a part of an address.
    address: String,
    size: String,
}

/// A threshold, with what was measured in the unit of its words.
struct ThresholdRow {
    is_met: Option<bool>,
    words: String,
    measured: String,
    cell: String,
}

struct Block {
    task: Task,
    output: output::Ends,
    is_open: bool,
}

/// Shows it.
pub(crate) async fn show(
    State(lab): State<Lab>,
    principal: Principal,
    PathParam(id): PathParam<BuildId>,
) -> Result<Html<String>, WebError> {
    let (definitions, projects) = (lab.definitions.clone(), lab.projects().await?);
    let found = lab
        .store
        .read(move |tx| {
            let seen = events::last(tx)?;
            let Some(detail) = builds::one(tx, id)? else { return Ok(None) };
            let project = projects.iter().find(|project| Some(project.id) == detail.build.project);
            let commits = Section::of_build(tx, project, &definitions, &detail)?;
            let past = Past::read(tx, project, &definitions, &detail)?;
            Ok(Some((seen, detail, past, figures::notes(tx, id, NOTES)?, commits)))
        })
        .await?;
    let (seen, detail, past, notes, commits) =
        found.ok_or_else(|| WebError::Missing(format!("build {id}")))?;
    // What is known of the build is an input: the parts stay good while other builds come and go.
    let inputs = json!((&detail, second_of(&detail.build))).to_string();
    let main = {
        let (detail, inputs) = (detail.clone(), format!("{inputs} {past:?}"));
        let read = move |tx: &mut Tx<'_>| MainFigures::read(tx, &detail, &past);
        middle_of(&lab, format!("main figures of build {id}"), inputs, read).await?
    };
    let charts = middle(&lab, format!("charts of build {id}"), move |tx| Charts::read(tx, id)).await?;
    let rest = {
        let detail = detail.clone();
        middle_of(&lab, format!("build {id}"), inputs, move |tx| Rest::read(tx, &detail)).await?
    };
    let BuildDetail { build, load, expires_at, baseline, repeat_of, repeats, .. } = detail;
    let frame = Frame::of(&principal).at("/");
    let page = Page {
        frame,
        seen,
        build,
        load,
        expires_at,
        baseline,
        repeat_of,
        repeats,
        notes,
        commits,
        main,
        charts,
        rest,
    };
    Ok(Html(page.render()?))
}

/// The second in which a build is shown that is not over: until now its tasks have run.
fn second_of(build: &Build) -> Option<i64> {
    (!build.state.is_final()).then(|| clock::wall().0 / 1000)
}

impl Rest {
    /// Reads it. It names no table that builds change which come and go.
    fn read(tx: &mut Tx<'_>, detail: &BuildDetail) -> Result<Self, StoreError> {
        let id = detail.build.id;
        let mut found = figures::of(tx, id, FIGURES + 1)?;
        let is_cut = found.len() > FIGURES as usize;
        found.truncate(FIGURES as usize);
        let before = match detail.baseline {
            Some(baseline) => figures::of(tx, baseline, FIGURES)?,
            None => Vec::new(),
        };
        let project = detail.build.project_name.as_deref();
        let has_baseline = !before.is_empty();
        let (runs, files): (Vec<File>, Vec<File>) =
            output::files(tx, id)?.into_iter().partition(|file| file.name.starts_with(RUNS));
        let report = files.iter().find(|file| file.name == REPORT);
        let mut blocks = Vec::new();
        for task in &detail.tasks {
            let output = output::ends(tx, task)?;
            // The output of a load is its result.
            let is_result = detail.build.kind == BuildKind::Load;
            let is_open = is_result
                || matches!(task.state, TaskState::Running | TaskState::Failed | TaskState::Timeout);
            blocks.push(Block { task: task.clone(), output, is_open });
        }
        Ok(Self {
            id,
            is_comparison: detail.build.kind == BuildKind::Comparison,
            thresholds: thresholds::of_build(tx, id)?.into_iter().map(ThresholdRow::from).collect(),
            columns: if has_baseline { 8 } else { 6 },
            has_baseline,
            total: found.len(),
            invalid: found.iter().filter(|figure| !figure.is_valid).count(),
            is_cut,
            machine: found.first().map(|figure| ansi_stripper::line(&figure.fingerprint)),
            groups: figure::groups(&found, &before, &Paired::read(tx, id, detail.baseline)?, project),
            agents: agents::table(tx, detail, &files)?,
            report: report.map(|file| format!("/build/{id}/files/{}", file.address)),
            files,
            runs,
            times: times::times(&detail.build, &detail.tasks, clock::wall()),
            blocks,
        })
    }
}

impl From<Threshold> for ThresholdRow {
    fn from(threshold: Threshold) -> Self {
        let measured = threshold.value.map(|value| quantity::of_figure(&threshold.metric, value));
        Self {
            is_met: threshold.is_met,
            words: ansi_stripper::line(&threshold.words),
            measured: measured.unwrap_or_else(|| "–".to_owned()),
            cell: ansi_stripper::line(&threshold.cell),
        }
    }
}

/// Whether a threshold is met: markup.
fn threshold_word(is_met: impl Borrow<Option<bool>>) -> &'static str {
    match is_met.borrow() {
        Some(true) => "<span class=\"word good\"><span aria-hidden=\"true\">✓</span> MET</span>",
        Some(false) => "<span class=\"word bad\"><span aria-hidden=\"true\">✕</span> MISSED</span>",
        None => "<span class=\"word care\"><span aria-hidden=\"true\">?</span> UNKNOWN</span>",
    }
}
