//! The files that a SQLite store stands on: the database and its log. Anyone who removes one of them from under a lab takes
//! with it what the lab goes on to write, so each commit is answered only after a check of both.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::backup::{beside, stamped};
use super::lock::{self, Killed};
use super::session::Session;
use super::{StoreError, sqlite, values};

/// Which files they were when the store was taken over.
#[derive(Debug)]
pub(super) struct Footing {
    database: PathBuf,
    log: PathBuf,
    files: [Option<(u64, u64)>; 2],
}

impl Footing {
    /// The files at `path`, whose log was begun by a commit.
    pub(super) fn of(path: &Path) -> Result<Self, StoreError> {
        let (database, log) = (path.to_owned(), beside(path, "-wal"));
        let files = [identity(&database), identity(&log)];
        if files.contains(&None) {
            let message =
                "it has no log beside it: use a file system on which SQLite can keep one (WAL)".to_owned();
            return Err(StoreError::Open { path: database, message });
        }
        Ok(Self { database, log, files })
    }

    /// Whether they are still the same.
    pub(super) fn is_there(&self) -> bool {
        [identity(&self.database), identity(&self.log)] == self.files
    }

    /// The error when they aren't. `session` still has both files open, so it can copy what was answered.
    pub(super) fn lost(&self, session: &mut dyn Session) -> StoreError {
        StoreError::LogRemoved {
            path: self.database.clone(),
            missing: "its file or its log (-wal) was removed or replaced under the running lab".to_owned(),
            rescued: self.rescue(session),
        }
    }

    fn rescue(&self, session: &mut dyn Session) -> Option<PathBuf> {
        let copy = stamped(&self.database, "rescued");
        sqlite::make_file(&copy).ok()?;
        let into = copy.to_string_lossy();
        if session.execute("VACUUM INTO $1", values![into.as_ref()]).is_ok() {
            return Some(copy);
        }
        // Half a copy is none.
        let _ = std::fs::remove_file(&copy);
        None
    }
}

/// Refuses a store that has less than its last lab had committed when it was killed; how much it has.
pub(super) fn check_commits(
    path: &Path,
    session: &mut dyn Session,
    killed: Option<Killed>,
) -> Result<i64, StoreError> {
    let found = lock::commits(session)?;
    match killed.and_then(|killed| killed.commits) {
        Some(known) if known > found => Err(StoreError::LogRemoved {
            path: path.to_owned(),
            missing: format!(
                "the last lab had committed {known} transactions and {found} are there; its log (-wal) was removed, or \
                 the file replaced by an older one"
            ),
            rescued: None,
        }),
        _ => Ok(found),
    }
}

/// Which file has this name: its device and number there.
fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}
