//! One active lab for each store: a lock that ends with the process that has it, and an epoch that grows with every
//! lab that takes the store over.
//!
//! SQLite: a lock on a file beside the database, in which its holder is named. The name is removed by an end in good
//! order, so a name that is still there tells of one that was not. PostgreSQL: an advisory lock of the session that
//! writes; its server lets go of it when that session is gone.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::session::{Dialect, Session};
use super::value::values;
use super::{StoreError, sqlite};
use crate::clock;

/// Names the lock among the advisory locks of a PostgreSQL database: "prony" and "lab" as numbers.
const ADVISORY: &str = "(112114, 976152)";
/// How long a PostgreSQL may take to notice that a killed lab is gone.
const PATIENCE_MS: u32 = 3000;
/// A name of a process and its machine is shorter.
const MOST_NAME_BYTES: u64 = 512;

/// The lock on a SQLite database. Dropping it ends it in good order.
#[derive(Debug)]
pub(super) struct FileLock {
    file: File,
}

impl FileLock {
    /// Takes the lock of the database at `path`; also whether its last holder was killed.
    pub(super) fn take(path: &Path) -> Result<(Self, bool), StoreError> {
        let place = place(path);
        let failed =
            |error: std::io::Error| StoreError::Open { path: place.clone(), message: error.to_string() };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(sqlite::FILE_MODE)
            .open(&place)
            .map_err(failed)?;
        let mut last = String::new();
        let locked = file.try_lock();
        (&file).take(MOST_NAME_BYTES).read_to_string(&mut last).map_err(failed)?;
        match locked {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let who = if last.is_empty() { "another lab" } else { last.trim_end() };
                return Err(StoreError::InUse(format!("{who} has it; {ADVICE}")));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        file.set_len(0).and_then(|()| file.write_all(holder().as_bytes())).map_err(failed)?;
        Ok((Self { file }, !last.is_empty()))
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Where it fails the next lab looks at the database once more than it need.
        let _ = self.file.set_len(0);
    }
}

/// What to do about a lab that is there already.
const ADVICE: &str = "stop that one first, or name another place: --data FOLDER, --database URL";

/// Where the lock of the database at `path` is.
pub(super) fn place(path: &Path) -> PathBuf {
    path.with_extension("lock")
}

/// Takes the lock of a PostgreSQL database for `session`, for as long as that lives. SQLite's is a file.
pub(super) fn hold(session: &mut dyn Session) -> Result<(), StoreError> {
    if session.dialect() == Dialect::Sqlite {
        return Ok(());
    }
    session.batch(&format!("SET lock_timeout = {PATIENCE_MS}"))?;
    let taken = session.batch(&format!("SELECT pg_advisory_lock{ADVISORY}"));
    session.batch("RESET lock_timeout")?;
    match taken {
        Err(StoreError::Locked) => {
            // A database in which a lab begins for the first time has no table yet.
            let named = session.query("SELECT value FROM lab WHERE key = 'holder'", &[]).unwrap_or_default();
            let who = named.first().and_then(|row| row.text(0).ok());
            let who = who.unwrap_or_else(|| "another lab".to_owned());
            Err(StoreError::InUse(format!("{who} has it; {ADVICE}")))
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
            // The first error says more than one of the rollback.
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

/// Writes down one of the few words that the store has about itself.
pub(super) fn set(session: &mut dyn Session, key: &str, value: &str) -> Result<(), StoreError> {
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
