//! Who made the commit of a build, and the commits between two.

use super::{Row, StoreError, Tx, values};
use prony_lab_model::{BuildId, Commit, CommitRange, ProjectId, RangeState};

const COLUMNS: &str = "base, tip, state, ahead, behind, commits, error";

/// Lists that wait for the worker, at most: each is a call of git.
pub(crate) const WANTED_MAX: i64 = 100;

/// Notes who made the commit of a build, and what it is about.
pub fn describe(tx: &mut Tx<'_>, build: BuildId, commit: &Commit) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE builds SET commit_author = $2, commit_subject = $3, commit_at = $4 WHERE id = $1",
        values![build, commit.author.as_str(), commit.subject.as_str(), commit.at],
    )
    .map(drop)
}

/// The commits between which a build stands: of a comparison those that it compares, else that of its baseline and its own.
pub fn span(tx: &mut Tx<'_>, build: BuildId) -> Result<Option<(String, String)>, StoreError> {
    let found = tx.first(
        "SELECT COALESCE(b.base_commit_id, o.commit_id), b.commit_id FROM builds b \
         LEFT JOIN builds o ON o.id = b.baseline_id WHERE b.id = $1",
        values![build],
        |row| Ok(row.maybe_text(0)?.zip(row.maybe_text(1)?)),
    )?;
    Ok(found.flatten())
}

/// The commits from `base` to `tip`, if somebody wanted to know them.
pub fn range(
    tx: &mut Tx<'_>,
    project: ProjectId,
    base: &str,
    tip: &str,
) -> Result<Option<CommitRange>, StoreError> {
    let statement =
        format!("SELECT {COLUMNS} FROM commit_ranges WHERE project_id = $1 AND base = $2 AND tip = $3");
    tx.first(&statement, values![project, base, tip], read)
}

/// Has the worker list the commits from `base` to `tip`, unless they are listed; those that could not be listed are tried
/// again. False where too many lists wait already.
pub fn want(tx: &mut Tx<'_>, project: ProjectId, base: &str, tip: &str) -> Result<bool, StoreError> {
    if tx.number("SELECT COUNT(*) FROM commit_ranges WHERE state = 'wanted'", &[])? >= WANTED_MAX {
        return Ok(false);
    }
    tx.execute(
        "INSERT INTO commit_ranges (project_id, base, tip, state) VALUES ($1, $2, $3, 'wanted') \
         ON CONFLICT (project_id, base, tip) DO UPDATE SET state = 'wanted', error = NULL \
         WHERE commit_ranges.state = 'failed'",
        values![project, base, tip],
    )?;
    Ok(true)
}

/// The list that has waited longest.
pub fn wanted(tx: &mut Tx<'_>) -> Result<Option<(ProjectId, CommitRange)>, StoreError> {
    let statement =
        format!("SELECT {COLUMNS}, project_id FROM commit_ranges WHERE state = 'wanted' ORDER BY id LIMIT 1");
    tx.first(&statement, &[], |row| Ok((ProjectId(row.int(7)?), read(row)?)))
}

/// Keeps what was found.
pub fn keep(tx: &mut Tx<'_>, project: ProjectId, found: &CommitRange) -> Result<(), StoreError> {
    let commits = serde_json::to_string(&found.commits).expect("invariant: commits are plain data");
    tx.execute(
        "INSERT INTO commit_ranges (project_id, base, tip, state, ahead, behind, commits, error) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (project_id, base, tip) DO UPDATE SET \
         state = excluded.state, ahead = excluded.ahead, behind = excluded.behind, commits = excluded.commits, \
         error = excluded.error",
        values![
            project,
            found.base.as_str(),
            found.tip.as_str(),
            found.state.name(),
            found.ahead,
            found.behind,
            commits,
            found.error.as_deref(),
        ],
    )
    .map(drop)
}

fn read(row: &Row) -> Result<CommitRange, StoreError> {
    Ok(CommitRange {
        base: row.text(0)?,
        tip: row.text(1)?,
        state: row.word::<RangeState>(2)?,
        ahead: row.int(3)?.cast_unsigned(),
        behind: row.int(4)?.cast_unsigned(),
        commits: serde_json::from_str(&row.text(5)?)
            .map_err(|error| StoreError::Damaged(error.to_string()))?,
        error: row.maybe_text(6)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builds;
    use crate::fixture::on_both;
    use crate::past::{Measured, Past};
    use prony_lab_model::BuildVerdict;

    fn listed(base: &str, tip: &str) -> CommitRange {
        CommitRange {
            base: base.to_owned(),
            tip: tip.to_owned(),
            state: RangeState::Listed,
            commits: vec![Commit::new("c", "Kim \"'\\ Ω", "write it", Some(9))],
            ahead: 60,
            behind: 2,
            error: None,
        }
    }

    #[test]
    fn a_list_is_wanted_once_and_kept() {
        on_both(|store| {
            let project = Past::new(store).project;
            let want = || store.write_blocking(move |tx| want(tx, project, "a", "b"));
            let wanted = || store.read_blocking(wanted).expect("read");
            assert_eq!(wanted(), None);
            assert_eq!((want(), want()), (Ok(true), Ok(true)));
            let (of, waiting) = wanted().expect("it waits");
            assert_eq!((of, waiting.base.as_str(), waiting.tip.as_str()), (project, "a", "b"));
            let found = listed("a", "b");
            let failed = CommitRange {
                state: RangeState::Failed,
                commits: Vec::new(),
                error: Some("no git".to_owned()),
                ..found.clone()
            };
            let keep = |found: &CommitRange| {
                let found = found.clone();
                store.write_blocking(move |tx| keep(tx, project, &found)).expect("kept");
            };
            keep(&failed);
            assert_eq!(wanted(), None);
            // What failed is tried again, what is listed is not.
            assert_eq!(want(), Ok(true));
            assert!(wanted().is_some());
            keep(&found);
            assert_eq!(want(), Ok(true));
            assert_eq!(wanted(), None);
            let kept = store.read_blocking(|tx| range(tx, project, "a", "b")).expect("read");
            assert_eq!(kept.as_ref(), Some(&found));
            assert_eq!(kept.map(|kept| kept.unlisted()), Some(59));
            assert_eq!(store.read_blocking(|tx| range(tx, project, "b", "a")), Ok(None));
        });
    }

    #[test]
    fn no_more_lists_wait_than_the_worker_can_make() {
        on_both(|store| {
            let project = Past::new(store).project;
            let wanted = store.write_blocking(move |tx| {
                (0..=WANTED_MAX).map(|number| want(tx, project, "a", &number.to_string())).collect()
            });
            let wanted: Vec<bool> = wanted.expect("written");
            assert_eq!(wanted.iter().position(|is_wanted| !is_wanted), Some(100));
        });
    }

    #[test]
    fn a_build_knows_who_made_its_commit() {
        on_both(|store| {
            let past = Past::new(store);
            let id = past.build("main", "abc", Measured::default());
            let one = || store.read_blocking(|tx| builds::one(tx, id)).expect("read").expect("there").build;
            let before = one();
            assert_eq!((before.commit_author, before.commit_subject, before.commit_at), (None, None, None));
            let commit = Commit::new("abc", "Kim", "make it slow", Some(7));
            let of = commit.clone();
            store.write_blocking(move |tx| describe(tx, id, &of)).expect("written");
            let after = one();
            assert_eq!(after.commit_author.as_deref(), Some("Kim"));
            assert_eq!(after.commit_subject.as_deref(), Some("make it slow"));
            assert_eq!(after.commit_at, commit.at);
            let span = |id| store.read_blocking(|tx| span(tx, id)).expect("read");
            assert_eq!(span(id), None, "there is no baseline");
            let verdict = Some((BuildVerdict::Slower, id));
            let next = past.build("main", "def", Measured { verdict, ..Measured::default() });
            assert_eq!(span(next), Some(("abc".to_owned(), "def".to_owned())));
        });
    }
}
