//! What happened, in order: who watches a build reads on from what it has seen.

use serde::Serialize;

use super::{StoreError, Tx, values};
use prony_lab_model::clock::Moment;
use prony_lab_model::{BuildId, EventId};

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Grows.
    pub id: EventId,
    /// When.
    pub at: Moment,
    /// What: `build.queued`, `build.running`, …, `task.running`, …, `task.output`, `alert.active`, …
    pub kind: String,
    /// Of which build, if of one.
    pub build: Option<BuildId>,
    /// The rest, as JSON.
    pub body: String,
}

/// Notes that something happened.
pub fn append(
    tx: &mut Tx<'_>,
    at: Moment,
    kind: &str,
    build: Option<BuildId>,
    body: &serde_json::Value,
) -> Result<EventId, StoreError> {
    tx.number(
        "INSERT INTO events (at, kind, build_id, body) VALUES ($1, $2, $3, $4) RETURNING id",
        values![at, kind, build, body.to_string()],
    )
    .map(EventId)
}

/// The newest event; 0 if nothing has happened.
pub fn last(tx: &mut Tx<'_>) -> Result<EventId, StoreError> {
    tx.number("SELECT COALESCE(MAX(id), 0) FROM events", &[]).map(EventId)
}

/// At most `most` events after `after`, the oldest first; of one build, or of all.
pub fn after(
    tx: &mut Tx<'_>,
    after: EventId,
    build: Option<BuildId>,
    most: u32,
) -> Result<Vec<Event>, StoreError> {
    let read = |row: &super::Row| {
        Ok(Event {
            id: EventId(row.int(0)?),
            at: row.moment(1)?,
            kind: row.text(2)?,
            build: row.maybe_int(3)?.map(BuildId),
            body: row.text(4)?,
        })
    };
    match build {
        Some(build) => tx.query(
            "SELECT id, at, kind, build_id, body FROM events WHERE build_id = $1 AND id > $2 ORDER BY id LIMIT $3",
            values![build, after, most],
            read,
        ),
        None => tx.query(
            "SELECT id, at, kind, build_id, body FROM events WHERE id > $1 ORDER BY id LIMIT $2",
            values![after, most],
            read,
        ),
    }
}
