//! What the lab keeps, and the only place where SQL stands.
//!
//! The same statements run on SQLite and on PostgreSQL: `value` and `session` are the seam between them, `sqlite` and
//! `postgres` its two sides. All writing goes through one thread (`writer`), which commits what has gathered while the
//! last commit was on its way (group commit), and answers after that. Readers (`readers`) see what is committed.
//!
//! The other modules are functions on a [`Tx`], one module for each kind of thing that is kept.

pub(crate) mod alerts;
pub(crate) mod audit;
mod backup;
pub(crate) mod bisects;
pub(crate) mod builds;
pub(crate) mod caches;
mod changes;
mod checkpoint;
mod checksum;
pub(crate) mod commits;
pub(crate) mod counts;
mod error;
pub(crate) mod disk;
pub(crate) mod events;
#[cfg(test)]
mod faults;
pub(crate) mod figures;
pub(crate) mod files;
#[cfg(test)]
pub(crate) mod fixture;
mod footing;
pub(crate) mod hooks;
mod write_lease;
mod lock;
mod migrate;
pub(crate) mod monitors;
#[cfg(test)]
pub(crate) mod past;
#[cfg(test)]
mod plans;
mod postgres;
mod postgres_address;
mod postgres_tls;
pub(crate) mod projects;
pub(crate) mod queue;
mod readers;
pub(crate) mod repeats;
pub(crate) mod results;
pub(crate) mod retention;
pub(crate) mod search;
pub(crate) mod secrets;
pub(crate) mod series;
mod session;
pub(crate) mod settings;
mod sqlite;
pub(crate) mod statuses;
pub(crate) mod tasks;
#[cfg(test)]
mod tests;
pub(crate) mod thresholds;
pub(crate) mod tokens;
mod tx;
pub(crate) mod users;
mod value;
mod writer;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use prometheus_client::metrics::histogram::Histogram;

pub use backup::{Copied, StoreCheck, backup, check, restore};
pub(crate) use changes::Tables;
pub use error::StoreError;
pub use postgres_address::DatabaseEnvironment;
pub(crate) use postgres_address::PostgresAddress;
pub(crate) use tx::Tx;
pub(crate) use value::{Row, Value, values};

use crate::clock;
use crate::log::Log;
use crate::metrics::times;
use crate::options::StoreAddress;
use changes::Changes;
use readers::Readers;
use session::Session;
use write_lease::WriteLease;
use writer::Writer;

/// Readers at once: more than a machine's cores only wait for one another.
const READERS: usize = 4;

/// The store of a lab. Cheap to clone; the last clone closes it.
#[derive(Clone)]
pub(crate) struct Store {
    writer: Arc<Writer>,
    readers: Arc<Readers>,
    changes: Arc<Changes>,
    /// Whether it is in this process, as SQLite is.
    is_here: bool,
    notes: Arc<[String]>,
    log: Log,
    write_times: Histogram,
}

impl Store {
    /// Opens the store, brings its tables up to date and takes it over: this lab is the active one from now on.
    pub(crate) fn open(address: &StoreAddress) -> Result<Self, StoreError> {
        let (lease, notes) = WriteLease::open(address)?;
        Self::over(lease, notes, address)
    }

    fn over(lease: WriteLease, notes: Vec<String>, address: &StoreAddress) -> Result<Self, StoreError> {
        let changes = Arc::new(Changes::default());
        let readers = Arc::new(Readers::new(address.clone(), READERS));
        let log = lease.log();
        let writer = Arc::new(Writer::start(lease, Arc::clone(&changes))?);
        let is_here = matches!(address, StoreAddress::Sqlite(_));
        Ok(Self { writer, readers, changes, is_here, notes: notes.into(), log, write_times: times() })
    }

    /// Notes about its state from when it was opened, for people.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// What happens to it while the lab runs, for people.
    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    /// Does `work` in a transaction that is durable when this returns. An error of `work` undoes what it did.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let start = clock::steady();
        let done = self.writer.submit(work)?.await.map_err(|_| StoreError::Closed)?;
        self.wrote(start);
        done
    }

    /// The same for threads that may wait; never call it from asynchronous code.
    pub(crate) fn write_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let start = clock::steady();
        let done = self.writer.submit(work)?.blocking_recv().map_err(|_| StoreError::Closed)?;
        self.wrote(start);
        done
    }

    fn wrote(&self, start: Duration) {
        self.write_times.observe(clock::steady().saturating_sub(start).as_secs_f64());
    }

    /// Begins a transaction that would write, and undoes it: whether the database answers and this lab still has it. For
    /// threads that may wait.
    pub(crate) fn probe_blocking(&self) -> Result<(), StoreError> {
        /// What undoes it.
        const BEGUN: StoreError = StoreError::Closed;
        let has_begun = Arc::new(AtomicBool::new(false));
        let begun = Arc::clone(&has_begun);
        let probe = move |_: &mut Tx<'_>| {
            begun.store(true, Ordering::Release);
            Err::<(), _>(BEGUN)
        };
        let answered = self.writer.submit(probe)?.blocking_recv().map_err(|_| StoreError::Closed)?;
        if has_begun.load(Ordering::Acquire) { Ok(()) } else { answered }
    }

    /// How long writes took, from asking for one to its being durable.
    pub(crate) fn write_times(&self) -> Histogram {
        self.write_times.clone()
    }

    /// Does `work` on one snapshot of what is committed.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.readers.read(work).await
    }

    /// The same; also the tables that were read.
    pub(crate) async fn read_tables<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<(T, Tables), StoreError> {
        self.readers.read(move |tx| work(tx).map(|found| (found, tx.tables_read()))).await
    }

    /// The same for a handful of rows that are found by their keys: with SQLite that takes some microseconds, less than
    /// to have another thread do it.
    pub(crate) async fn read_few<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        if self.is_here { self.readers.read_blocking(work) } else { self.readers.read(work).await }
    }

    /// The same for threads that may wait; never call it from asynchronous code.
    pub(crate) fn read_blocking<T>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.readers.read_blocking(work)
    }

    /// Changes with every commit: what was drawn from an older one may be out of date.
    pub(crate) fn version(&self) -> u64 {
        self.changes.version()
    }

    /// Whether nobody changed any of the tables `read` since the commit `version`.
    pub(crate) fn is_unchanged(&self, version: u64, read: Tables) -> bool {
        self.changes.is_unchanged(version, read)
    }
}

/// A new session with the store at `address`.
fn connect(address: &StoreAddress) -> Result<Box<dyn Session>, StoreError> {
    Ok(match address {
        StoreAddress::Sqlite(path) => Box::new(sqlite::Sqlite::open(path)?),
        StoreAddress::Postgres(url) => Box::new(postgres::Postgres::open(url)?),
    })
}
