//! A lab that starts on a full disk: its store is read, and taken over as soon as there is room.
//!
//! SQLite keeps the index of its log in a file, which can't grow then. Anyone who only reads can have that index in memory,
//! as long as nobody in this process has the database open for writing. So at first all sessions only read, and to take
//! the store over all of them are closed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::lock::{FileLock, Killed};
use super::session::{Dialect, Session};
use super::sqlite::{self, Sqlite};
use super::{Row, StoreError, Value, disk, footing, migrate};
use prony_lab_model::clock;

/// Between two attempts to take the store over, each of which holds readers up.
const RETRY: Duration = Duration::from_secs(1);
/// With less room no attempt is made: it takes the index of a long log and the first commits.
const ROOM_BYTES_MIN: u64 = 1 << 20;
/// The note of such a start, for people.
pub(super) const NOTE: &str = "the disk of the lab is full: it shows what it has and accepts nothing, also no logins, \
                               until there is room; free 100 MB, a restart is not needed";

/// A store that is locked for this lab and can only be read so far.
pub(crate) struct Waiting {
    pub path: PathBuf,
    pub lock: FileLock,
    /// What the last lab left, if it was killed.
    pub killed: Option<Killed>,
    /// Since when.
    pub since: Duration,
    /// When the next attempt may be made.
    next: Duration,
}

impl Waiting {
    /// For the store at `path`; nothing where it can't even be read: a new one, or one of an older version.
    pub(crate) fn start(
        path: &Path,
        lock: FileLock,
        killed: Option<Killed>,
    ) -> Result<Option<Self>, StoreError> {
        if sqlite::make_log_files(path).is_err() {
            return Ok(None);
        }
        let Ok(mut session) = Sqlite::open_read_only(path) else { return Ok(None) };
        match migrate::is_current(&mut session) {
            Ok(true) => {}
            Err(error @ StoreError::Newer { .. }) => return Err(error),
            Ok(false) | Err(_) => return Ok(None),
        }
        footing::check_commits(path, &mut session, killed)?;
        let now = clock::steady();
        Ok(Some(Self { path: path.to_owned(), lock, killed, since: now, next: now }))
    }

    /// Whether an attempt to take the store over is worth it now.
    pub(super) fn may_try(&self) -> bool {
        let has_room = || disk::space(&self.path).is_none_or(|space| space.free_bytes >= ROOM_BYTES_MIN);
        clock::steady() >= self.next && has_room()
    }

    /// An attempt has failed; the next one comes later.
    pub(super) fn put_off(&mut self) {
        self.next = clock::steady() + RETRY;
    }
}

/// The session of a lab that can't write yet: to everything it answers that the disk is full.
pub(super) struct NoSession;

impl Session for NoSession {
    fn execute(&mut self, _: &str, _: &[Value]) -> Result<u64, StoreError> {
        Err(StoreError::Full)
    }

    fn each(
        &mut self,
        _: &str,
        _: &[Value],
        _: &mut dyn FnMut(Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        Err(StoreError::Full)
    }

    fn batch(&mut self, _: &str) -> Result<(), StoreError> {
        Err(StoreError::Full)
    }

    fn begin(&mut self, _: bool) -> Result<(), StoreError> {
        Err(StoreError::Full)
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        Err(StoreError::Full)
    }

    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn is_lost(&self) -> bool {
        false
    }
}
