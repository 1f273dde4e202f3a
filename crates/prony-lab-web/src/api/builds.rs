//! Builds, loads and what happened.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::{Answer, Answered, Call, Nothing};
use super::problem::Problem;
use prony_lab_core::actions;
use prony_lab_core::actions::requests::Asker;
use prony_lab_core::lab::Refused;
use prony_lab_model::clock::Moment;
use prony_lab_model::{
    AdHocLoad, Build, BuildDetail, BuildId, BuildRequest, BuildState, CommitStatus, EventId, Repetition,
    TaskId,
};
use prony_lab_store::files::FileInfo;
use prony_lab_store::{builds, events, files, projects, tasks};

/// Rows of a list where nothing else is asked for.
const ROWS: u32 = 50;
/// Rows of a list at most.
const ROWS_MAX: u32 = 500;
/// Pieces of output in one answer: at 64 KiB each, a megabyte.
const PIECES_MAX: u32 = 16;

/// A list's rows, and where it goes on.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct List<T> {
    /// The rows.
    pub(super) items: Vec<T>,
    /// What to ask for to read on; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<i64>,
}

/// One build.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct OneBuild {
    /// Its number.
    pub(super) id: BuildId,
}

/// One task of a build.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct OneTask {
    /// The build's number.
    id: BuildId,
    /// The task's number.
    task: TaskId,
}

/// Which builds.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Which {
    /// Of the project of this name only.
    project: Option<String>,
    /// In this state only.
    state: Option<BuildState>,
    /// Of this variant only.
    variant: Option<String>,
    /// Those before this build: `next` of the page before.
    before: Option<BuildId>,
    /// At most so many, 500 at most.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
}

/// From where on.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct From {
    /// After this number: `next` of the page before.
    after: Option<i64>,
    /// At most so many, 500 at most.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
}

/// What a task wrote.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// The text; bytes that are no UTF-8 are replaced.
    text: String,
    /// What to ask for to read on; absent where there is no more yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<i64>,
}

/// Something that happened.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Event {
    /// Grows.
    id: EventId,
    /// When.
    at: Moment,
    /// What: `build.queued`, `task.running`, …
    kind: String,
    /// Of which build.
    build: Option<BuildId>,
    /// The rest.
    body: serde_json::Value,
}

/// How many builds were cancelled.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Stopped {
    /// So many.
    stopped: u64,
}

/// Which repeat.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WantedRepeat {
    /// Repeats of the first build, of which this may be one; absent: as many as the project allows.
    #[schemars(range(max = 10))]
    at_most: Option<u32>,
}

pub(super) fn rows(limit: Option<u32>) -> Result<u32, Problem> {
    match limit.unwrap_or(ROWS) {
        limit @ 1..=ROWS_MAX => Ok(limit),
        _ => Err(Problem::bad(format!("limit is 1 to {ROWS_MAX}"))),
    }
}

pub(super) async fn list(call: Call<Nothing, Which, Nothing>) -> Answered<List<Build>> {
    let Which { project, state, variant, before, limit } = call.query;
    let limit = rows(limit)?;
    let items = call
        .lab
        .store
        .read(move |tx| {
            let project = match project {
                None => None,
                Some(name) => match projects::by_name(tx, &name)? {
                    Some(project) => Some(project.id),
                    None => return Ok(Vec::new()),
                },
            };
            let page = before.map_or(builds::Page::Newest, builds::Page::Before);
            builds::list(tx, &builds::Filter { project, state, variant }, page, limit)
        })
        .await?;
    let is_full = items.len() == limit as usize;
    let next = items.last().filter(|_| is_full).map(|build| build.id.0);
    Ok(List { items, next }.into())
}

pub(super) async fn queue(call: Call<Nothing, Nothing, Nothing>) -> Answered<List<Build>> {
    let items = call.lab.store.read(|tx| builds::open(tx, ROWS_MAX)).await?;
    Ok(List { items, next: None }.into())
}

pub(super) async fn one(call: Call<OneBuild, Nothing, Nothing>) -> Answered<BuildDetail> {
    let id = call.path.id;
    let found = call.lab.store.read(move |tx| builds::one(tx, id)).await?;
    found.map(Answer::from).ok_or_else(|| Problem::missing(&format!("build {id}")))
}

pub(super) async fn request(call: Call<Nothing, Nothing, BuildRequest>) -> Answered<BuildDetail> {
    let asker = asker(&call);
    let accepted = call.lab.request_build_once(call.body, asker).await;
    made(accepted)
}

pub(super) async fn load(call: Call<Nothing, Nothing, AdHocLoad>) -> Answered<BuildDetail> {
    let asker = asker(&call);
    let accepted = call.lab.request_load(call.body, call.who.role, asker).await;
    made(accepted)
}

pub(super) async fn retry(call: Call<OneBuild, Nothing, Nothing>) -> Answered<BuildDetail> {
    let asker = asker(&call);
    let accepted = call.lab.retry_build(call.path.id, call.who.role, asker).await;
    made(accepted)
}

pub(super) async fn repeat(call: Call<OneBuild, Nothing, WantedRepeat>) -> Answered<Repetition> {
    Ok(call.lab.repeat_build(call.path.id, call.body.at_most, &call.who.name).await?.into())
}

fn asker<P, Q, B>(call: &Call<P, Q, B>) -> Asker {
    Asker { by: call.who.name.clone(), key: call.key.clone().map(|key| (key, call.digest)) }
}

/// The build that was accepted: 201, or 200 where it had been before.
fn made(accepted: Result<(BuildDetail, bool), Refused>) -> Answered<BuildDetail> {
    let (detail, is_new) = accepted?;
    let place = format!("/builds/{}", detail.build.id);
    Ok(if is_new { Answer::at(detail, &place) } else { detail.into() })
}

pub(super) async fn output(call: Call<OneTask, From, Nothing>) -> Answered<Output> {
    let OneTask { id, task } = call.path;
    let limit = rows(call.query.limit)?.min(PIECES_MAX);
    let after = call.query.after.unwrap_or(0);
    let pieces = call
        .lab
        .store
        .read(move |tx| {
            let is_there = tasks::of(tx, id)?.iter().any(|known| known.id == task);
            Ok(if is_there { Some(tasks::output(tx, task, after, limit)?) } else { None })
        })
        .await?
        .ok_or_else(|| Problem::missing(&format!("task {task} of a build {id}")))?;
    let next = pieces.last().map(|(piece, _)| *piece);
    let bytes: Vec<u8> = pieces.into_iter().flat_map(|(_, bytes)| bytes).collect();
    Ok(Output { text: String::from_utf8_lossy(&bytes).into_owned(), next }.into())
}

pub(super) async fn events_of(call: Call<OneBuild, From, Nothing>) -> Answered<List<Event>> {
    events_since(&call.lab, Some(call.path.id), &call.query).await
}

pub(super) async fn events(call: Call<Nothing, From, Nothing>) -> Answered<List<Event>> {
    events_since(&call.lab, None, &call.query).await
}

async fn events_since(
    lab: &prony_lab_core::lab::Lab,
    build: Option<BuildId>,
    from: &From,
) -> Answered<List<Event>> {
    let limit = rows(from.limit)?;
    let after = EventId(from.after.unwrap_or(0));
    let found = lab.store.read(move |tx| events::after(tx, after, build, limit)).await?;
    let next = found.last().map(|event| event.id.0);
    let items = found
        .into_iter()
        .map(|event| Event {
            id: event.id,
            at: event.at,
            kind: event.kind,
            build: event.build,
            body: serde_json::from_str(&event.body).unwrap_or_default(),
        })
        .collect();
    Ok(List { items, next }.into())
}

pub(super) async fn status(call: Call<OneBuild, Nothing, Nothing>) -> Answered<CommitStatus> {
    let id = call.path.id;
    let found = call.lab.store.read(move |tx| builds::one(tx, id)).await?;
    let build = found.ok_or_else(|| Problem::missing(&format!("build {id}")))?.build;
    Ok(CommitStatus::of(&build, &call.own_address).into())
}

pub(super) async fn files_of(call: Call<OneBuild, Nothing, Nothing>) -> Answered<List<FileInfo>> {
    let id = call.path.id;
    Ok(List { items: call.lab.store.read(move |tx| files::of_build(tx, id)).await?, next: None }.into())
}

pub(super) async fn cancel(call: Call<OneBuild, Nothing, Nothing>) -> Answered<BuildDetail> {
    Ok(call.lab.cancel_build(call.path.id, &call.who.name).await?.into())
}

pub(super) async fn stop_all(call: Call<Nothing, Nothing, Nothing>) -> Answered<Stopped> {
    Ok(Stopped { stopped: call.lab.act(call.who.actor(), actions::builds::stop_all).await? }.into())
}
