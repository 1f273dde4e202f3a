//! Statuses of commits on their way to forges: rows of the outbox that belong to a project.

use super::{StoreError, Tx, values};
use prony_lab_model::clock::Moment;
use prony_lab_model::{EventId, ProjectId, StatusReport};

/// A project with this many waiting statuses gets no new ones until they are delivered or given up.
const WAITING_MAX: i64 = 1_000;

/// A status, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentStatus {
    /// The status.
    pub report: StatusReport,
    /// What became of it.
    pub delivery: Delivery,
    /// Tries that failed.
    pub attempts: u32,
    /// When it was delivered or given up; of a waiting one, when it is tried next.
    pub at: Moment,
    /// Why the last try failed.
    pub error: Option<String>,
}

/// What became of a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// It is still to be sent.
    Waiting,
    /// The forge has it.
    Delivered,
    /// Every attempt failed.
    GivenUp,
}

impl std::str::FromStr for Delivery {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "waiting" => Ok(Self::Waiting),
            "delivered" => Ok(Self::Delivered),
            "given-up" => Ok(Self::GivenUp),
            _ => Err(()),
        }
    }
}

/// Puts a status into the outbox, in the place of an older one of the same commit and context that still waits: a
/// forge never gets an old status after a new one. Whether there was room.
pub fn queue(
    tx: &mut Tx<'_>,
    project: ProjectId,
    event: EventId,
    report: &StatusReport,
    now: Moment,
) -> Result<bool, StoreError> {
    let commit = report.status.commit.as_deref().unwrap_or_default();
    let subject = format!("{commit} {}", report.status.context);
    tx.execute(
        "DELETE FROM deliveries WHERE project_id = $1 AND subject = $2 AND state = 'waiting'",
        values![project, subject.as_str()],
    )?;
    let waiting = tx.number(
        "SELECT COUNT(*) FROM deliveries WHERE project_id = $1 AND state = 'waiting'",
        values![project],
    )?;
    if waiting >= WAITING_MAX {
        return Ok(false);
    }
    let body = serde_json::to_string(report).expect("invariant: every key is a text");
    tx.execute(
        "INSERT INTO deliveries (project_id, subject, event_id, body, state, next_at) \
         VALUES ($1, $2, $3, $4, 'waiting', $5)",
        values![project, subject, event, body, now],
    )?;
    Ok(true)
}

/// It was delivered: the newest one of a project is kept, so that people see that it works.
pub fn delivered(tx: &mut Tx<'_>, project: ProjectId, id: i64, now: Moment) -> Result<(), StoreError> {
    let changed = tx.execute(
        "UPDATE deliveries SET state = 'delivered', next_at = $2, last_error = NULL WHERE id = $1",
        values![id, now],
    )?;
    // None if a newer status took its place meanwhile.
    if changed > 0 {
        tx.execute(
            "DELETE FROM deliveries WHERE project_id = $1 AND state = 'delivered' AND id <> $2",
            values![project, id],
        )?;
    }
    Ok(())
}

/// The last statuses of a project, the newest first.
pub fn last(tx: &mut Tx<'_>, project: ProjectId, most: u32) -> Result<Vec<SentStatus>, StoreError> {
    tx.query(
        "SELECT state, body, attempts, next_at, last_error FROM deliveries WHERE project_id = $1 \
         ORDER BY id DESC LIMIT $2",
        values![project, most],
        |row| {
            let report = serde_json::from_str(&row.text(1)?)
                .map_err(|error| StoreError::Damaged(format!("a status in the outbox: {error}")))?;
            Ok(SentStatus {
                report,
                delivery: row.word(0)?,
                attempts: u32::try_from(row.int(2)?).unwrap_or(u32::MAX),
                at: row.moment(3)?,
                error: row.maybe_text(4)?,
            })
        },
    )
}
