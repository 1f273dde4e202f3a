//! Copies of a store, the way back, and a check of all of it.
//!
//! A copy is made while a lab runs, of one moment: SQLite's backup takes all pages in one reading transaction, which
//! holds up nobody. It has its name only when it is whole and on the disk. PostgreSQL has programs of its own for this.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::checksum::{self, Checked};
use super::lock::{self, FileLock};
use super::postgres_address::without_password;
use super::session::Session;
use super::sqlite::{self, Sqlite, from_sqlite};
use super::{StoreError, Tx, audit, connect, migrate};
use prony_lab_model::clock;
use prony_lab_model::options::StoreAddress;

/// What marks a copy that is not whole yet.
const UNFINISHED: &str = ".unfinished";
/// All pages at once: a copy in parts begins again whenever somebody writes in between.
const ALL_PAGES: std::ffi::c_int = -1;
/// More lines of what is wrong help nobody.
const LINES_MAX: u32 = 20;

/// A copy that was made or taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// Its length.
    pub size_bytes: u64,
    /// Builds in it.
    pub builds: u64,
    /// How long it took.
    pub took: Duration,
    /// Where the store is kept that was there before.
    pub kept: Option<PathBuf>,
}

/// What the check of a store found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreCheck {
    /// What is wrong, a line each; empty where it is whole.
    pub faults: Vec<String>,
    /// Builds in it.
    pub builds: u64,
    /// Builds that are over, files and pieces of outputs that were compared with their checksums.
    pub compared: u64,
    /// Those without a checksum: they are older than checksums.
    pub without: u64,
    /// Whether the pages of its database were looked at; PostgreSQL does that itself.
    pub has_pages: bool,
    /// How long it took.
    pub took: Duration,
}

/// Copies the store at `address` to the file `to`, which must not be there yet. A lab may run meanwhile.
pub fn backup(address: &StoreAddress, to: &Path) -> Result<Copied, StoreError> {
    let from = match address {
        StoreAddress::Sqlite(path) => path,
        StoreAddress::Postgres(url) => {
            let command =
                format!("pg_dump --format=custom --file='{}' '{}'", to.display(), without_password(url));
            return Err(StoreError::ExternalTool { what: "back up".to_owned(), command });
        }
    };
    let begun = clock::steady();
    if to.exists() {
        return Err(unfit(to, "it is there already"));
    }
    let source = existing(from)?;
    let (unfinished, builds) = copy(&source, to)?;
    renameat_with(CWD, &unfinished, CWD, to, RenameFlags::NOREPLACE).and_then(|()| sync_folder(to)).map_err(
        |error| {
            // The first error is more useful than one of the removal.
            let _ = std::fs::remove_file(&unfinished);
            unfit(to, &io::Error::from(error).to_string())
        },
    )?;
    Ok(Copied { size_bytes: length(to)?, builds, took: clock::steady().saturating_sub(begun), kept: None })
}

/// Puts the copy `from` in the place of the store at `address`, which no lab may have; the store that was there stays
/// beside it. The epoch goes on from the higher of the two.
pub fn restore(address: &StoreAddress, from: &Path) -> Result<Copied, StoreError> {
    let to = match address {
        StoreAddress::Sqlite(path) => path,
        StoreAddress::Postgres(url) => {
            let command = format!(
                "pg_restore --clean --if-exists --dbname='{}' '{}'",
                without_password(url),
                from.display()
            );
            return Err(StoreError::ExternalTool { what: "restore".to_owned(), command });
        }
    };
    let begun = clock::steady();
    let source = existing(from)?;
    if let Some(fault) = faults(&source)?.into_iter().next() {
        return Err(StoreError::Damaged(format!("{}: {fault}", from.display())));
    }
    let (lock, _) = FileLock::take(to)?;
    let epoch = if to.exists() { settled(to) } else { 0 };
    let (unfinished, builds) = copy(&source, to)?;
    let mut session = Sqlite::open(&unfinished)?;
    let is_lab = migrate::version(&mut session).and_then(|_| lock::epoch(&mut session));
    let is_set = is_lab.and_then(|found| lock::set(&mut session, "epoch", &found.max(epoch).to_string()));
    let is_single = is_set.and_then(|()| single_file(&session));
    drop(session);
    let replaced = is_single.and_then(|()| replace(&unfinished, to));
    let kept = replaced.inspect_err(|_| {
        let _ = std::fs::remove_file(&unfinished);
    })?;
    lock.clear().map_err(|error| unfit(&lock::place(to), &error.to_string()))?;
    drop(lock);
    Ok(Copied { size_bytes: length(to)?, builds, took: clock::steady().saturating_sub(begun), kept })
}

/// Looks at all of the store at `address`. A lab may run meanwhile.
pub fn check(address: &StoreAddress) -> Result<StoreCheck, StoreError> {
    let begun = clock::steady();
    let (mut session, mut faults): (Box<dyn Session>, _) = match address {
        StoreAddress::Sqlite(path) => {
            let source = existing(path)?;
            let faults = faults(&source)?;
            (Box::new(Sqlite::over(source)), faults)
        }
        // PostgreSQL checks its pages itself (data checksums, pg_amcheck).
        StoreAddress::Postgres(_) => (connect(address)?, Vec::new()),
    };
    let version = migrate::version(session.as_mut())?;
    let builds = counted(session.as_mut())?;
    session.begin(false)?;
    let mut tx = Tx::new(session.as_mut(), false);
    if let Some(entry) = audit::check(&mut tx)?.broken_at {
        faults.push(format!("entry {entry} of the audit log was changed, or one before it was removed"));
    }
    let checked = if version >= migrate::CHECKSUMS {
        checksum::check(&mut tx, LINES_MAX as usize)?
    } else {
        // No lab with checksums has opened it yet.
        Checked { without: builds, ..Checked::default() }
    };
    faults.extend(checked.faults);
    Ok(StoreCheck {
        faults,
        builds,
        compared: checked.compared,
        without: checked.without,
        has_pages: matches!(address, StoreAddress::Sqlite(_)),
        took: clock::steady().saturating_sub(begun),
    })
}

/// The database at `path`, which must be there.
fn existing(path: &Path) -> Result<Connection, StoreError> {
    if !path.is_file() {
        return Err(StoreError::Missing(format!("the store {}; is the path right?", path.display())));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|error| from_sqlite(&error))?;
    connection.busy_timeout(sqlite::BUSY).map_err(|error| from_sqlite(&error))?;
    let statement = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name IN ('lab', 'builds')";
    let tables: i64 =
        connection.query_row(statement, [], |row| row.get(0)).map_err(|error| from_sqlite(&error))?;
    if tables == 2 {
        return Ok(connection);
    }
    Err(StoreError::Missing(format!("a store of a lab in {}; is the path right?", path.display())))
}

/// What SQLite finds wrong with all of a database.
fn faults(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let failed = |error: rusqlite::Error| from_sqlite(&error);
    let mut prepared = connection.prepare(&format!("PRAGMA integrity_check({LINES_MAX})")).map_err(failed)?;
    let lines = prepared.query_map([], |row| row.get::<_, String>(0)).map_err(failed)?;
    let mut found: Vec<String> = lines.collect::<Result<_, _>>().map_err(failed)?;
    found.retain(|line| line != "ok");
    let mut prepared = connection.prepare("PRAGMA foreign_key_check").map_err(failed)?;
    let orphans = prepared.query_map([], |row| {
        let (table, parent) = (row.get::<_, String>(0)?, row.get::<_, String>(2)?);
        Ok(format!("a row of {table} belongs to one of {parent} that isn't there"))
    });
    for orphan in orphans.map_err(failed)?.take(LINES_MAX as usize) {
        found.push(orphan.map_err(failed)?);
    }
    Ok(found)
}

/// Makes a copy beside `to` that is whole and on the disk; also how many builds it has.
fn copy(source: &Connection, to: &Path) -> Result<(PathBuf, u64), StoreError> {
    let mut name = to.as_os_str().to_owned();
    name.push(UNFINISHED);
    let unfinished = PathBuf::from(name);
    // What a killed copy left.
    if let Err(error) = std::fs::remove_file(&unfinished)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(unfit(&unfinished, &error.to_string()));
    }
    let made = fill(source, &unfinished).and_then(|builds| {
        let synced = File::open(&unfinished).and_then(|file| file.sync_all());
        synced.map(|()| builds).map_err(|error| unfit(&unfinished, &error.to_string()))
    });
    match made {
        Ok(builds) => Ok((unfinished, builds)),
        Err(error) => {
            // The first error is more useful than one of the removal.
            let _ = std::fs::remove_file(&unfinished);
            Err(error)
        }
    }
}

fn fill(source: &Connection, path: &Path) -> Result<u64, StoreError> {
    let failed = |error: rusqlite::Error| from_sqlite(&error);
    sqlite::make_file(path)?;
    let mut copy = Connection::open(path).map_err(failed)?;
    let step = Backup::new(source, &mut copy).and_then(|backup| backup.step(ALL_PAGES)).map_err(failed)?;
    if !matches!(step, StepResult::Done) {
        return Err(StoreError::Locked);
    }
    let mut copy = Sqlite::over(copy);
    single_file(&copy)?;
    if !copy
        .query("PRAGMA quick_check(1)", &[])?
        .iter()
        .all(|row| row.text(0).is_ok_and(|report| report == "ok"))
    {
        return Err(StoreError::Damaged("what was copied is not whole".to_owned()));
    }
    counted(&mut copy)
}

/// Without the files beside it that a database has while it is used.
fn single_file(session: &Sqlite) -> Result<(), StoreError> {
    session.run("PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL")
}

fn counted(session: &mut dyn Session) -> Result<u64, StoreError> {
    let rows = session.query("SELECT COUNT(*) FROM builds", &[])?;
    rows.first().map_or(Ok(0), |row| row.int(0)).map(i64::cast_unsigned)
}

/// Brings the store at `path` into one file, as far as it can still be read; its epoch, or 0.
fn settled(path: &Path) -> i64 {
    let Ok(mut session) = Sqlite::open(path) else { return 0 };
    let epoch = lock::epoch(&mut session).unwrap_or(0);
    // A damaged store keeps its log beside it.
    let _ = single_file(&session);
    epoch
}

/// Gives `new` the name `place`; what had it is kept beside it under another. There is a store at every moment.
fn replace(new: &Path, place: &Path) -> Result<Option<PathBuf>, StoreError> {
    let failed = |error: io::Error| unfit(place, &error.to_string());
    let kept = place.exists().then(|| stamped(place, "before"));
    if let Some(kept) = &kept {
        std::fs::hard_link(place, kept).map_err(failed)?;
        for end in ["-wal", "-shm"] {
            let log = beside(place, end);
            if log.exists() {
                std::fs::rename(&log, beside(kept, end)).map_err(failed)?;
            }
        }
    }
    std::fs::rename(new, place).map_err(failed)?;
    sync_folder(place).map_err(|error| unfit(place, &error.to_string()))?;
    Ok(kept)
}

/// The name of a file that is kept beside the store at `path`, after what it is and when that was.
pub(super) fn stamped(path: &Path, what: &str) -> PathBuf {
    let stamp: String = clock::wall().rfc3339().chars().filter(char::is_ascii_alphanumeric).collect();
    beside(path, &format!(".{what}-{stamp}"))
}

/// `path` with another end.
pub(crate) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// A name is on the disk when its folder is.
fn sync_folder(path: &Path) -> Result<(), rustix::io::Errno> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let opened = rustix::fs::open(folder, rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty())?;
    rustix::fs::fsync(opened)
}

fn length(path: &Path) -> Result<u64, StoreError> {
    std::fs::metadata(path).map(|found| found.len()).map_err(|error| unfit(path, &error.to_string()))
}

fn unfit(path: &Path, why: &str) -> StoreError {
    StoreError::Copy { path: path.to_owned(), message: why.to_owned() }
}
