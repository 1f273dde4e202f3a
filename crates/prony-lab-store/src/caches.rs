//! Caches of projects: which folder is which, and what became of it. The folders are the worker's.

use super::{StoreError, Tx, values};
use prony_lab_model::clock::Moment;
use prony_lab_model::{BuildId, BuildState, Cache, CacheDefinition, ProjectId};

/// The folder of a cache; none where it is empty.
pub fn folder(tx: &mut Tx<'_>, project: ProjectId, name: &str) -> Result<Option<String>, StoreError> {
    tx.first(
        "SELECT folder FROM caches WHERE project_id = $1 AND name = $2 AND folder <> ''",
        values![project, name],
        |row| row.text(0),
    )
}

/// Notes that `build` has a cache to write to, and returns its folder: `fresh` where it is empty.
pub fn lend(
    tx: &mut Tx<'_>,
    project: ProjectId,
    name: &str,
    build: BuildId,
    fresh: &str,
    now: Moment,
) -> Result<String, StoreError> {
    let folder = folder(tx, project, name)?.unwrap_or_else(|| fresh.to_owned());
    tx.execute(
        "INSERT INTO caches (project_id, name, folder, build_id, changed_at) VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT (project_id, name) DO UPDATE SET folder = excluded.folder, build_id = excluded.build_id, \
         changed_at = excluded.changed_at, size_bytes = NULL, note = NULL",
        values![project, name, folder.as_str(), build, now],
    )?;
    Ok(folder)
}

/// What becomes of a cache that a build had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Returned {
    /// Its files are in this folder from now on.
    Kept {
        /// Its name.
        folder: String,
        /// What is in it.
        size_bytes: u64,
    },
    /// It is empty, for this reason.
    Emptied(String),
}

/// Takes back the cache that was lent as the folder `lent`; whether it still was that one: it may have been cleared since.
pub fn take_back(
    tx: &mut Tx<'_>,
    project: ProjectId,
    name: &str,
    lent: &str,
    returned: &Returned,
    now: Moment,
) -> Result<bool, StoreError> {
    let (folder, size, note) = match returned {
        Returned::Kept { folder, size_bytes } => (folder.as_str(), Some(*size_bytes), None),
        Returned::Emptied(why) => ("", None, Some(why.as_str())),
    };
    let size = size.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
    let changed = tx.execute(
        "UPDATE caches SET folder = $4, size_bytes = $5, note = $6, changed_at = $7 \
         WHERE project_id = $1 AND name = $2 AND folder = $3",
        values![project, name, lent, folder, size, note, now],
    )?;
    Ok(changed > 0)
}

/// Empties the caches of a project; how many of them held, or may have held, something.
pub fn clear(tx: &mut Tx<'_>, project: ProjectId, note: &str, now: Moment) -> Result<u64, StoreError> {
    tx.execute(
        "UPDATE caches SET folder = '', size_bytes = NULL, note = $2, changed_at = $3 \
         WHERE project_id = $1 AND folder <> ''",
        values![project, note, now],
    )
}

/// Forgets the caches of a project but for those of `definitions`.
pub fn retain(
    tx: &mut Tx<'_>,
    project: ProjectId,
    definitions: &[CacheDefinition],
) -> Result<(), StoreError> {
    let known =
        tx.query("SELECT name FROM caches WHERE project_id = $1", values![project], |row| row.text(0))?;
    for name in known.iter().filter(|name| definitions.iter().all(|cache| cache.name.as_str() != **name)) {
        tx.execute(
            "DELETE FROM caches WHERE project_id = $1 AND name = $2",
            values![project, name.as_str()],
        )?;
    }
    Ok(())
}

/// Every folder that is one of a cache.
pub fn folders(tx: &mut Tx<'_>) -> Result<Vec<String>, StoreError> {
    tx.query("SELECT folder FROM caches WHERE folder <> ''", &[], |row| row.text(0))
}

/// The caches of a project as they are now, in the order of `definitions`.
pub fn shown(
    tx: &mut Tx<'_>,
    project: ProjectId,
    definitions: &[CacheDefinition],
) -> Result<Vec<Cache>, StoreError> {
    let mut all = Vec::new();
    for CacheDefinition { name, place, limit_bytes } in definitions {
        let found = tx.first(
            "SELECT c.size_bytes, c.build_id, c.changed_at, c.note, b.state FROM caches c \
             LEFT JOIN builds b ON b.id = c.build_id WHERE c.project_id = $1 AND c.name = $2",
            values![project, name.as_str()],
            |row| {
                let state: Option<BuildState> = row.maybe_word(4)?;
                Ok((row.maybe_int(0)?, row.maybe_int(1)?, row.moment(2)?, row.maybe_text(3)?, state))
            },
        )?;
        let mut cache = Cache {
            name: name.to_string(),
            path: place.to_string(),
            limit_bytes: *limit_bytes,
            size_bytes: None,
            build: None,
            changed_at: None,
            note: None,
        };
        if let Some((size, build, changed_at, note, state)) = found {
            cache.size_bytes = size.map(i64::cast_unsigned);
            cache.build = build.map(BuildId);
            cache.changed_at = Some(changed_at);
            cache.note = match (note, size, build, state) {
                (None, None, Some(build), Some(state)) if state.is_final() => {
                    Some(format!("build {build} was stopped while it had it"))
                }
                (None, None, Some(build), Some(_)) => Some(format!("build {build} has it")),
                (note, ..) => note,
            };
        }
        all.push(cache);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::on_both;
    use super::super::{Store, builds, projects, queue};
    use super::*;
    use prony_lab_model::{BuildRequest, Definition};

    const TEXT: &str = "folder = \"/srv/a\"\n[[task]]\nname = \"compile\"\ncommand = \"make\"\n\
                        [[cache]]\nname = \"c\"\npath = \"~/c\"\n[[cache]]\nname = \"d\"\npath = \"d\"\n";

    fn definitions() -> Vec<CacheDefinition> {
        Definition::read(TEXT).expect("a definition").caches
    }

    fn prepared(store: &Store) -> (ProjectId, BuildId) {
        let made = store.write_blocking(|tx| {
            let project = projects::register(tx, &"a".parse().expect("a name"), TEXT, Moment(1))?;
            let definition = Definition::read(TEXT).expect("a definition");
            let new = BuildRequest::default().checked(project, &definition, "kim", Moment(5));
            Ok((project, builds::accept(tx, &new.expect("a request"))?))
        });
        made.expect("written")
    }

    fn kept(folder: &str, size_bytes: u64) -> Returned {
        Returned::Kept { folder: folder.to_owned(), size_bytes }
    }

    #[test]
    fn a_cache_goes_from_build_to_build() {
        on_both(|store| {
            let (project, build) = prepared(store);
            let found = store.write_blocking(move |tx| {
                assert_eq!(shown(tx, project, &definitions())?[0].changed_at, None);
                assert_eq!(folder(tx, project, "c")?, None);
                assert_eq!(lend(tx, project, "c", build, "one", Moment(6))?, "one");
                let having = shown(tx, project, &definitions())?.swap_remove(0);
                assert_eq!(having.note, Some(format!("build {build} has it")));
                assert!(take_back(tx, project, "c", "one", &kept("two", 7), Moment(8))?);
                assert!(!take_back(tx, project, "c", "one", &kept("three", 7), Moment(8))?, "it was back");
                assert_eq!(folder(tx, project, "c")?.as_deref(), Some("two"));
                assert_eq!(lend(tx, project, "c", build, "four", Moment(9))?, "two");
                assert_eq!(folders(tx)?, ["two"]);
                // The build that had it is over, and did not bring it back.
                queue::cancel(tx, build, "kim", Moment(10))?;
                let lost = shown(tx, project, &definitions())?.swap_remove(0);
                assert_eq!((lost.size_bytes, lost.build), (None, Some(build)));
                assert_eq!(lost.note, Some(format!("build {build} was stopped while it had it")));
                let too_large = Returned::Emptied("too large".to_owned());
                assert!(take_back(tx, project, "c", "two", &too_large, Moment(11))?);
                assert_eq!(folders(tx)?, [""; 0]);
                shown(tx, project, &definitions())
            });
            let found = found.expect("written");
            assert_eq!((found.len(), found[0].note.as_deref()), (2, Some("too large")));
            assert_eq!((found[0].changed_at, found[1].changed_at), (Some(Moment(11)), None));
        });
    }

    #[test]
    fn what_was_cleared_meanwhile_does_not_come_back() {
        on_both(|store| {
            let (project, build) = prepared(store);
            let done = store.write_blocking(move |tx| {
                lend(tx, project, "c", build, "one", Moment(6))?;
                lend(tx, project, "d", build, "two", Moment(6))?;
                assert_eq!(clear(tx, project, "cleared by kim", Moment(7))?, 2);
                assert_eq!(clear(tx, project, "again", Moment(8))?, 0, "they are empty");
                assert!(!take_back(tx, project, "c", "one", &kept("three", 7), Moment(9))?);
                let shown = shown(tx, project, &definitions())?;
                assert_eq!(shown[0].note.as_deref(), Some("cleared by kim"));
                // A definition without one forgets it, and another project's are others.
                lend(tx, project, "d", build, "four", Moment(10))?;
                let other = projects::register(tx, &"b".parse().expect("a name"), TEXT, Moment(1))?;
                lend(tx, other, "d", build, "five", Moment(10))?;
                retain(tx, project, &definitions()[..1])?;
                assert_eq!(folders(tx)?, ["five"]);
                retain(tx, other, &[])
            });
            done.expect("written");
        });
    }
}
