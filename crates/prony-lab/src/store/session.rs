//! The seam between the two databases.

use super::{Row, StoreError, Value};

/// One connection to a database. Statements have their parameters as `$1`, `$2`, … and must mean the same to both.
pub(super) trait Session: Send {
    /// Runs a statement; rows that it changed.
    fn execute(&mut self, statement: &str, values: &[Value]) -> Result<u64, StoreError>;

    /// Runs a statement; rows that it answers.
    fn query(&mut self, statement: &str, values: &[Value]) -> Result<Vec<Row>, StoreError>;

    /// Runs several statements without parameters.
    fn batch(&mut self, statements: &str) -> Result<(), StoreError>;

    /// Begins a transaction that will write, or one that only reads.
    fn begin(&mut self, writes: bool) -> Result<(), StoreError>;

    /// Makes the transaction durable.
    fn commit(&mut self) -> Result<(), StoreError>;

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
