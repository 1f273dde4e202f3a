//! The queue: which build is next, and what becomes of those that nobody works on any more.

use super::{StoreError, Tx, builds, tasks, values};
use prony_lab_model::clock::Moment;
use prony_lab_model::{BuildId, BuildState, TaskState};

/// Builds that expire in one transaction: others wait meanwhile.
const AT_ONCE_MAX: u32 = 100;
/// A build that the lab began so often, and never got to its first task, is given up.
const ATTEMPTS_MAX: u32 = 3;

/// Whether [`take`] or [`expire`] would find something.
pub fn has_work(tx: &mut Tx<'_>) -> Result<bool, StoreError> {
    Ok(tx.first("SELECT 1 FROM builds WHERE state = 'queued' LIMIT 1", &[], |row| row.int(0))?.is_some())
}

/// Gives the next build away: that of the highest priority, and of these the oldest.
pub fn take(tx: &mut Tx<'_>, now: Moment) -> Result<Option<BuildId>, StoreError> {
    // With the `+` SQLite doesn't look for them by when they expire, and goes by the order instead.
    let next = tx.first(
        "SELECT id FROM builds WHERE state = 'queued' AND +expires_at > $1 ORDER BY priority DESC, id LIMIT 1",
        values![now],
        |row| row.int(0),
    )?;
    let Some(id) = next.map(BuildId) else { return Ok(None) };
    builds::advance(tx, id, BuildState::Queued, BuildState::Assigned, None, now)?;
    tx.execute("UPDATE builds SET attempt = attempt + 1, started_at = $2 WHERE id = $1", values![id, now])?;
    Ok(Some(id))
}

/// Ends what has waited too long; how many these were.
pub fn expire(tx: &mut Tx<'_>, now: Moment) -> Result<usize, StoreError> {
    let late = tx.query(
        "SELECT id FROM builds WHERE state = 'queued' AND expires_at <= $1 ORDER BY expires_at, id LIMIT $2",
        values![now, AT_ONCE_MAX],
        |row| row.int(0),
    )?;
    for id in late.iter().copied().map(BuildId) {
        let reason = "it waited for its turn longer than its project allows (`queue`)";
        builds::advance(tx, id, BuildState::Queued, BuildState::Expired, Some(reason), now)?;
        close_tasks(tx, id, TaskState::Skipped, now)?;
    }
    Ok(late.len())
}

/// Whether [`expire`] would find something.
pub fn has_late(tx: &mut Tx<'_>, now: Moment) -> Result<bool, StoreError> {
    let statement = "SELECT 1 FROM builds WHERE state = 'queued' AND expires_at <= $1 LIMIT 1";
    Ok(tx.first(statement, values![now], |row| row.int(0))?.is_some())
}

/// Sees to what an earlier lab left behind, when a lab begins: what it had not begun goes back into the queue; whatever
/// ran is over, for nothing of it runs any more, and what was measured once is never measured again silently.
pub fn recover(tx: &mut Tx<'_>, now: Moment) -> Result<usize, StoreError> {
    let left = tx.query(
        "SELECT id, state, attempt FROM builds WHERE state IN ('assigned', 'arming', 'armed', 'running', 'draining', \
         'finalizing', 'cancelling') ORDER BY id",
        &[],
        |row| Ok((BuildId(row.int(0)?), row.word::<BuildState>(1)?, row.int(2)?)),
    )?;
    for &(id, state, attempt) in &left {
        let has_begun = tasks::of(tx, id)?.iter().any(|task| task.state != TaskState::Pending);
        let (to, reason) = match state {
            BuildState::Assigned if !has_begun && attempt < i64::from(ATTEMPTS_MAX) => {
                (BuildState::Queued, "the lab was stopped before it began")
            }
            BuildState::Cancelling => (BuildState::Cancelled, "the lab was stopped meanwhile"),
            _ => (BuildState::Failed, "the lab was stopped while it ran; request it again"),
        };
        builds::advance(tx, id, state, to, Some(reason), now)?;
        if to != BuildState::Queued {
            close_tasks(tx, id, TaskState::Cancelled, now)?;
        }
    }
    Ok(left.len())
}

/// Cancels a build: at once if it is queued, else when what runs of it has stopped. Whether it could be.
pub fn cancel(tx: &mut Tx<'_>, id: BuildId, by: &str, now: Moment) -> Result<bool, StoreError> {
    let state = builds::state(tx, id)?;
    if !state.is_cancellable() {
        return Ok(false);
    }
    let reason = format!("cancelled by {by}");
    if state == BuildState::Queued {
        builds::advance(tx, id, state, BuildState::Cancelled, Some(&reason), now)?;
        close_tasks(tx, id, TaskState::Cancelled, now)?;
    } else {
        builds::advance(tx, id, state, BuildState::Cancelling, Some(&reason), now)?;
    }
    Ok(true)
}

/// Notes which commits a build is of.
pub fn set_commits(
    tx: &mut Tx<'_>,
    id: BuildId,
    commit: &str,
    base: Option<&str>,
    branch: Option<&str>,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE builds SET commit_id = $2, base_commit_id = $3, branch = COALESCE($4, branch) WHERE id = $1",
        values![id, commit, base, branch],
    )?;
    Ok(())
}

/// Ends the tasks of a build that is over: `state` for those that ran, or were cancelled with it.
pub fn close_tasks(tx: &mut Tx<'_>, id: BuildId, state: TaskState, now: Moment) -> Result<(), StoreError> {
    for task in tasks::of(tx, id)? {
        match task.state {
            TaskState::Running => tasks::end(tx, id, task.id, state, None, None, now)?,
            TaskState::Pending => {
                let state = if state == TaskState::Cancelled { state } else { TaskState::Skipped };
                tasks::end(tx, id, task.id, state, None, None, now)?;
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::fixture::on_both;
    use super::super::{Store, projects};
    use super::*;
    use prony_lab_model::{BuildDetail, BuildRequest, Definition};

    fn accepted(store: &Store, priority: &'static str, at: i64) -> BuildId {
        let accepted = store.write_blocking(move |tx| {
            let text =
                "folder = \"/srv/a\"\nqueue = \"10s\"\n[[task]]\nname = \"compile\"\ncommand = \"make\"";
            let project = projects::register(tx, &"a".parse().expect("a name"), text, Moment(1))?;
            let definition = Definition::read(text).expect("a definition");
            let request = BuildRequest { priority: priority.to_owned(), ..BuildRequest::default() };
            let new = request.checked(project, &definition, "kim", Moment(at)).expect("a request");
            builds::accept(tx, &new)
        });
        accepted.expect("accepted")
    }

    fn state(store: &Store, id: BuildId) -> BuildState {
        store.read_blocking(|tx| builds::state(tx, id)).expect("read")
    }

    fn detail(store: &Store, id: BuildId) -> BuildDetail {
        store.read_blocking(|tx| builds::one(tx, id)).expect("read").expect("there")
    }

    fn take_one(store: &Store, at: i64) -> Option<BuildId> {
        store.write_blocking(move |tx| take(tx, Moment(at))).expect("written")
    }

    #[test]
    fn the_queue_goes_by_priority_and_then_by_age() {
        on_both(|store| {
            let ids: Vec<_> = ["low", "normal", "high", "normal", "high"]
                .map(|priority| accepted(store, priority, 5))
                .to_vec();
            let taken: Vec<_> = std::iter::from_fn(|| take_one(store, 9)).collect();
            assert_eq!(taken, [ids[2], ids[4], ids[1], ids[3], ids[0]]);
            let build = detail(store, ids[0]).build;
            assert_eq!(
                (build.state, build.attempt, build.started_at),
                (BuildState::Assigned, 1, Some(Moment(9)))
            );
        });
    }

    #[test]
    fn what_waits_too_long_is_never_begun() {
        on_both(|store| {
            let (old, new) = (accepted(store, "normal", 5), accepted(store, "normal", 6_000));
            assert!(!store.read_blocking(|tx| has_late(tx, Moment(10_004))).expect("read"));
            assert!(store.read_blocking(|tx| has_late(tx, Moment(10_005))).expect("read"));
            assert_eq!(take_one(store, 10_005), Some(new));
            assert_eq!(store.write_blocking(|tx| expire(tx, Moment(10_005))), Ok(1));
            let build = detail(store, old);
            assert_eq!(build.build.state, BuildState::Expired);
            assert!(build.tasks.iter().all(|task| task.state == TaskState::Skipped));
            assert_eq!(store.write_blocking(|tx| expire(tx, Moment(10_005))), Ok(0));
        });
    }

    #[test]
    fn a_lab_that_begins_again_runs_nothing_twice() {
        on_both(|store| {
            let ids: Vec<_> = (0..4).map(|_| accepted(store, "normal", 5)).collect();
            for _ in 0..3 {
                take_one(store, 6);
            }
            let (fresh, running, called_off, queued) = (ids[0], ids[1], ids[2], ids[3]);
            let task = detail(store, running).tasks[0].id;
            let moved = store.write_blocking(move |tx| {
                builds::advance(tx, running, BuildState::Assigned, BuildState::Running, None, Moment(7))?;
                tasks::begin(tx, running, task, Moment(7))?;
                cancel(tx, called_off, "kim", Moment(7))
            });
            assert_eq!(moved, Ok(true));
            assert_eq!(store.write_blocking(|tx| recover(tx, Moment(8))), Ok(3));
            let states = [fresh, running, called_off, queued].map(|id| state(store, id));
            let (back, over) = (BuildState::Queued, BuildState::Failed);
            assert_eq!(states, [back, over, BuildState::Cancelled, back]);
            let interrupted = detail(store, running);
            assert!(interrupted.build.reason.is_some_and(|reason| reason.contains("the lab was stopped")));
            assert!(interrupted.tasks.iter().all(|task| task.state == TaskState::Cancelled));
            // It is begun so often, and no more.
            for _ in 1..ATTEMPTS_MAX {
                assert_eq!(take_one(store, 9), Some(fresh));
                store.write_blocking(|tx| recover(tx, Moment(10))).expect("written");
            }
            assert_eq!(state(store, fresh), over);
            assert_eq!(take_one(store, 9), Some(queued));
        });
    }

    #[test]
    fn builds_are_called_off() {
        on_both(|store| {
            let (first, second) = (accepted(store, "high", 5), accepted(store, "normal", 5));
            take_one(store, 6);
            let called_off = |id| store.write_blocking(move |tx| cancel(tx, id, "kim", Moment(7)));
            assert_eq!((called_off(first), called_off(second)), (Ok(true), Ok(true)));
            assert_eq!(state(store, first), BuildState::Cancelling, "it may have begun");
            assert_eq!(state(store, second), BuildState::Cancelled);
            assert_eq!(called_off(second), Ok(false), "it is over");
        });
    }
}
