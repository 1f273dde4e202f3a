//! Hooks, and the deliveries that are still to be made.

use super::{Row, StoreError, Tx, values};
use prony_lab_model::clock::Moment;
use prony_lab_model::{EventId, Hook, HookId, ProjectId};

const COLUMNS: &str = "id, url, kinds, project_id, format, created_by, created_at";

/// Enough for the services that a lab notifies.
pub const MOST: i64 = 100;

/// A recipient with this many waiting deliveries gets nothing new until they are delivered or given up.
const WAITING_MAX: i64 = 1_000;

/// A notification that is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Its number.
    pub id: i64,
    /// What it reports.
    pub event: EventId,
    /// Who gets it.
    pub to: Recipient,
    /// What is sent.
    pub body: String,
    /// Tries so far.
    pub attempts: u32,
}

impl Delivery {
    /// Of which project, where it is the status of a commit.
    pub fn project(&self) -> Option<ProjectId> {
        if let Recipient::Forge(project) = self.to { Some(project) } else { None }
    }
}

/// Who gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recipient {
    /// An address by HTTP: where, the secret that signs, and for whom it was set up.
    Hook {
        /// Its number.
        id: HookId,
        /// Where it is sent.
        url: String,
        /// What signs it.
        secret: String,
        /// Who added the webhook.
        created_by: String,
    },
    /// An e-mail address.
    Mail(String),
    /// The forge of a project: the body is a status of a commit.
    Forge(ProjectId),
}

/// A delivery that was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenUp {
    /// Its number.
    pub id: i64,
    /// What it reported.
    pub event: EventId,
    /// The webhook, if it was for one.
    pub hook: Option<HookId>,
    /// The address, if it was mail.
    pub mail_to: Option<String>,
    /// The project whose forge did not take the status of a commit.
    pub project: Option<ProjectId>,
    /// Why the last attempt failed.
    pub error: Option<String>,
}

/// Adds a hook. The secret stands in the store as it is: it has to sign.
pub fn add(tx: &mut Tx<'_>, new: &Hook, secret: &str) -> Result<HookId, StoreError> {
    let count = tx.number("SELECT COUNT(*) FROM hooks WHERE removed_at IS NULL", &[])?;
    if count >= MOST {
        return Err(StoreError::Conflict(format!("the hooks, of which there are {MOST}: remove one first")));
    }
    tx.number(
        "INSERT INTO hooks (url, secret, kinds, project_id, format, created_by, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id",
        values![
            new.url.as_str(),
            secret,
            new.kinds.join(" "),
            new.project,
            new.format.name(),
            new.created_by.as_str(),
            new.created_at,
        ],
    )
    .map(HookId)
}

/// Removes a hook with its waiting deliveries.
pub fn remove(tx: &mut Tx<'_>, id: HookId, now: Moment) -> Result<(), StoreError> {
    let statement = "UPDATE hooks SET removed_at = $2 WHERE id = $1 AND removed_at IS NULL";
    if tx.execute(statement, values![id, now])? == 0 {
        return Err(StoreError::Missing(format!("hook {id}")));
    }
    tx.execute("DELETE FROM deliveries WHERE hook_id = $1", values![id])?;
    Ok(())
}

/// All hooks.
pub fn all(tx: &mut Tx<'_>) -> Result<Vec<Hook>, StoreError> {
    tx.query(&format!("SELECT {COLUMNS} FROM hooks WHERE removed_at IS NULL ORDER BY id"), &[], hook)
}

/// Puts a notification for a hook into the outbox; whether there was room.
pub fn queue_for_hook(
    tx: &mut Tx<'_>,
    id: HookId,
    event: EventId,
    body: &str,
    now: Moment,
) -> Result<bool, StoreError> {
    let waiting =
        tx.number("SELECT COUNT(*) FROM deliveries WHERE hook_id = $1 AND state = 'waiting'", values![id])?;
    if waiting >= WAITING_MAX {
        return Ok(false);
    }
    tx.execute(
        "INSERT INTO deliveries (hook_id, event_id, body, state, next_at) VALUES ($1, $2, $3, 'waiting', $4)",
        values![id, event, body, now],
    )?;
    Ok(true)
}

/// Puts a message into the outbox; whether there was room.
pub fn queue_mail(
    tx: &mut Tx<'_>,
    to: &str,
    event: EventId,
    message: &str,
    now: Moment,
) -> Result<bool, StoreError> {
    let waiting =
        tx.number("SELECT COUNT(*) FROM deliveries WHERE mail_to IS NOT NULL AND state = 'waiting'", &[])?;
    if waiting >= WAITING_MAX {
        return Ok(false);
    }
    tx.execute(
        "INSERT INTO deliveries (mail_to, event_id, body, state, next_at) VALUES ($1, $2, $3, 'waiting', $4)",
        values![to, event, message, now],
    )?;
    Ok(true)
}

/// What is to be sent by `now`, at most `most`; what has waited longest first.
pub fn due(tx: &mut Tx<'_>, now: Moment, most: u32) -> Result<Vec<Delivery>, StoreError> {
    tx.query(
        "SELECT d.id, d.event_id, d.mail_to, d.body, d.attempts, h.id, h.url, h.secret, h.created_by, \
         d.project_id \
         FROM deliveries d LEFT JOIN hooks h ON h.id = d.hook_id \
         WHERE d.state = 'waiting' AND d.next_at <= $1 ORDER BY d.next_at, d.id LIMIT $2",
        values![now, most],
        delivery,
    )
}

/// It was delivered.
pub fn delivered(tx: &mut Tx<'_>, id: i64) -> Result<(), StoreError> {
    tx.execute("DELETE FROM deliveries WHERE id = $1", values![id])?;
    Ok(())
}

/// It could not be delivered: it is tried again at `next`, or given up.
pub fn undelivered(
    tx: &mut Tx<'_>,
    id: i64,
    error: &str,
    now: Moment,
    next: Option<Moment>,
) -> Result<(), StoreError> {
    let state = if next.is_some() { "waiting" } else { "given-up" };
    tx.execute(
        "UPDATE deliveries SET attempts = attempts + 1, state = $2, next_at = $3, last_error = $4 WHERE id = $1",
        values![id, state, next.unwrap_or(now), error],
    )?;
    Ok(())
}

/// What was given up last, the newest first.
pub fn given_up(tx: &mut Tx<'_>, most: u32) -> Result<Vec<GivenUp>, StoreError> {
    tx.query(
        "SELECT id, event_id, hook_id, mail_to, last_error, project_id FROM deliveries WHERE state = 'given-up' \
         ORDER BY id DESC LIMIT $1",
        values![most],
        |row| {
            Ok(GivenUp {
                id: row.int(0)?,
                event: EventId(row.int(1)?),
                hook: row.maybe_int(2)?.map(HookId),
                mail_to: row.maybe_text(3)?,
                project: row.maybe_int(5)?.map(ProjectId),
                error: row.maybe_text(4)?,
            })
        },
    )
}

/// Forgets what was given up, or delivered and kept, before `before`.
pub fn forget(tx: &mut Tx<'_>, before: Moment) -> Result<u64, StoreError> {
    tx.execute("DELETE FROM deliveries WHERE state <> 'waiting' AND next_at < $1", values![before])
}

/// How many deliveries are waiting.
pub fn waiting(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    tx.number("SELECT COUNT(*) FROM deliveries WHERE state = 'waiting'", &[])
}

fn hook(row: &Row) -> Result<Hook, StoreError> {
    Ok(Hook {
        id: HookId(row.int(0)?),
        url: row.text(1)?,
        kinds: row.text(2)?.split(' ').map(str::to_owned).collect(),
        project: row.maybe_int(3)?.map(ProjectId),
        format: row.word(4)?,
        created_by: row.text(5)?,
        created_at: row.moment(6)?,
    })
}

fn delivery(row: &Row) -> Result<Delivery, StoreError> {
    let to = match (row.maybe_text(2)?, row.maybe_int(9)?) {
        (Some(address), _) => Recipient::Mail(address),
        (None, Some(project)) => Recipient::Forge(ProjectId(project)),
        (None, None) => Recipient::Hook {
            id: HookId(row.int(5)?),
            url: row.text(6)?,
            secret: row.text(7)?,
            created_by: row.text(8)?,
        },
    };
    let attempts = u32::try_from(row.int(4)?).unwrap_or(u32::MAX);
    Ok(Delivery { id: row.int(0)?, event: EventId(row.int(1)?), to, body: row.text(3)?, attempts })
}
