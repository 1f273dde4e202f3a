//! Alerts: raised and closed by the lab, answered by people.

use std::collections::HashMap;

use serde_json::json;

use super::{Row, StoreError, Tx, events, values};
use prony_lab_model::clock::Moment;
use prony_lab_model::{
    Alert, AlertId, AlertKind, AlertState, BuildId, BuildVerdict, MonitorId, ProjectId, SeriesId,
};

const COLUMNS: &str = "a.id, a.kind, a.subject, a.project_id, p.name, a.series_id, a.build_id, a.monitor_id, \
                       a.comparison_id, a.verdict, a.words, a.state, a.opened_at, a.changed_at, a.changed_by, \
                       a.silenced_until, a.note";
const FROM: &str = "alerts a LEFT JOIN projects p ON p.id = a.project_id";

/// Who changes alerts where nobody did.
const LAB: &str = "lab";

/// An alert that is to be raised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAlert {
    /// What it is about.
    pub kind: AlertKind,
    /// Exactly what it is about.
    pub subject: String,
    /// Whose it is, unless it is the lab itself.
    pub project: Option<ProjectId>,
    /// The series that changed.
    pub series: Option<SeriesId>,
    /// The build that raised it.
    pub build: Option<BuildId>,
    /// The monitor that raised it.
    pub monitor: Option<MonitorId>,
    /// The build that compares both sides.
    pub comparison: Option<BuildId>,
    /// The same for people.
    pub words: String,
}

/// Raises an alert, unless there is an open one about the same, which gets the new words, or one that somebody
/// dismissed and whose reason has not gone since. Its number, if it is new.
pub fn raise(tx: &mut Tx<'_>, new: &NewAlert, now: Moment) -> Result<Option<AlertId>, StoreError> {
    if let Some(last) = last_about(tx, new.kind, &new.subject)? {
        if last.state.is_open() {
            tx.execute(
                "UPDATE alerts SET words = $2, build_id = $3, comparison_id = COALESCE(comparison_id, $4) WHERE id = $1",
                values![last.id, new.words.as_str(), new.build, new.comparison],
            )?;
            return Ok(None);
        }
        if last.state == AlertState::Dismissed {
            return Ok(None);
        }
    }
    let id = AlertId(tx.number(
        "INSERT INTO alerts (kind, subject, project_id, series_id, build_id, monitor_id, comparison_id, words, state, \
         opened_at, changed_at, changed_by) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'active', $9, $9, $10) RETURNING id",
        values![
            new.kind.name(),
            new.subject.as_str(),
            new.project,
            new.series,
            new.build,
            new.monitor,
            new.comparison,
            new.words.as_str(),
            now,
            LAB,
        ],
    )?);
    append_event(tx, id, AlertState::Active, new.build, LAB, &new.words, now)?;
    Ok(Some(id))
}

/// Gives an alert new words, another series that shows it best, and the comparison, if it had none.
pub fn reword(
    tx: &mut Tx<'_>,
    id: AlertId,
    words: &str,
    series: Option<SeriesId>,
    comparison: Option<BuildId>,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE alerts SET words = $2, series_id = $3, comparison_id = COALESCE(comparison_id, $4) WHERE id = $1",
        values![id, words, series, comparison],
    )?;
    Ok(())
}

/// Closes the alert about `subject`, since what it was about is over; a dismissed one, too, so that the next of its kind
/// is heard. Whether there was one.
pub fn close(
    tx: &mut Tx<'_>,
    kind: AlertKind,
    subject: &str,
    why: &str,
    now: Moment,
) -> Result<bool, StoreError> {
    let Some(last) = last_about(tx, kind, subject)? else { return Ok(false) };
    if last.state == AlertState::Closed {
        return Ok(false);
    }
    tx.execute(
        "UPDATE alerts SET state = 'closed', changed_at = $2, changed_by = $3, note = COALESCE(note, $4), \
         silenced_until = NULL WHERE id = $1",
        values![last.id, now, LAB, why],
    )?;
    append_event(tx, last.id, AlertState::Closed, last.build, LAB, why, now)?;
    Ok(true)
}

/// Applies somebody's answer to an alert; fails where it may not become that.
pub fn answer(
    tx: &mut Tx<'_>,
    id: AlertId,
    to: AlertState,
    by: &str,
    until: Option<Moment>,
    note: Option<&str>,
    now: Moment,
) -> Result<(), StoreError> {
    let alert = one(tx, id)?.ok_or_else(|| StoreError::Missing(format!("alert {id}")))?;
    let is_taken = to.is_open()
        && !alert.state.is_open()
        && last_about(tx, alert.kind, &alert.subject)?.is_some_and(|last| last.id != id);
    if !alert.state.may_become(to) || is_taken {
        return Err(StoreError::Conflict(format!("alert {id}, which is {}", alert.state.name())));
    }
    let until = until.filter(|_| to == AlertState::Silenced);
    let changed = tx.execute(
        "UPDATE alerts SET state = $3, changed_at = $4, changed_by = $5, silenced_until = $6, \
         note = COALESCE($7, note) WHERE id = $1 AND state = $2",
        values![id, alert.state.name(), to.name(), now, by, until, note],
    )?;
    if changed == 0 {
        return Err(StoreError::Conflict(format!("alert {id}")));
    }
    append_event(tx, id, to, alert.build, by, &alert.words, now)
}

/// Whether an alert was silenced until before `now`.
pub fn is_waking_due(tx: &mut Tx<'_>, now: Moment) -> Result<bool, StoreError> {
    let found = tx.first(
        "SELECT id FROM alerts WHERE state = 'silenced' AND silenced_until <= $1 LIMIT 1",
        values![now],
        |row| row.int(0),
    )?;
    Ok(found.is_some())
}

/// Makes alerts active again that were silenced until before `now`; how many.
pub fn wake(tx: &mut Tx<'_>, now: Moment) -> Result<usize, StoreError> {
    let due = tx.query(
        &format!("SELECT {COLUMNS} FROM {FROM} WHERE a.state = 'silenced' AND a.silenced_until <= $1"),
        values![now],
        alert,
    )?;
    for alert in &due {
        tx.execute(
            "UPDATE alerts SET state = 'active', changed_at = $2, changed_by = $3, silenced_until = NULL WHERE id = $1",
            values![alert.id, now, LAB],
        )?;
        append_event(tx, alert.id, AlertState::Active, alert.build, LAB, &alert.words, now)?;
    }
    Ok(due.len())
}

/// Records the verdict of a comparison on the alerts that asked for it. Closes those about a single build that is not
/// slower after all.
pub fn set_verdict(
    tx: &mut Tx<'_>,
    comparison: BuildId,
    verdict: BuildVerdict,
    now: Moment,
) -> Result<(), StoreError> {
    let waiting = tx.query(
        &format!(
            "SELECT {COLUMNS} FROM {FROM} WHERE a.comparison_id = $1 AND a.verdict IS NULL ORDER BY a.id"
        ),
        values![comparison],
        alert,
    )?;
    for alert in waiting {
        tx.execute("UPDATE alerts SET verdict = $2 WHERE id = $1", values![alert.id, verdict.name()])?;
        let body = json!({ "alert": alert.id, "words": alert.words, "verdict": verdict.name() });
        events::append(tx, now, "alert.judged", Some(comparison), &body)?;
        let is_refuted = matches!(verdict, BuildVerdict::NoDifference | BuildVerdict::Faster);
        if alert.kind == AlertKind::Build && is_refuted {
            let why = format!("measured in turn (build {comparison}), the commit is not slower");
            close(tx, AlertKind::Build, &alert.subject, &why, now)?;
        }
    }
    Ok(())
}

/// Whether an alert waits for the verdict of a comparison.
pub fn await_comparison(tx: &mut Tx<'_>, comparison: BuildId) -> Result<bool, StoreError> {
    let statement = "SELECT 1 FROM alerts WHERE comparison_id = $1 AND verdict IS NULL LIMIT 1";
    Ok(tx.first(statement, values![comparison], |row| row.int(0))?.is_some())
}

/// Has the alerts that wait for the verdict of `comparison` wait for that of `again`.
pub fn follow_repeat(tx: &mut Tx<'_>, comparison: BuildId, again: BuildId) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE alerts SET comparison_id = $2 WHERE comparison_id = $1 AND verdict IS NULL",
        values![comparison, again],
    )?;
    Ok(())
}

/// Notes on the alerts that asked for a comparison why it has no verdict, where nobody has noted anything.
pub fn set_note(tx: &mut Tx<'_>, comparison: BuildId, words: &str) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE alerts SET note = $2 WHERE comparison_id = $1 AND verdict IS NULL AND note IS NULL",
        values![comparison, words],
    )?;
    Ok(())
}

/// The alert of that number.
pub fn one(tx: &mut Tx<'_>, id: AlertId) -> Result<Option<Alert>, StoreError> {
    tx.first(&format!("SELECT {COLUMNS} FROM {FROM} WHERE a.id = $1"), values![id], alert)
}

/// The newest alerts before `before`, of one state or of all: at most `most`.
pub fn list(
    tx: &mut Tx<'_>,
    state: Option<AlertState>,
    before: Option<AlertId>,
    most: u32,
) -> Result<Vec<Alert>, StoreError> {
    let before = before.map_or(i64::MAX, |id| id.0);
    match state {
        Some(state) => tx.query(
            &format!(
                "SELECT {COLUMNS} FROM {FROM} WHERE a.state = $1 AND a.id < $2 ORDER BY a.id DESC LIMIT $3"
            ),
            values![state.name(), before, most],
            alert,
        ),
        None => tx.query(
            &format!("SELECT {COLUMNS} FROM {FROM} WHERE a.id < $1 ORDER BY a.id DESC LIMIT $2"),
            values![before, most],
            alert,
        ),
    }
}

/// Open and dismissed alerts of a kind on a project whose subjects begin with `prefix`.
pub fn open_alerts(
    tx: &mut Tx<'_>,
    kind: AlertKind,
    project: ProjectId,
    prefix: &str,
) -> Result<Vec<Alert>, StoreError> {
    let found = tx.query(
        &format!(
            "SELECT {COLUMNS} FROM {FROM} WHERE a.kind = $1 AND a.project_id = $2 AND a.state <> 'closed' ORDER BY a.id"
        ),
        values![kind.name(), project],
        alert,
    )?;
    Ok(found.into_iter().filter(|alert| alert.subject.starts_with(prefix)).collect())
}

/// How many alerts of each project are open; a project without any is left out.
pub fn open_of_projects(tx: &mut Tx<'_>) -> Result<HashMap<ProjectId, i64>, StoreError> {
    let found = tx.query(
        "SELECT project_id, COUNT(*) FROM alerts WHERE state IN ('active', 'acknowledged', 'silenced') \
         AND project_id IS NOT NULL GROUP BY project_id",
        &[],
        |row| Ok((ProjectId(row.int(0)?), row.int(1)?)),
    )?;
    Ok(found.into_iter().collect())
}

/// How many alerts are in each state that is open.
pub fn open_count(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    tx.number("SELECT COUNT(*) FROM alerts WHERE state IN ('active', 'acknowledged', 'silenced')", &[])
}

/// The newest alert about something.
pub fn last_about(tx: &mut Tx<'_>, kind: AlertKind, subject: &str) -> Result<Option<Alert>, StoreError> {
    tx.first(
        &format!(
            "SELECT {COLUMNS} FROM {FROM} WHERE a.kind = $1 AND a.subject = $2 ORDER BY a.id DESC LIMIT 1"
        ),
        values![kind.name(), subject],
        alert,
    )
}

fn append_event(
    tx: &mut Tx<'_>,
    id: AlertId,
    state: AlertState,
    build: Option<BuildId>,
    by: &str,
    words: &str,
    now: Moment,
) -> Result<(), StoreError> {
    let body = json!({ "alert": id, "words": words, "by": by });
    events::append(tx, now, &format!("alert.{}", state.name()), build, &body)?;
    Ok(())
}

fn alert(row: &Row) -> Result<Alert, StoreError> {
    Ok(Alert {
        id: AlertId(row.int(0)?),
        kind: row.word(1)?,
        subject: row.text(2)?,
        project: row.maybe_int(3)?.map(ProjectId),
        project_name: row.maybe_text(4)?,
        series: row.maybe_int(5)?.map(SeriesId),
        build: row.maybe_int(6)?.map(BuildId),
        monitor: row.maybe_int(7)?.map(MonitorId),
        comparison: row.maybe_int(8)?.map(BuildId),
        verdict: row.maybe_word(9)?,
        words: row.text(10)?,
        state: row.word(11)?,
        opened_at: row.moment(12)?,
        changed_at: row.moment(13)?,
        changed_by: row.text(14)?,
        silenced_until: row.maybe_moment(15)?,
        note: row.maybe_text(16)?,
    })
}
