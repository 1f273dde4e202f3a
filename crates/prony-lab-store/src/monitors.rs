//! Monitors and the results of their checks.

use super::{Row, StoreError, Tx, alerts, values};
use crate::alerts::NewAlert;
use prony_lab_model::clock::Moment;
use prony_lab_model::{AlertKind, Check, Monitor, MonitorId, MonitorTls};

const COLUMNS: &str = "id, name, url, every_ms, timeout_ms, fail_after, expected_status, email, created_by, created_at, \
                       tls_cacert, tls_insecure, tls_sni";

/// Checks are counted by the hour.
pub(super) const HOUR_MS: i64 = 3_600_000;

/// Each costs a connection every so often, and a page shows all.
pub const MOST: i64 = 200;

/// Adds a monitor; a name that was removed can be taken again.
pub fn add(tx: &mut Tx<'_>, new: &Monitor) -> Result<MonitorId, StoreError> {
    let count = tx.number("SELECT COUNT(*) FROM monitors WHERE removed_at IS NULL", &[])?;
    if count >= MOST {
        return Err(StoreError::Conflict(format!(
            "the monitors, of which there are {MOST}: remove one first"
        )));
    }
    // Names are unique, so the one that was removed gets another.
    tx.execute(
        "UPDATE monitors SET name = name || '/' || CAST(id AS TEXT) WHERE name = $1 AND removed_at IS NOT NULL",
        values![new.name.as_str()],
    )?;
    tx.number(
        "INSERT INTO monitors (name, url, every_ms, timeout_ms, fail_after, expected_status, email, created_by, \
         created_at, tls_cacert, tls_insecure, tls_sni) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
         RETURNING id",
        values![
            new.name.as_str(),
            new.url.as_str(),
            new.every_ms,
            new.timeout_ms,
            new.fail_after,
            new.expected_status.map(u32::from),
            new.email.as_deref(),
            new.created_by.as_str(),
            new.created_at,
            new.tls.cacert.as_deref(),
            new.tls.insecure,
            new.tls.sni.as_deref(),
        ],
    )
    .map(MonitorId)
}

/// Takes a monitor out; what it saw stays for as long as it would have.
pub fn remove(tx: &mut Tx<'_>, id: MonitorId, now: Moment) -> Result<(), StoreError> {
    let statement = "UPDATE monitors SET removed_at = $2 WHERE id = $1 AND removed_at IS NULL";
    if tx.execute(statement, values![id, now])? == 0 {
        return Err(StoreError::Missing(format!("monitor {id}")));
    }
    alerts::close(tx, AlertKind::Monitor, &subject(id), "the monitor was removed", now)?;
    Ok(())
}

/// All monitors, by name.
pub fn all(tx: &mut Tx<'_>) -> Result<Vec<Monitor>, StoreError> {
    tx.query(&format!("SELECT {COLUMNS} FROM monitors WHERE removed_at IS NULL ORDER BY name"), &[], monitor)
}

/// The monitor of that name.
pub fn by_name(tx: &mut Tx<'_>, name: &str) -> Result<Option<Monitor>, StoreError> {
    tx.first(
        &format!("SELECT {COLUMNS} FROM monitors WHERE name = $1 AND removed_at IS NULL"),
        values![name],
        monitor,
    )
}

/// Who gets the alerts of a monitor, also of one that was removed.
pub fn email(tx: &mut Tx<'_>, id: MonitorId) -> Result<Option<String>, StoreError> {
    let found = tx.first("SELECT email FROM monitors WHERE id = $1", values![id], |row| row.maybe_text(0))?;
    Ok(found.flatten())
}

/// Keeps the result of a check; raises an alert after so many failures in a row as the monitor says, and closes it with the
/// first good answer.
pub fn record(tx: &mut Tx<'_>, of: &Monitor, check: &Check) -> Result<(), StoreError> {
    let is_there = "SELECT COUNT(*) FROM monitors WHERE id = $1 AND removed_at IS NULL";
    if tx.number(is_there, values![of.id])? == 0 {
        return Ok(());
    }
    let is_new = tx.execute(
        "INSERT INTO checks (monitor_id, at, is_good, status, latency_us, error) VALUES ($1, $2, $3, $4, $5, $6) \
         ON CONFLICT (monitor_id, at) DO NOTHING",
        values![
            of.id,
            check.at,
            check.is_good,
            check.status.map(u32::from),
            check.latency_us,
            check.error.as_deref(),
        ],
    )? > 0;
    if is_new {
        tx.execute(
            "INSERT INTO check_hours (monitor_id, hour, checks, good) VALUES ($1, $2, 1, $3) \
             ON CONFLICT (monitor_id, hour) DO UPDATE SET checks = check_hours.checks + 1, \
             good = check_hours.good + excluded.good",
            values![of.id, check.at.0 / HOUR_MS, i64::from(check.is_good)],
        )?;
    }
    let subject = subject(of.id);
    if check.is_good {
        let why = format!("{} answers again: {}", of.name, check.words());
        alerts::close(tx, AlertKind::Monitor, &subject, &why, check.at)?;
        return Ok(());
    }
    let last = tx.query(
        "SELECT is_good FROM checks WHERE monitor_id = $1 ORDER BY at DESC LIMIT $2",
        values![of.id, of.fail_after],
        |row| Ok(row.int(0)? != 0),
    )?;
    if last.len() < of.fail_after as usize || last.contains(&true) {
        return Ok(());
    }
    let new = NewAlert {
        kind: AlertKind::Monitor,
        subject,
        project: None,
        series: None,
        build: None,
        monitor: Some(of.id),
        comparison: None,
        words: format!(
            "{} ({}) failed {}: {}",
            of.name,
            of.url,
            if of.fail_after == 1 {
                "a check".to_owned()
            } else {
                format!("{} checks in a row", of.fail_after)
            },
            check.words()
        ),
    };
    alerts::raise(tx, &new, check.at)?;
    Ok(())
}

/// The checks of a monitor, in short.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Checks since the beginning of the first hour, and how many of them were good.
    pub checks: u64,
    /// Checks that were good.
    pub good: u64,
    /// The last of them, the oldest first.
    pub last: Vec<Check>,
}

/// The checks of a monitor since the hour in which `since` lies, with the `most` last ones.
pub fn summary(tx: &mut Tx<'_>, id: MonitorId, since: Moment, most: u32) -> Result<Summary, StoreError> {
    let hours = tx.first(
        "SELECT CAST(COALESCE(SUM(checks), 0) AS BIGINT), CAST(COALESCE(SUM(good), 0) AS BIGINT) FROM check_hours \
         WHERE monitor_id = $1 AND hour >= $2",
        values![id, since.0 / HOUR_MS],
        |row| Ok((row.int(0)?.cast_unsigned(), row.int(1)?.cast_unsigned())),
    )?;
    let (checks, good) = hours.unwrap_or_default();
    Ok(Summary { checks, good, last: self::checks(tx, id, since, most)? })
}

/// The last `most` checks since `since`, the oldest first.
pub fn checks(tx: &mut Tx<'_>, id: MonitorId, since: Moment, most: u32) -> Result<Vec<Check>, StoreError> {
    let mut found = tx.query(
        "SELECT at, is_good, status, latency_us, error FROM checks WHERE monitor_id = $1 AND at >= $2 \
         ORDER BY at DESC LIMIT $3",
        values![id, since, most],
        check,
    )?;
    found.reverse();
    Ok(found)
}

fn subject(id: MonitorId) -> String {
    format!("monitor/{id}")
}

fn monitor(row: &Row) -> Result<Monitor, StoreError> {
    Ok(Monitor {
        id: MonitorId(row.int(0)?),
        name: row.text(1)?,
        url: row.text(2)?,
        every_ms: row.int(3)?.cast_unsigned(),
        timeout_ms: row.int(4)?.cast_unsigned(),
        fail_after: u32::try_from(row.int(5)?).unwrap_or(1),
        expected_status: row.maybe_int(6)?.and_then(|status| u16::try_from(status).ok()),
        email: row.maybe_text(7)?,
        created_by: row.text(8)?,
        created_at: row.moment(9)?,
        tls: MonitorTls {
            cacert: row.maybe_text(10)?,
            insecure: row.int(11)? != 0,
            sni: row.maybe_text(12)?,
        },
    })
}

fn check(row: &Row) -> Result<Check, StoreError> {
    Ok(Check {
        at: row.moment(0)?,
        is_good: row.int(1)? != 0,
        status: row.maybe_int(2)?.and_then(|status| u16::try_from(status).ok()),
        latency_us: row.maybe_int(3)?.map(i64::cast_unsigned),
        error: row.maybe_text(4)?,
    })
}
