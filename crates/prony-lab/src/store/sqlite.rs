//! SQLite's side of the seam.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, params_from_iter};

use super::session::{Dialect, Session};
use super::{Row, StoreError, Value};

/// How long a statement waits for another program's lock, such as that of a backup.
const BUSY: Duration = Duration::from_secs(5);
/// More statements than the lab has.
const STATEMENTS: usize = 256;

pub(super) struct Sqlite {
    connection: Connection,
}

impl Sqlite {
    /// Opens the database at `path`, or makes it.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let failed = |error: &rusqlite::Error| match from_sqlite(error) {
            StoreError::Fault(message) | StoreError::Unavailable(message) => {
                StoreError::Open { path: PathBuf::from(path), message }
            }
            other => other,
        };
        let connection = Connection::open(path).map_err(|error| failed(&error))?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        connection.busy_timeout(BUSY).map_err(|error| failed(&error))?;
        // WAL: readers never wait for the writer. FULL: a commit has reached the disk when it returns.
        connection
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; \
                 PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8000; PRAGMA journal_size_limit = 67108864; \
                 PRAGMA trusted_schema = OFF;",
            )
            .map_err(|error| failed(&error))?;
        Ok(Self { connection })
    }
}

impl Session for Sqlite {
    fn execute(&mut self, statement: &str, values: &[Value]) -> Result<u64, StoreError> {
        let mut prepared =
            self.connection.prepare_cached(&numbered(statement)).map_err(|error| from_sqlite(&error))?;
        let changed = prepared.execute(params_from_iter(values)).map_err(|error| from_sqlite(&error))?;
        Ok(changed as u64)
    }

    fn query(&mut self, statement: &str, values: &[Value]) -> Result<Vec<Row>, StoreError> {
        let failed = |error: rusqlite::Error| from_sqlite(&error);
        let mut prepared = self.connection.prepare_cached(&numbered(statement)).map_err(failed)?;
        let columns = prepared.column_count();
        let mut found = prepared.query(params_from_iter(values)).map_err(failed)?;
        let mut rows = Vec::new();
        while let Some(row) = found.next().map_err(failed)? {
            let value = |column| row.get_ref(column).map_err(failed).map(value);
            rows.push(Row((0..columns).map(value).collect::<Result<_, _>>()?));
        }
        Ok(rows)
    }

    fn batch(&mut self, statements: &str) -> Result<(), StoreError> {
        self.connection.execute_batch(statements).map_err(|error| from_sqlite(&error))
    }

    fn begin(&mut self, writes: bool) -> Result<(), StoreError> {
        self.batch(if writes { "BEGIN IMMEDIATE" } else { "BEGIN" })
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.batch("COMMIT")
    }

    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn is_lost(&self) -> bool {
        false
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

fn from_sqlite(error: &rusqlite::Error) -> StoreError {
    let rusqlite::Error::SqliteFailure(code, _) = error else {
        return StoreError::Fault(error.to_string());
    };
    match code.code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Locked,
        ErrorCode::DiskFull => StoreError::Full,
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => StoreError::Damaged(error.to_string()),
        ErrorCode::SystemIoFailure
        | ErrorCode::CannotOpen
        | ErrorCode::ReadOnly
        | ErrorCode::PermissionDenied => StoreError::Unavailable(error.to_string()),
        ErrorCode::ConstraintViolation => StoreError::Conflict(error.to_string()),
        _ => StoreError::Fault(error.to_string()),
    }
}
