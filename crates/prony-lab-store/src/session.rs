//! The seam between the two databases.

use super::{Row, StoreError, Value};

/// One connection to a database. Statements have their parameters as `$1`, `$2`, … and must mean the same to both.
pub(crate) trait Session: Send {
    /// Runs a statement; rows that it changed.
    fn execute(&mut self, statement: &str, values: &[Value]) -> Result<u64, StoreError>;

    /// Runs a statement, and shows each row that it answers to `read`, which may end that with an error. So a long
    /// answer is never there twice.
    fn each(
        &mut self,
        statement: &str,
        values: &[Value],
        read: &mut dyn FnMut(Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;

    /// Runs a statement; rows that it answers.
    fn query(&mut self, statement: &str, values: &[Value]) -> Result<Vec<Row>, StoreError> {
        let mut rows = Vec::new();
        self.each(statement, values, &mut |row| {
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }

    /// Runs several statements without parameters.
    fn batch(&mut self, statements: &str) -> Result<(), StoreError>;

    /// Begins a transaction that will write, or one that only reads.
    fn begin(&mut self, writes: bool) -> Result<(), StoreError>;

    /// Makes the transaction durable.
    fn commit(&mut self) -> Result<(), StoreError>;

    /// A point to which [`rollback_to`](Self::rollback_to) undoes; `renew` moves the one that there is.
    fn savepoint(&mut self, renew: bool) -> Result<(), StoreError> {
        self.batch(if renew { "RELEASE job; SAVEPOINT job" } else { "SAVEPOINT job" })
    }

    /// Undoes what was done since [`savepoint`](Self::savepoint), whose point stays.
    fn rollback_to(&mut self) -> Result<(), StoreError> {
        self.batch("ROLLBACK TO job")
    }

    /// The number by which the transaction under way that writes is known to others, where it has one.
    fn xid(&self) -> Option<i64> {
        None
    }

    /// Whether the transaction `xid` of a session that was lost counts. Nothing: it is not decided yet.
    fn commit_status(&mut self, _xid: i64) -> Result<Option<bool>, StoreError> {
        Ok(None)
    }

    /// Which of the two it is, for the few statements that differ.
    fn dialect(&self) -> Dialect;

    /// Whether the connection is beyond use and a new one must be made.
    fn is_lost(&self) -> bool;
}

/// Which database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Sqlite,
    Postgres,
}

impl Dialect {
    /// What stands after a text that is to be compared byte by byte, so that all that begins alike stands together.
    pub(super) fn bytewise(self) -> &'static str {
        match self {
            // That is how it compares unless asked for something else.
            Self::Sqlite => "",
            Self::Postgres => "COLLATE \"C\"",
        }
    }
}
