//! What is no longer kept: outputs and files of old builds by their project's `[keep]`, events that nobody will read
//! again, and of old checks of monitors all but one an hour.
//!
//! It is done in pieces, each a write of its own beside all others, so that no page waits for it. Builds, results,
//! verdicts, notes and the audit log stay for ever.

use std::time::Duration;

use super::{Row, Store, StoreError, Tx, monitors, projects, settings, values};
use crate::background::Background;
use prony_lab_model::clock::{self, Moment};
use prony_lab_model::{Definition, ProjectId, Retention};

/// Between two rounds.
const EVERY: Duration = Duration::from_hours(1);
/// After an error of the store, which passes or is reported by the next that needs the store.
const AFTER_ERROR: Duration = Duration::from_mins(1);
/// Between two pieces of a round: the writer is idle for most of it.
const BETWEEN: Duration = Duration::from_millis(50);
/// Builds of one piece.
const BUILDS: u32 = 50;
/// Outputs and files of one piece: to let go of 8 MiB takes SQLite some 10 ms.
const BYTES: i64 = 8 << 20;
/// Events of one piece.
const EVENTS: u32 = 1000;
/// How long events are kept: a receiver of webhooks that was away for so long asks for the state instead.
const EVENTS_KEPT: Duration = Duration::from_secs(30 * DAY_S);
/// How long every check of a monitor is kept.
const CHECKS_KEPT: Duration = Duration::from_secs(30 * DAY_S);
/// How long one check an hour, and every failed one, is kept after that: a year can be compared with the last.
const SPARSE_CHECKS_KEPT: Duration = Duration::from_secs(400 * DAY_S);
/// One check of so many milliseconds stays: an hour.
const SPARSE_MS: i64 = 3_600_000;
const DAY_S: u64 = 24 * 3600;
/// What holds for loads by themselves, which have no project: what a definition says that says nothing.
const WITHOUT_PROJECT: Retention = Retention { files: Duration::from_secs(180 * DAY_S), builds: 100 };
/// Where it is noted up to which build of a project everything was removed; the number of the project follows.
const CLEANED: &str = "retention.builds.";
/// Where it is noted up to which moment the checks of a monitor were thinned; the number of the monitor follows.
const THINNED: &str = "retention.checks.";

/// Removes from now on what is no longer kept.
pub fn start(store: Store) -> std::io::Result<Background> {
    Background::start_aside("lab-retention", move || {
        match store.write_blocking(|tx| piece(tx, clock::wall())) {
            Ok(true) => BETWEEN,
            Ok(false) => EVERY,
            Err(_) => AFTER_ERROR,
        }
    })
}

/// Removes a piece of what is no longer kept at `now`; whether there may be more.
pub fn piece(tx: &mut Tx<'_>, now: Moment) -> Result<bool, StoreError> {
    for project in projects::all(tx)? {
        // A definition that can't be read any more is reported where it is used; nothing of its builds is removed.
        if let Ok(definition) = Definition::read(&project.definition)
            && builds(tx, Some(project.id), definition.retention, now)?
        {
            return Ok(true);
        }
    }
    if builds(tx, None, WITHOUT_PROJECT, now)? || events(tx, now)? {
        return Ok(true);
    }
    let monitors = tx.query("SELECT id FROM monitors ORDER BY id", &[], |row| row.int(0))?;
    for monitor in monitors {
        if checks(tx, monitor, now)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Outputs and files of the oldest builds of a project that still have theirs.
fn builds(
    tx: &mut Tx<'_>,
    project: Option<ProjectId>,
    keep: Retention,
    now: Moment,
) -> Result<bool, StoreError> {
    let key = format!("{CLEANED}{}", project.map_or(0, |id| id.0));
    let cleaned = number(tx, &key)?;
    let (of, whose) = match project {
        Some(id) => ("project_id = $1", id.0),
        None => ("project_id IS NULL AND $1 = 0", 0),
    };
    // The newest keep theirs whatever their age: this is the oldest of them.
    let newest = format!("SELECT id FROM builds WHERE {of} ORDER BY id DESC LIMIT 1 OFFSET $2");
    let first_kept = keep.builds.saturating_sub(1);
    let Some(until) = tx.first(&newest, values![whose, first_kept], |row| row.int(0))? else {
        return Ok(false);
    };
    let until = if keep.builds == 0 { i64::MAX } else { until };
    let oldest = format!(
        "SELECT b.id, b.ended_at, CAST((SELECT COALESCE(SUM(t.output_bytes), 0) FROM tasks t \
         WHERE t.build_id = b.id) + (SELECT COALESCE(SUM(f.size_bytes), 0) FROM files f \
         WHERE f.build_id = b.id) AS BIGINT) FROM builds b WHERE b.{of} AND b.id > $2 AND b.id < $3 ORDER BY b.id LIMIT $4"
    );
    let read = |row: &Row| Ok((row.int(0)?, row.maybe_moment(1)?, row.int(2)?));
    let found = tx.query(&oldest, values![whose, cleaned, until, BUILDS], read)?;
    let is_old = |ended: &Option<Moment>| ended.is_some_and(|ended| ended < now.before(keep.files));
    let mut bytes = 0;
    let mut last = None;
    // One after the other: what is behind a build that is kept is younger still.
    for (id, _, size) in found.iter().take_while(|(_, ended, _)| is_old(ended)) {
        bytes += size;
        last = Some(*id);
        if bytes > BYTES {
            break;
        }
    }
    let Some(last) = last else { return Ok(false) };
    let range = format!("SELECT id FROM builds WHERE {of} AND id > $2 AND id <= $3");
    tx.execute(
        &format!("DELETE FROM outputs WHERE task_id IN (SELECT id FROM tasks WHERE build_id IN ({range}))"),
        values![whose, cleaned, last],
    )?;
    tx.execute(&format!("DELETE FROM files WHERE build_id IN ({range})"), values![whose, cleaned, last])?;
    settings::set(tx, &key, &last.to_string())?;
    Ok(true)
}

/// The oldest events.
fn events(tx: &mut Tx<'_>, now: Moment) -> Result<bool, StoreError> {
    let read = |row: &Row| Ok((row.int(0)?, row.moment(1)?));
    let oldest = tx.query("SELECT id, at FROM events ORDER BY id LIMIT $1", values![EVENTS], read)?;
    let is_old = |(_, at): &&(i64, Moment)| *at < now.before(EVENTS_KEPT);
    let Some((last, _)) = oldest.iter().take_while(is_old).last() else { return Ok(false) };
    tx.execute("DELETE FROM events WHERE id <= $1", values![*last])?;
    Ok(true)
}

/// An hour's checks of a monitor: the first and every failed one stay, and in the end none.
fn checks(tx: &mut Tx<'_>, monitor: i64, now: Moment) -> Result<bool, StoreError> {
    let ended = now.before(SPARSE_CHECKS_KEPT);
    tx.execute("DELETE FROM checks WHERE monitor_id = $1 AND at < $2", values![monitor, ended])?;
    let hour = ended.0 / monitors::HOUR_MS;
    tx.execute("DELETE FROM check_hours WHERE monitor_id = $1 AND hour < $2", values![monitor, hour])?;
    let key = format!("{THINNED}{monitor}");
    let next = "SELECT at FROM checks WHERE monitor_id = $1 AND at >= $2 ORDER BY at LIMIT 1";
    let thinned = number(tx, &key)?;
    let Some(first) = tx.first(next, values![monitor, thinned], |row| row.int(0))? else { return Ok(false) };
    let until = first - first.rem_euclid(SPARSE_MS) + SPARSE_MS;
    if until > now.before(CHECKS_KEPT).0 {
        return Ok(false);
    }
    tx.execute(
        "DELETE FROM checks WHERE monitor_id = $1 AND at > $2 AND at < $3 AND is_good = 1",
        values![monitor, first, until],
    )?;
    settings::set(tx, &key, &until.to_string())?;
    Ok(true)
}

/// A number that was noted, or 0.
fn number(tx: &mut Tx<'_>, key: &str) -> Result<i64, StoreError> {
    Ok(settings::setting(tx, key)?.and_then(|text| text.parse().ok()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::on_both;
    use crate::{builds, events, tasks};
    use prony_lab_model::{BuildRequest, BuildState, TaskState};

    const DAY_MS: i64 = 24 * 3_600_000;
    const DEFINITION: &str = "folder = \"/srv/a\"\n[[task]]\nname = \"compile\"\ncommand = \"make\"\n\
                              [keep]\nfiles = \"240h\"\nbuilds = 2";

    /// Ten builds, one a day, each with an output and a file.
    fn past(tx: &mut Tx<'_>) -> Result<(), StoreError> {
        let project = projects::register(tx, &"a".parse().expect("a name"), DEFINITION, Moment(1))?;
        let definition = Definition::read(DEFINITION).expect("a definition");
        for day in 0..10 {
            let at = Moment(day * DAY_MS);
            let new = BuildRequest::default().checked(project, &definition, "kim", at).expect("a request");
            let id = builds::accept(tx, &new)?;
            builds::advance(tx, id, BuildState::Queued, BuildState::Assigned, None, at)?;
            for task in tasks::of(tx, id)? {
                tasks::write(tx, id, task.id, b"some words", at)?;
                tasks::end(tx, id, task.id, TaskState::Failed, Some(1), None, at)?;
            }
            tx.execute(
                "INSERT INTO files (build_id, name, media_type, size_bytes, deflated, bytes) \
                 VALUES ($1, 'a.txt', 'text/plain', 3, 0, $2)",
                values![id, b"abc".as_slice()],
            )?;
            builds::advance(tx, id, BuildState::Assigned, BuildState::Failed, None, at)?;
        }
        Ok(())
    }

    fn all(store: &Store, day: i64) {
        let now = Moment(day * DAY_MS);
        let pieces =
            (0..1000).take_while(|_| store.write_blocking(move |tx| piece(tx, now)).expect("removed"));
        assert!(pieces.count() < 1000, "it comes to an end");
    }

    fn counted(store: &Store, table: &str) -> i64 {
        let statement = format!("SELECT COUNT(*) FROM {table}");
        store.read_blocking(|tx| tx.number(&statement, &[])).expect("read")
    }

    #[test]
    fn outputs_and_files_go_with_age_and_builds_stay() {
        on_both(|store| {
            store.write_blocking(past).expect("a past");
            all(store, 10);
            assert_eq!((counted(store, "outputs"), counted(store, "files")), (20, 10), "none is old enough");
            // Those of the days 0 to 3 are older than ten days.
            all(store, 14);
            assert_eq!((counted(store, "outputs"), counted(store, "files")), (12, 6));
            all(store, 14);
            assert_eq!(
                (counted(store, "outputs"), counted(store, "files")),
                (12, 6),
                "again changes nothing"
            );
            // The newest two keep theirs for ever.
            all(store, 1000);
            assert_eq!((counted(store, "outputs"), counted(store, "files")), (4, 2));
            assert_eq!((counted(store, "builds"), counted(store, "tasks")), (10, 20));
            let bytes = "(SELECT SUM(output_bytes) AS sum FROM tasks) AS s WHERE sum = 200";
            assert_eq!(counted(store, bytes), 1, "it is still known what there was");
        });
    }

    #[test]
    fn old_events_go_and_numbers_go_on() {
        on_both(|store| {
            for day in [0, 20, 40] {
                let note = move |tx: &mut Tx<'_>| {
                    events::append(tx, Moment(day * DAY_MS), "a", None, &serde_json::Value::Null)
                };
                store.write_blocking(note).expect("noted");
            }
            all(store, 55);
            assert_eq!(counted(store, "events"), 1);
            all(store, 1000);
            let next = store
                .write_blocking(|tx| events::append(tx, Moment(0), "b", None, &serde_json::Value::Null))
                .expect("noted");
            assert_eq!(next.0, 4, "who has read up to 3 sees it");
        });
    }

    #[test]
    fn old_checks_are_thinned_and_failures_stay() {
        on_both(|store| {
            store
                .write_blocking(|tx| {
                    tx.execute(
                        "INSERT INTO monitors (name, url, every_ms, timeout_ms, fail_after, created_by, created_at) \
                         VALUES ('a', 'http://127.0.0.1/', 600000, 1000, 3, 'kim', 0)",
                        &[],
                    )?;
                    // A check every ten minutes of two days; one fails.
                    for number in 0..288 {
                        tx.execute(
                            "INSERT INTO checks (monitor_id, at, is_good) VALUES (1, $1, $2)",
                            values![i64::from(number) * 600_000, number != 10],
                        )?;
                    }
                    Ok(())
                })
                .expect("a monitor");
            all(store, 31);
            // The first day: one an hour, and the failed one.
            assert_eq!(counted(store, "checks"), 24 + 1 + 144);
            assert_eq!(counted(store, "checks WHERE is_good = 0"), 1);
            all(store, 500);
            assert_eq!(counted(store, "checks"), 0);
        });
    }
}
