//! How a lab takes over a store in files: at its start, or later if its disk was full then.

use std::path::Path;
use std::time::Duration;

use super::checkpoint::Checkpointer;
use super::footing::{self, Footing};
use super::lock::{self, FileLock, Killed};
use super::session::Session;
use super::sqlite::{self, Sqlite};
use super::{StoreError, disk, migrate};
use prony_lab_model::clock;

/// How long a start may be held up by a check of the store: about a gigabyte's worth.
const CHECK_MAX: Duration = Duration::from_secs(10);

/// What a start writes: the index of SQLite's log and the first pages of the log itself, 32 KiB and some. With less than
/// this, an error of a file is one of the full disk.
const START_BYTES_MIN: u64 = 256 << 10;

/// A store in files that was taken over.
pub(crate) struct Taken {
    pub session: Box<dyn Session>,
    pub(super) epoch: i64,
    /// Transactions that were committed to it, ever.
    pub commits: i64,
    pub(super) footing: Footing,
    pub(super) checkpointer: Checkpointer,
    /// What a check of it found, for people.
    pub note: Option<String>,
}

impl Taken {
    /// Takes over the store at `path`, for which this process has the `lock`, and brings its tables up to date. `killed`
    /// is what the last lab left, if it was killed.
    pub(crate) fn take(path: &Path, lock: &mut FileLock, killed: Option<Killed>) -> Result<Self, StoreError> {
        let note = killed.map(|_| quick_check(path)).transpose()?;
        let mut session: Box<dyn Session> = Box::new(Sqlite::open(path)?);
        // Readers have less: there are many, and what they look for is in the kernel's cache.
        session.batch("PRAGMA cache_size = -8000;")?;
        migrate::prepare(session.as_mut())?;
        let commits = footing::check_commits(path, session.as_mut(), killed)?;
        migrate::migrate(session.as_mut())?;
        let epoch = lock::take_over(session.as_mut())?;
        let footing = Footing::of(path)?;
        let checkpointer = Checkpointer::start(path.to_owned())?;
        lock.name_holder(commits)
            .map_err(|error| StoreError::Open { path: lock::place(path), message: error.to_string() })?;
        Ok(Self { session, epoch, commits, footing, checkpointer, note })
    }
}

/// The error of a start, which a full disk has in many forms.
pub(super) fn at_start(error: StoreError, path: &Path) -> StoreError {
    let space = disk::space(path);
    let is_full = space.is_some_and(|space| space.free_bytes < START_BYTES_MIN);
    match error {
        StoreError::Full => {}
        StoreError::Open { .. } | StoreError::Unavailable(_) if is_full => {}
        other => return other,
    }
    StoreError::FullAtStart { path: path.to_owned(), free: space.map(|space| space.free_bytes) }
}

/// Checks the database after the lab that had it was killed: a note for the log.
fn quick_check(path: &Path) -> Result<String, StoreError> {
    let begun = clock::steady();
    let is_seen = sqlite::quick_check(path, CHECK_MAX)?;
    let took = (clock::steady().saturating_sub(begun)).as_secs_f64();
    Ok(if is_seen {
        format!(
            "the lab was not stopped in good order last time; the store is whole (looked at for {took:.1} s)"
        )
    } else {
        format!(
            "the lab was not stopped in good order last time; nothing wrong was found in {took:.0} s, \
             but the store is large: `prony lab check` looks at all of it"
        )
    })
}
