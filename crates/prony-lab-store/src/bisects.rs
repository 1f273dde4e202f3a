//! Bisects: accepted, moved on by compare-and-set, listed.

use serde_json::json;

use super::{Row, StoreError, Tx, events, values};
use prony_lab_model::clock::Moment;
use prony_lab_model::{Bisect, BisectId, BisectState, BuildId, Candidate, ProjectId};

const COLUMNS: &str = "id, project_id, variant, good_id, bad_id, base, tip, state, reason, candidates, build_id, \
                       requested_by, requested_at, ended_at";

/// Bisects that are looked at in one turn.
const TOGETHER: u32 = 20;

/// Accepts a bisect.
pub fn add(tx: &mut Tx<'_>, new: &Bisect) -> Result<BisectId, StoreError> {
    let id = tx.number(
        "INSERT INTO bisects (project_id, variant, good_id, bad_id, base, tip, state, requested_by, requested_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id",
        values![
            new.project,
            new.variant.as_str(),
            new.good,
            new.bad,
            new.base.as_str(),
            new.tip.as_str(),
            new.state.name(),
            new.requested_by.as_str(),
            new.requested_at,
        ],
    )?;
    note(tx, BisectId(id), new.state, new.requested_at)?;
    Ok(BisectId(id))
}

/// Moves a bisect that was in the state `from` on to what `next` is, if it is there still.
pub fn advance(tx: &mut Tx<'_>, from: BisectState, next: &Bisect, now: Moment) -> Result<(), StoreError> {
    let candidates = serde_json::to_string(&next.candidates).expect("invariant: commits are plain data");
    let changed = tx.execute(
        "UPDATE bisects SET state = $3, reason = $4, candidates = $5, build_id = $6, ended_at = $7 \
         WHERE id = $1 AND state = $2",
        values![
            next.id,
            from.name(),
            next.state.name(),
            next.reason.as_deref(),
            candidates,
            next.build,
            next.ended_at,
        ],
    )?;
    if changed == 0 {
        return Err(StoreError::Conflict(format!("bisect {}", next.id)));
    }
    if next.state == from { Ok(()) } else { note(tx, next.id, next.state, now) }
}

fn note(tx: &mut Tx<'_>, id: BisectId, state: BisectState, now: Moment) -> Result<(), StoreError> {
    let kind = format!("bisect.{}", state.name());
    events::append(tx, now, &kind, None, &json!({ "bisect": id })).map(drop)
}

/// One of them.
pub fn one(tx: &mut Tx<'_>, id: BisectId) -> Result<Option<Bisect>, StoreError> {
    tx.first(&format!("SELECT {COLUMNS} FROM bisects WHERE id = $1"), values![id], read)
}

/// The newest of a project, at most `most`.
pub fn of_project(tx: &mut Tx<'_>, project: ProjectId, most: u32) -> Result<Vec<Bisect>, StoreError> {
    let statement = format!("SELECT {COLUMNS} FROM bisects WHERE project_id = $1 ORDER BY id DESC LIMIT $2");
    tx.query(&statement, values![project, most], read)
}

/// The newest between these two builds.
pub fn between(
    tx: &mut Tx<'_>,
    good: BuildId,
    bad: BuildId,
) -> Result<Option<(BisectId, BisectState)>, StoreError> {
    tx.first(
        "SELECT id, state FROM bisects WHERE bad_id = $2 AND good_id = $1 ORDER BY id DESC LIMIT 1",
        values![good, bad],
        |row| Ok((BisectId(row.int(0)?), row.word(1)?)),
    )
}

/// Those that are not over, the oldest first.
pub fn open(tx: &mut Tx<'_>) -> Result<Vec<Bisect>, StoreError> {
    let statement =
        format!("SELECT {COLUMNS} FROM bisects WHERE state IN ('listing', 'running') ORDER BY id");
    tx.query(&statement, &[], read)
}

/// How many of a project are not over.
pub fn count_open(tx: &mut Tx<'_>, project: ProjectId) -> Result<u64, StoreError> {
    let statement = "SELECT COUNT(*) FROM bisects WHERE state IN ('listing', 'running') AND project_id = $1";
    tx.number(statement, values![project]).map(i64::cast_unsigned)
}

/// The one that has waited longest for its commits.
pub fn listing(tx: &mut Tx<'_>) -> Result<Option<Bisect>, StoreError> {
    let statement = format!("SELECT {COLUMNS} FROM bisects WHERE state = 'listing' ORDER BY id LIMIT 1");
    tx.first(&statement, &[], read)
}

/// Those that wait for no comparison, or for one that is over.
pub fn due(tx: &mut Tx<'_>) -> Result<Vec<BisectId>, StoreError> {
    tx.query(
        "SELECT s.id FROM bisects s LEFT JOIN builds b ON b.id = s.build_id WHERE s.state = 'running' \
         AND (s.build_id IS NULL OR b.state IN ('completed', 'degraded', 'failed', 'cancelled', 'expired')) \
         ORDER BY s.id LIMIT $1",
        values![TOGETHER],
        |row| row.int(0).map(BisectId),
    )
}

fn read(row: &Row) -> Result<Bisect, StoreError> {
    let candidates: Vec<Candidate> =
        serde_json::from_str(&row.text(9)?).map_err(|error| StoreError::Damaged(error.to_string()))?;
    Ok(Bisect {
        id: BisectId(row.int(0)?),
        project: ProjectId(row.int(1)?),
        variant: row.text(2)?,
        good: BuildId(row.int(3)?),
        bad: BuildId(row.int(4)?),
        base: row.text(5)?,
        tip: row.text(6)?,
        state: row.word(7)?,
        reason: row.maybe_text(8)?,
        candidates,
        build: row.maybe_int(10)?.map(BuildId),
        requested_by: row.text(11)?,
        requested_at: row.moment(12)?,
        ended_at: row.maybe_moment(13)?,
    })
}
