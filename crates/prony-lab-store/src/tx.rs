//! A transaction, as the functions of the store see it.

use super::changes::Tables;
use super::session::{Dialect, Session};
use super::{Row, StoreError, Value};

/// A transaction. It is committed or undone by who began it.
pub struct Tx<'a> {
    session: &'a mut dyn Session,
    writes: bool,
    read: Tables,
    written: Tables,
    /// Statements until now.
    #[cfg(any(test, feature = "testing"))]
    statements: usize,
}

impl<'a> Tx<'a> {
    /// In `session`; one that `writes` knows what it changed, and one that doesn't what it read.
    pub(crate) fn new(session: &'a mut dyn Session, writes: bool) -> Self {
        Self {
            session,
            writes,
            read: Tables::default(),
            written: Tables::default(),
            #[cfg(any(test, feature = "testing"))]
            statements: 0,
        }
    }

    /// Statements until now.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn statements(&self) -> usize {
        self.statements
    }

    /// The tables that were read until now, where it only reads.
    pub(super) fn tables_read(&self) -> Tables {
        self.read
    }

    /// The tables that were changed until now, where it writes.
    pub(super) fn tables_written(&self) -> Tables {
        self.written
    }

    /// Which database it is, for the few statements that differ.
    pub(super) fn dialect(&self) -> Dialect {
        self.session.dialect()
    }

    /// Does `read`, whose answers no build changes that still waits as it was accepted: what is drawn from them stays good
    /// while builds are only requested.
    pub(crate) fn apart_from_accepted<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::take(&mut self.read);
        let result = read(self);
        self.read = self.read.without_accepted();
        self.read.add(before);
        result
    }

    fn names(&mut self, statement: &str) {
        #[cfg(any(test, feature = "testing"))]
        {
            self.statements += 1;
        }
        if self.writes {
            self.written.add(Tables::written(statement));
        } else {
            self.read.add(Tables::named(statement));
        }
    }

    /// Rows that `statement` changed.
    pub fn execute(&mut self, statement: &str, values: &[Value]) -> Result<u64, StoreError> {
        self.names(statement);
        self.session.execute(statement, values)
    }

    /// Every row of the answer, through `read`.
    pub fn query<T>(
        &mut self,
        statement: &str,
        values: &[Value],
        read: impl Fn(&Row) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        self.names(statement);
        let mut all = Vec::new();
        self.session.each(statement, values, &mut |row| {
            all.push(read(&row)?);
            Ok(())
        })?;
        Ok(all)
    }

    /// The first row of the answer, if there is one.
    pub fn first<T>(
        &mut self,
        statement: &str,
        values: &[Value],
        read: impl Fn(&Row) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        self.names(statement);
        self.session.query(statement, values)?.first().map(read).transpose()
    }

    /// The number in the only column of the only row: a count, or what `RETURNING id` answers.
    pub fn number(&mut self, statement: &str, values: &[Value]) -> Result<i64, StoreError> {
        let found = self.first(statement, values, |row| row.int(0))?;
        found.ok_or_else(|| StoreError::Fault(format!("no row from {statement}")))
    }
}

/// Whether the store answers.
pub fn ping(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    tx.number("SELECT 1", &[]).map(drop)
}
