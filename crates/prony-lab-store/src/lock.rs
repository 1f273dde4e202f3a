//! One active lab for each store: a lock that ends with the process that has it, and an epoch that grows with every
//! lab that takes the store over.
//!
//! SQLite: a lock on a file beside the database, in which its holder is named. The name is removed by an end in good
//! order, so a name that is still there means one that was not. PostgreSQL: an advisory lock of the session that
//! writes; its server lets go of it when that session is gone.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::Read as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use prony_model::Problem;

use super::session::{Dialect, Session};
use super::values;
use super::{StoreError, sqlite};
use prony_lab_model::clock;

/// Names the lock among the advisory locks of a PostgreSQL database: "prony" and "lab" as numbers.
const ADVISORY: &str = "(112114, 976152)";
/// How long the lab before this one may take to end, or a PostgreSQL to notice that it was killed.
const PATIENCE: Duration = Duration::from_secs(3);
/// Between two checks whether it has ended.
const LOCK_RETRY: Duration = Duration::from_millis(20);
/// A name of a process and its machine, and a number, are shorter.
const NAME_BYTES_MAX: u64 = 1024;
/// Begins the line of a lock's file that holds how many transactions were committed.
const COMMITS: &str = "commits ";

/// The lock on a SQLite database. Dropping it ends it in good order.
///
/// Its file names the holder, and beneath that how many transactions the holder has committed. The database has that
/// number, too: after a kill it must not be the lower one of the two.
#[derive(Debug)]
pub(super) struct FileLock {
    file: File,
    /// Where the number of commits stands, once the holder is named.
    commits_at: Option<u64>,
}

/// What the last holder of a lock left, unless it ended in good order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Killed {
    /// Transactions that it had committed; nothing where it didn't count them.
    pub(super) commits: Option<i64>,
}

impl FileLock {
    /// Takes the lock of the database at `path`; also what its last holder left if that was killed.
    pub(super) fn take(path: &Path) -> Result<(Self, Option<Killed>), StoreError> {
        let place = place(path);
        let failed =
            |error: std::io::Error| StoreError::Open { path: place.clone(), message: error.to_string() };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(sqlite::FILE_MODE)
            .open(&place)
            .map_err(failed)?;
        let until = clock::steady() + PATIENCE;
        let is_locked = loop {
            match file.try_lock() {
                Ok(()) => break true,
                Err(TryLockError::WouldBlock) if clock::steady() >= until => break false,
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_RETRY),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        };
        let mut last = String::new();
        (&file).take(NAME_BYTES_MAX).read_to_string(&mut last).map_err(failed)?;
        // Older labs wrote the name behind the length of the one before it.
        let mut lines = last.trim_start_matches('\0').lines();
        let name = lines.next().unwrap_or_default();
        if !is_locked {
            let who = if name.is_empty() { "another lab" } else { name };
            return Err(StoreError::InUse(Problem::new(format!("{who} has it"), ADVICE)));
        }
        let commits = lines.next().and_then(|line| line.strip_prefix(COMMITS)?.parse().ok());
        let killed = (!name.is_empty()).then_some(Killed { commits });
        Ok((Self { file, commits_at: None }, killed))
    }

    /// Names this process as the holder. Until then the file holds what the last one left.
    pub(super) fn name_holder(&mut self, commits: i64) -> std::io::Result<()> {
        let head = format!("{}\n{COMMITS}", holder());
        let at = head.len() as u64;
        let text = format!("{head}{commits:020}\n");
        // Over what is there, which is cut afterwards: on a full disk nothing must be lost of what the last one left.
        self.file.write_all_at(text.as_bytes(), 0)?;
        self.file.set_len(text.len() as u64)?;
        self.commits_at = Some(at);
        Ok(())
    }

    /// Forgets what the last holder left: another database takes the place of its own.
    pub(super) fn clear(&self) -> std::io::Result<()> {
        self.file.set_len(0)
    }

    /// Notes how many transactions are committed. Not flushed: it shows kills, not power cuts, after which it may
    /// be lower than what the database has.
    pub(super) fn note(&self, commits: i64) -> std::io::Result<()> {
        let Some(at) = self.commits_at else { return Ok(()) };
        self.file.write_all_at(format!("{commits:020}\n").as_bytes(), at)
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        if self.commits_at.is_some() {
            // Where it fails the next lab checks the database once more than it need.
            let _ = self.file.set_len(0);
        }
    }
}

/// What to do about a lab that is there already.
const ADVICE: &str = "stop that one first, or name another place: --data FOLDER, --database URL";

/// Where the lock of the database at `path` is.
pub(crate) fn place(path: &Path) -> PathBuf {
    path.with_extension("lock")
}

/// Takes the lock of a PostgreSQL database for `session`, for as long as that lives. SQLite's is a file.
pub(crate) fn hold(session: &mut dyn Session) -> Result<(), StoreError> {
    if session.dialect() == Dialect::Sqlite {
        return Ok(());
    }
    session.batch(&format!("SET lock_timeout = {}", PATIENCE.as_millis()))?;
    let taken = session.batch(&format!("SELECT pg_advisory_lock{ADVISORY}"));
    session.batch("RESET lock_timeout")?;
    match taken {
        Err(StoreError::Locked) => {
            // A database in which a lab begins for the first time has no table yet.
            let named = session.query("SELECT value FROM lab WHERE key = 'holder'", &[]).unwrap_or_default();
            let who = named.first().and_then(|row| row.text(0).ok());
            let who = who.unwrap_or_else(|| "another lab".to_owned());
            Err(StoreError::InUse(Problem::new(format!("{who} has it"), ADVICE)))
        }
        taken => taken,
    }
}

/// Takes the store over for this process: its epoch, which no lab had before.
pub(super) fn take_over(session: &mut dyn Session) -> Result<i64, StoreError> {
    session.begin(true)?;
    let epoch = next_epoch(session);
    match epoch {
        Ok(epoch) => session.commit().map(|()| epoch),
        Err(error) => {
            // The first error is more useful than one of the rollback.
            let _ = session.batch("ROLLBACK");
            Err(error)
        }
    }
}

fn next_epoch(session: &mut dyn Session) -> Result<i64, StoreError> {
    let next = epoch(session)?.saturating_add(1);
    set(session, "epoch", &next.to_string())?;
    set(session, "holder", &holder())?;
    Ok(next)
}

/// The epoch of the lab that took the store over last; 0 before the first.
pub(super) fn epoch(session: &mut dyn Session) -> Result<i64, StoreError> {
    let rows = session.query("SELECT CAST(value AS BIGINT) FROM lab WHERE key = 'epoch'", &[])?;
    rows.first().map_or(Ok(0), |row| row.int(0))
}

/// Transactions that labs have committed to a SQLite store, ever.
pub(crate) fn commits(session: &mut dyn Session) -> Result<i64, StoreError> {
    let rows = session.query("SELECT CAST(value AS BIGINT) FROM lab WHERE key = 'commits'", &[])?;
    rows.first().map_or(Ok(0), |row| row.int(0))
}

/// Writes one of the few values that describe the store.
pub(crate) fn set(session: &mut dyn Session, key: &str, value: &str) -> Result<(), StoreError> {
    let statement =
        "INSERT INTO lab (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    session.execute(statement, values![key, value]).map(drop)
}

/// This process, for people.
fn holder() -> String {
    let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("process {} on {machine}, since {} UTC,", std::process::id(), clock::wall().utc())
}

/// The permissions of group and others are the last so many bits of a mode.
const OTHERS_BITS: u32 = 6;

/// Closes a file to other users, if it is this user's.
pub(super) fn close_to_others(path: &Path) -> std::io::Result<()> {
    let found = std::fs::metadata(path)?;
    let is_closed = found.mode().trailing_zeros() >= OTHERS_BITS;
    if is_closed || found.uid() != rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    std::fs::set_permissions(path, Permissions::from_mode(found.mode() & 0o700))
}
