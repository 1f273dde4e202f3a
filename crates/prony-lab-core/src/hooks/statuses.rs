//! Which status of a commit follows from an event.
//!
//! A build reports three times: when it is requested, when it begins, and when it is over. Its commit has to be known:
//! from the request, or from the checkout. A build that is over reports its end alone, however late its events are seen.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use serde::Deserialize;

use crate::definitions::Definitions;
use crate::history;
use prony_lab_model::clock::Moment;
use prony_lab_model::{
    Build, BuildDetail, BuildId, BuildKind, BuildState, CommitStatus, Definition, EventId, ProjectId,
    StatusReport, StatusTarget, TaskId, TaskKind,
};
use prony_lab_store::events::Event;
use prony_lab_store::{StoreError, Tx, builds, projects, statuses};

/// How far the build is by the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Requested,
    Begun,
    /// A task of it ended well; if that is the checkout, its commit is known now.
    TaskDone(TaskId),
    Over,
}

/// What an event of a task holds.
#[derive(Deserialize)]
struct TaskBody {
    task: TaskId,
}

impl Step {
    fn of(event: &Event) -> Option<Self> {
        if event.kind == "task.success" {
            return serde_json::from_str::<TaskBody>(&event.body).ok().map(|body| Self::TaskDone(body.task));
        }
        match event.kind.strip_prefix("build.")?.parse::<BuildState>().ok()? {
            BuildState::Queued => Some(Self::Requested),
            BuildState::Running => Some(Self::Begun),
            state if state.is_final() => Some(Self::Over),
            _ => None,
        }
    }
}

/// Puts the statuses that follow from `events` into the outbox. `address` is that of the lab, if it is known.
pub(super) fn queue(
    tx: &mut Tx<'_>,
    events: &[Event],
    definitions: &Definitions,
    address: &str,
    now: Moment,
) -> Result<(), StoreError> {
    let steps: Vec<(Step, BuildId, EventId)> =
        events.iter().filter_map(|event| Some((Step::of(event)?, event.build?, event.id))).collect();
    // Thousands of builds are requested in a second, and most projects report to no forge: what they have in common is
    // read once.
    let ids: Vec<BuildId> = steps.iter().map(|(_, id, _)| *id).collect();
    let builds = builds::of_numbers(tx, &ids)?;
    let projects: HashMap<BuildId, ProjectId> =
        builds.into_iter().filter_map(|build| Some((build.id, build.project?))).collect();
    let mut reporting = HashMap::new();
    for (step, id, event) in steps {
        let Some(&project) = projects.get(&id) else { continue };
        let definition = match reporting.entry(project) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(reporting_definition(tx, definitions, project)?),
        };
        let Some((definition, target)) = definition else { continue };
        let Some(detail) = builds::one(tx, id)? else { continue };
        if let Some(report) = report(&detail, step, definition, target, address) {
            statuses::queue(tx, project, event, &report, now)?;
        }
    }
    Ok(())
}

/// The definition of a project, and where the statuses of its commits go; nothing where they go nowhere.
fn reporting_definition(
    tx: &mut Tx<'_>,
    definitions: &Definitions,
    project: ProjectId,
) -> Result<Option<(Arc<Definition>, StatusTarget)>, StoreError> {
    let Some(project) = projects::by_id(tx, project)? else { return Ok(None) };
    // A definition that can't be read any more is reported where it is used.
    let Ok(definition) = definitions.of(&project) else { return Ok(None) };
    let target = definition.status.clone();
    Ok(target.map(|target| (definition, target)))
}

fn report(
    detail: &BuildDetail,
    step: Step,
    definition: &Definition,
    target: &StatusTarget,
    address: &str,
) -> Option<StatusReport> {
    let build = &detail.build;
    if build.kind == BuildKind::Comparison && build.requested_by == history::LAB {
        // Nobody waits for these; they are about the history.
        return None;
    }
    let requested = requested_commit(build);
    let is_checkout = |id| detail.tasks.iter().any(|task| task.id == id && task.kind == TaskKind::Checkout);
    let is_due = match step {
        Step::Over => build.state.is_final(),
        Step::Requested | Step::Begun => !build.state.is_final() && requested.is_some(),
        Step::TaskDone(task) => !build.state.is_final() && requested.is_none() && is_checkout(task),
    };
    let commit = build.commit.clone().filter(|commit| is_commit(commit)).or(requested)?;
    let mut status = CommitStatus::of(build, address);
    if step != Step::Over {
        // As it was by the event, whatever followed.
        let description = if step == Step::Requested { "queued" } else { "running" };
        description.clone_into(&mut status.description);
    }
    status.commit = Some(commit);
    status.context = context(build, definition, target);
    is_due.then_some(StatusReport { status, is_running: step != Step::Requested })
}

/// The commit, where the request names all of it.
fn requested_commit(build: &Build) -> Option<String> {
    is_commit(&build.reference).then(|| build.reference.to_ascii_lowercase())
}

/// Whether `text` is a whole hash of git: SHA-1 or SHA-256.
fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// One for each kind of build of a commit, so that one never hides another.
fn context(build: &Build, definition: &Definition, target: &StatusTarget) -> String {
    let mut context = target.context.clone();
    if let Some(variant) = build.variant.as_deref().filter(|_| definition.variants.len() > 1) {
        context = format!("{context}/{variant}");
    }
    if build.kind == BuildKind::Comparison {
        context.push_str("/comparison");
    }
    context
}
