//! Builds: accepted, moved from state to state by compare-and-set, listed.

use std::cmp::Reverse;
use std::collections::HashMap;

use serde_json::json;

use super::{Row, StoreError, Tx, Value, checksum, events, repeats, tasks, values};
use prony_lab_model::clock::Moment;
use prony_lab_model::{
    AdHocLoad, Build, BuildDetail, BuildId, BuildState, BuildVerdict, Name, NewBuild, Priority, ProjectId,
    Repeat,
};

const COLUMNS: &str = "b.id, b.kind, b.project_id, p.name, b.reference, b.commit_id, b.base, b.variant, b.state, \
                       b.reason, b.verdict, b.priority, b.requested_by, b.requested_at, b.started_at, b.ended_at, \
                       b.attempt, b.commit_author, b.commit_subject, b.commit_at";
const FROM: &str = "builds b LEFT JOIN projects p ON p.id = b.project_id";
/// What is worked on right now, in the words of the index of these.
pub(super) const IS_RUNNING: &str =
    "state IN ('assigned', 'arming', 'armed', 'running', 'draining', 'finalizing', 'cancelling')";
/// Builds that are read by their numbers in one statement.
const NUMBERS_TOGETHER: usize = 64;

/// Which builds a list is of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this project.
    pub project: Option<ProjectId>,
    /// In this state.
    pub state: Option<BuildState>,
    /// Of this variant.
    pub variant: Option<String>,
}

/// Where a page of a list begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    /// The newest.
    Newest,
    /// Those just older than this one.
    Before(BuildId),
    /// Those just newer than this one.
    After(BuildId),
}

/// Accepts a build: when this is committed it is done once, whatever happens.
pub fn accept(tx: &mut Tx<'_>, new: &NewBuild) -> Result<BuildId, StoreError> {
    let load = new.load.as_ref().map(|load| json!(load).to_string());
    let id = BuildId(tx.number(
        "INSERT INTO builds (kind, project_id, reference, branch, base, variant, load, email, priority, state, requested_by, \
         requested_at, expires_at) VALUES ($1, $2, $3, $3, $4, $5, $6, $7, $8, 'queued', $9, $10, $11) RETURNING id",
        values![
            new.kind.name(),
            new.project,
            new.reference.as_str(),
            new.base.as_deref(),
            new.variant.as_ref().map(Name::as_str),
            load,
            new.email.as_deref(),
            number(new.priority),
            new.requested_by.as_str(),
            new.requested_at,
            new.expires_at,
        ],
    )?);
    tasks::add(tx, id, &new.tasks)?;
    events::append(tx, new.requested_at, "build.queued", Some(id), &json!({}))?;
    Ok(id)
}

/// Accepts a build of `branch` that is requested by its commit.
pub fn accept_of_branch(tx: &mut Tx<'_>, new: &NewBuild, branch: &str) -> Result<BuildId, StoreError> {
    let id = accept(tx, new)?;
    tx.execute("UPDATE builds SET branch = $2 WHERE id = $1", values![id, branch])?;
    Ok(id)
}

/// Moves a build from `from` to `to`, if it still is where it was thought to be.
pub fn advance(
    tx: &mut Tx<'_>,
    id: BuildId,
    from: BuildState,
    to: BuildState,
    reason: Option<&str>,
    now: Moment,
) -> Result<(), StoreError> {
    assert!(from.may_become(to), "invariant: {from:?} never becomes {to:?}");
    let ended = to.is_final().then_some(now);
    let changed = tx.execute(
        "UPDATE builds SET state = $3, reason = $4, ended_at = $5 WHERE id = $1 AND state = $2",
        values![id, from.name(), to.name(), reason, ended],
    )?;
    if changed == 0 {
        return Err(StoreError::Conflict(format!("build {id}")));
    }
    if to.is_final() {
        checksum::seal(tx, id)?;
    }
    events::append(tx, now, &format!("build.{}", to.name()), Some(id), &json!({ "reason": reason }))?;
    Ok(())
}

/// Records the verdict of a finished build.
pub fn set_verdict(
    tx: &mut Tx<'_>,
    id: BuildId,
    verdict: BuildVerdict,
    baseline: Option<BuildId>,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE builds SET verdict = $2, baseline_id = $3 WHERE id = $1",
        values![id, verdict.name(), baseline],
    )?;
    checksum::seal(tx, id)
}

/// How far a build is.
pub fn state(tx: &mut Tx<'_>, id: BuildId) -> Result<BuildState, StoreError> {
    let found = tx.first("SELECT state FROM builds WHERE id = $1", values![id], |row| row.word(0))?;
    found.ok_or_else(|| StoreError::Missing(format!("build {id}")))
}

/// One build, if there is one.
pub fn one(tx: &mut Tx<'_>, id: BuildId) -> Result<Option<BuildDetail>, StoreError> {
    let statement = format!(
        "SELECT {COLUMNS}, b.load, b.email, b.expires_at, b.baseline_id, b.repeat_of, b.repeat_why FROM {FROM} \
         WHERE b.id = $1"
    );
    let found = tx.first(&statement, values![id], |row| {
        let why = row.maybe_text(25)?.unwrap_or_default();
        let repeat_of = row.maybe_int(24)?.map(|first| Repeat { build: BuildId(first), why });
        let detail = BuildDetail {
            build: build(row)?,
            tasks: Vec::new(),
            load: None,
            email: row.maybe_text(21)?,
            expires_at: row.moment(22)?,
            baseline: row.maybe_int(23)?.map(BuildId),
            repeat_of,
            repeats: Vec::new(),
        };
        Ok((detail, row.maybe_text(20)?))
    })?;
    let Some((detail, load)) = found else { return Ok(None) };
    let load: Option<AdHocLoad> = load
        .map(|text| serde_json::from_str(&text))
        .transpose()
        .map_err(|error| StoreError::Damaged(error.to_string()))?;
    let (tasks, repeats) = (tasks::of(tx, id)?, repeats::of(tx, id)?);
    Ok(Some(BuildDetail { tasks, load, repeats, ..detail }))
}

/// The builds of these numbers, in their order, as far as they are there.
pub fn of_numbers(tx: &mut Tx<'_>, ids: &[BuildId]) -> Result<Vec<Build>, StoreError> {
    let mut found = HashMap::with_capacity(ids.len());
    for together in ids.chunks(NUMBERS_TOGETHER) {
        // Few lengths, so that there are few statements: the last number stands for those that are missing.
        let count = together.len().next_power_of_two();
        let places: Vec<String> = (1..=count).map(|place| format!("${place}")).collect();
        let statement = format!("SELECT {COLUMNS} FROM {FROM} WHERE b.id IN ({})", places.join(", "));
        let last = together.iter().rev().take(1).cycle();
        let numbers: Vec<Value> =
            together.iter().chain(last).take(count).map(|id| Value::from(*id)).collect();
        found.extend(tx.query(&statement, &numbers, build)?.into_iter().map(|build| (build.id, build)));
    }
    Ok(ids.iter().filter_map(|id| found.remove(id)).collect())
}

/// The last build of a project's branch that is over and was not cancelled.
pub fn last_of_branch(
    tx: &mut Tx<'_>,
    project: ProjectId,
    branch: &str,
) -> Result<Option<Build>, StoreError> {
    let statement = format!(
        "SELECT {COLUMNS} FROM {FROM} WHERE b.project_id = $1 AND b.branch = $2 AND b.kind = 'project' \
         AND b.state IN ('completed', 'degraded', 'failed') ORDER BY b.id DESC LIMIT 1"
    );
    tx.first(&statement, values![project, branch], build)
}

/// A build of a branch that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Its number.
    pub id: BuildId,
    /// How it ended.
    pub state: BuildState,
    /// What its results mean.
    pub verdict: Option<BuildVerdict>,
    /// The variant that was built.
    pub variant: Option<String>,
    /// The commit that was built.
    pub commit: Option<String>,
    /// When it was requested.
    pub requested_at: Moment,
}

impl Finished {
    /// Whether it ran, is not invalid, and misses no threshold: what a later build may be compared with.
    pub fn is_good(&self) -> bool {
        self.state != BuildState::Failed
            && !matches!(self.verdict, Some(BuildVerdict::Invalid | BuildVerdict::ThresholdMissed))
    }
}

/// The last `most` builds of a project's branch that are over and were not cancelled, up to `last`: the newest first.
pub fn finished_of_branch(
    tx: &mut Tx<'_>,
    project: ProjectId,
    branch: &str,
    last: BuildId,
    most: u32,
) -> Result<Vec<Finished>, StoreError> {
    let read = |row: &Row| {
        Ok(Finished {
            id: BuildId(row.int(0)?),
            state: row.word(1)?,
            verdict: row.maybe_word(2)?,
            variant: row.maybe_text(3)?,
            commit: row.maybe_text(4)?,
            requested_at: row.moment(5)?,
        })
    };
    let statement = "SELECT id, state, verdict, variant, commit_id, requested_at FROM builds WHERE project_id = $1 \
                     AND branch = $2 AND kind = 'project' AND state IN ('completed', 'degraded', 'failed') \
                     AND id <= $3 ORDER BY id DESC LIMIT $4";
    tx.apart_from_accepted(|tx| tx.query(statement, values![project, branch, last, most], read))
}

/// The newest build of each project that is not archived, of those that have begun or are over; nothing where there is
/// none.
pub fn newest_of_projects(tx: &mut Tx<'_>) -> Result<Vec<(ProjectId, Option<BuildId>)>, StoreError> {
    let statement = "SELECT p.id, (SELECT MAX(b.id) FROM builds b WHERE b.project_id = p.id AND b.state <> 'queued') \
                     FROM projects p WHERE p.archived_at IS NULL";
    let read = |row: &Row| Ok((ProjectId(row.int(0)?), row.maybe_int(1)?.map(BuildId)));
    tx.apart_from_accepted(|tx| tx.query(statement, &[], read))
}

/// A page of at most `most` builds, the newest first.
pub fn list(tx: &mut Tx<'_>, filter: &Filter, page: Page, most: u32) -> Result<Vec<Build>, StoreError> {
    let mut parameters = Vec::new();
    let mut conditions = Vec::new();
    let mut condition = |column: &str, sign: &str, value: Value| {
        parameters.push(value);
        conditions.push(format!("{column} {sign} ${}", parameters.len()));
    };
    if let Some(project) = filter.project {
        condition("b.project_id", "=", project.into());
    }
    if let Some(state) = filter.state {
        condition("b.state", "=", state.name().into());
    }
    if let Some(variant) = &filter.variant {
        condition("b.variant", "=", variant.into());
    }
    let order = match page {
        Page::Newest => "DESC",
        Page::Before(id) => {
            condition("b.id", "<", id.into());
            "DESC"
        }
        Page::After(id) => {
            condition("b.id", ">", id.into());
            "ASC"
        }
    };
    let conditions = if conditions.is_empty() { "1 = 1".to_owned() } else { conditions.join(" AND ") };
    parameters.push(most.into());
    let last = parameters.len();
    let statement =
        format!("SELECT {COLUMNS} FROM {FROM} WHERE {conditions} ORDER BY b.id {order} LIMIT ${last}");
    let mut found = tx.query(&statement, &parameters, build)?;
    if order == "ASC" {
        found.reverse();
    }
    Ok(found)
}

/// How many builds of `by` aren't over.
pub fn unfinished(tx: &mut Tx<'_>, by: &str) -> Result<u64, StoreError> {
    let open =
        tx.number("SELECT COUNT(*) FROM builds WHERE requested_by = $1 AND ended_at IS NULL", values![by])?;
    Ok(open.cast_unsigned())
}

/// Everything that isn't over, in the order in which it will run: first what runs already.
pub fn open(tx: &mut Tx<'_>, most: u32) -> Result<Vec<Build>, StoreError> {
    let mut page = |is_meant: &str, most: u32| {
        // Their numbers first, which an index has in this order: with all columns PostgreSQL, whose statistics rarely know
        // how long the queue is, reads and sorts all of it.
        let statement = format!(
            "SELECT {COLUMNS} FROM (SELECT id FROM builds WHERE {is_meant} ORDER BY priority DESC, id LIMIT $1) o \
             JOIN builds b ON b.id = o.id LEFT JOIN projects p ON p.id = b.project_id"
        );
        let mut found = tx.query(&statement, values![most], build)?;
        found.sort_by_key(|build| (Reverse(number(build.priority)), build.id));
        Ok::<_, StoreError>(found)
    };
    let mut found = page(IS_RUNNING, most)?;
    let left = most.saturating_sub(u32::try_from(found.len()).unwrap_or(u32::MAX));
    found.extend(page("state = 'queued'", left)?);
    Ok(found)
}

/// The branch in whose history a build stands.
pub fn branch(tx: &mut Tx<'_>, id: BuildId) -> Result<Option<String>, StoreError> {
    let found = tx.first("SELECT branch FROM builds WHERE id = $1", values![id], |row| row.maybe_text(0))?;
    Ok(found.flatten())
}

/// The newest build that compares `commit` with `base`, whatever became of it.
pub fn comparison(
    tx: &mut Tx<'_>,
    project: ProjectId,
    variant: &str,
    base: &str,
    commit: &str,
) -> Result<Option<BuildId>, StoreError> {
    let found = tx.first(
        "SELECT id FROM builds WHERE project_id = $1 AND kind = 'comparison' AND variant = $2 AND base = $3 \
         AND reference = $4 ORDER BY id DESC LIMIT 1",
        values![project, variant, base, commit],
        |row| row.int(0),
    )?;
    Ok(found.map(BuildId))
}

fn build(row: &Row) -> Result<Build, StoreError> {
    Ok(Build {
        id: BuildId(row.int(0)?),
        kind: row.word(1)?,
        project: row.maybe_int(2)?.map(ProjectId),
        project_name: row.maybe_text(3)?,
        reference: row.text(4)?,
        commit: row.maybe_text(5)?,
        commit_author: row.maybe_text(17)?,
        commit_subject: row.maybe_text(18)?,
        commit_at: row.maybe_moment(19)?,
        base: row.maybe_text(6)?,
        variant: row.maybe_text(7)?,
        state: row.word(8)?,
        reason: row.maybe_text(9)?,
        verdict: row.maybe_word(10)?,
        priority: priority(row.int(11)?),
        requested_by: row.text(12)?,
        requested_at: row.moment(13)?,
        started_at: row.maybe_moment(14)?,
        ended_at: row.maybe_moment(15)?,
        attempt: u32::try_from(row.int(16)?).unwrap_or(u32::MAX),
    })
}

/// As a number, so that the database can order by it.
fn number(priority: Priority) -> i64 {
    match priority {
        Priority::Low => -1,
        Priority::Normal => 0,
        Priority::High => 1,
    }
}

fn priority(number: i64) -> Priority {
    match number {
        ..0 => Priority::Low,
        0 => Priority::Normal,
        1.. => Priority::High,
    }
}
