//! SQLite's side of the seam.

use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, params_from_iter};

use super::backup::beside;
use super::lock::close_to_others;
use super::session::{Dialect, Session};
use super::{Row, StoreError, Value};
use prony_lab_model::clock;

/// What is kept is nobody else's: passwords' hashes, tokens' hashes, builds of closed sources.
pub(super) const FILE_MODE: u32 = 0o600;
/// How long a statement waits for another program's lock, such as that of a backup.
pub(crate) const BUSY: Duration = Duration::from_secs(5);
/// Steps of SQLite's machine between two reads of the clock: some tenths of a millisecond.
const STEPS: std::ffi::c_int = 10_000;
/// More statements than the lab has.
const STATEMENTS: usize = 256;

/// How every connection is set up.
const SETTINGS: &str = "PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -2000; \
                        PRAGMA trusted_schema = OFF;";

pub(crate) struct Sqlite {
    connection: Connection,
}

impl Sqlite {
    /// Opens the database at `path`, which is there: see [`make_file`].
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        // WAL: readers never wait for the writer. FULL: a commit has reached the disk when it returns.
        let writing = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864; \
                       PRAGMA wal_autocheckpoint = 0;";
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Self::opened(path, path.as_os_str(), flags, &format!("{writing} {SETTINGS}"))
    }

    /// Opens the database at `path` for reading alone, with the index of its log in memory: on a full disk the file of
    /// that index can't grow. Nobody in this process may have it open for writing meanwhile.
    pub(super) fn open_read_only(path: &Path) -> Result<Self, StoreError> {
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Self::opened(path, &read_only_uri(path), flags, SETTINGS)
    }

    fn opened(path: &Path, name: &OsStr, flags: OpenFlags, settings: &str) -> Result<Self, StoreError> {
        let failed = |error: &rusqlite::Error| match from_sqlite(error) {
            StoreError::Fault(message) | StoreError::Unavailable(message) => {
                StoreError::Open { path: PathBuf::from(path), message }
            }
            other => other,
        };
        let connection = Connection::open_with_flags(name, flags).map_err(|error| failed(&error))?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        // Else a statement with `LIMIT $1`, or with a value that could choose an index, is compiled again for each value.
        connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
            .map_err(|error| failed(&error))?;
        connection.busy_timeout(BUSY).map_err(|error| failed(&error))?;
        connection.execute_batch(settings).map_err(|error| failed(&error))?;
        Ok(Self::over(connection))
    }

    /// Over a connection as it is.
    pub(crate) fn over(connection: Connection) -> Self {
        Self { connection }
    }

    /// Several statements whose answers nobody wants.
    pub(crate) fn run(&self, statements: &str) -> Result<(), StoreError> {
        self.connection.execute_batch(statements).map_err(|error| from_sqlite(&error))
    }
}

/// Makes the file of a database, where it is not there yet, and closes it to other users. SQLite gives the files that
/// it makes beside it the same mode.
///
/// Only before the first connection, and a file that is there is never opened: closing any descriptor of a file ends
/// every lock that this process has on it, SQLite's among them.
pub(super) fn make_file(path: &Path) -> Result<(), StoreError> {
    let unfit =
        |error: std::io::Error| StoreError::Open { path: path.to_owned(), message: error.to_string() };
    match OpenOptions::new().append(true).create_new(true).mode(FILE_MODE).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => close_to_others(path).map_err(unfit),
        Err(error) => Err(unfit(error)),
    }
}

/// Makes the files of the log beside the database at `path`, empty, where they are not there: SQLite reads no database
/// without them. Only before the first connection, as [`make_file`].
pub(super) fn make_log_files(path: &Path) -> std::io::Result<()> {
    for suffix in ["-wal", "-shm"] {
        let place = beside(path, suffix);
        match OpenOptions::new().append(true).create_new(true).mode(FILE_MODE).open(place) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// The name of the database at `path` for a connection that keeps the index of the log in memory.
fn read_only_uri(path: &Path) -> OsString {
    // An absolute path follows the host of the URI, which is empty.
    let mut uri = OsString::from(if path.is_absolute() { "file://" } else { "file:" });
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            uri.push(OsStr::from_bytes(&[byte]));
        } else {
            uri.push(format!("%{byte:02x}"));
        }
    }
    uri.push("?readonly_shm=1");
    uri
}

impl Session for Sqlite {
    fn execute(&mut self, statement: &str, values: &[Value]) -> Result<u64, StoreError> {
        let failed = |error: rusqlite::Error| from_sqlite(&error);
        let mut prepared = self.connection.prepare_cached(&numbered(statement)).map_err(failed)?;
        let changed = prepared.execute(params_from_iter(values)).map_err(failed)?;
        Ok(changed as u64)
    }

    fn each(
        &mut self,
        statement: &str,
        values: &[Value],
        read: &mut dyn FnMut(Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let failed = |error: rusqlite::Error| from_sqlite(&error);
        let mut prepared = self.connection.prepare_cached(&numbered(statement)).map_err(failed)?;
        let columns = prepared.column_count();
        let mut found = prepared.query(params_from_iter(values)).map_err(failed)?;
        while let Some(row) = found.next().map_err(failed)? {
            // Collecting results would not know how many, and grow with each.
            let mut values = Vec::with_capacity(columns);
            for column in 0..columns {
                values.push(value(row.get_ref(column).map_err(failed)?));
            }
            read(Row(values))?;
        }
        Ok(())
    }

    fn batch(&mut self, statements: &str) -> Result<(), StoreError> {
        // What begins, saves and ends transactions is there every time.
        if !statements.contains(';') {
            return self.execute(statements, &[]).map(drop);
        }
        self.run(statements)
    }

    fn begin(&mut self, writes: bool) -> Result<(), StoreError> {
        self.batch(if writes { "BEGIN IMMEDIATE" } else { "BEGIN" })
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.batch("COMMIT")
    }

    fn savepoint(&mut self, renew: bool) -> Result<(), StoreError> {
        if renew {
            self.batch("RELEASE job")?;
        }
        self.batch("SAVEPOINT job")
    }

    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn is_lost(&self) -> bool {
        false
    }
}

/// Checks whether the database at `path` is whole, for at most `limit`; whether all of it was seen.
pub(super) fn quick_check(path: &Path, limit: Duration) -> Result<bool, StoreError> {
    let mut session = Sqlite::open(path)?;
    let until = clock::steady() + limit;
    let failed = |error: rusqlite::Error| from_sqlite(&error);
    session.connection.progress_handler(STEPS, Some(move || clock::steady() > until)).map_err(failed)?;
    match session.connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0)) {
        Ok(report) if report == "ok" => Ok(true),
        Ok(report) => Err(StoreError::Damaged(report)),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => Ok(false),
        Err(error) => Err(failed(error)),
    }
}

/// SQLite numbers `$1` by where it first stands, and `?1` by its number, which is what is meant.
fn numbered(statement: &str) -> String {
    statement.replace('$', "?")
}

impl rusqlite::ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        use rusqlite::types::ToSqlOutput::Borrowed;
        Ok(Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(value) => ValueRef::Integer(*value),
            Self::Real(value) => ValueRef::Real(*value),
            Self::Text(value) => ValueRef::Text(value.as_bytes()),
            Self::Bytes(value) => ValueRef::Blob(value),
        }))
    }
}

fn value(found: ValueRef<'_>) -> Value {
    match found {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Int(value),
        ValueRef::Real(value) => Value::Real(value),
        ValueRef::Text(value) => Value::Text(String::from_utf8_lossy(value).into_owned()),
        ValueRef::Blob(value) => Value::Bytes(value.to_vec()),
    }
}

pub(super) fn from_sqlite(error: &rusqlite::Error) -> StoreError {
    let rusqlite::Error::SqliteFailure(code, _) = error else {
        return StoreError::Fault(error.to_string());
    };
    match code.code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Locked,
        ErrorCode::DiskFull => StoreError::Full,
        // The index of the log can't grow, for which the disk being full is the reason.
        ErrorCode::SystemIoFailure if code.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE => {
            StoreError::Full
        }
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => StoreError::Damaged(error.to_string()),
        ErrorCode::SystemIoFailure
        | ErrorCode::CannotOpen
        | ErrorCode::ReadOnly
        | ErrorCode::PermissionDenied => StoreError::Unavailable(error.to_string()),
        ErrorCode::ConstraintViolation => StoreError::Conflict(error.to_string()),
        _ => StoreError::Fault(error.to_string()),
    }
}
