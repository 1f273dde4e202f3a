//! What the lab keeps, and the only place where SQL stands.
//!
//! The same statements run on SQLite and on PostgreSQL: `value` and `session` are the seam between them, `sqlite` and
//! `postgres` its two sides. All writing goes through one thread (`writer`), which commits what has gathered while the
//! last commit was on its way (group commit), and answers after that. Readers (`readers`) see what is committed.
//!
//! The other modules are functions on a [`Tx`], one module for each kind of thing that is kept.
//!
//! This crate must never decide what people may do: it keeps what prony-lab-core hands it.

#![forbid(unsafe_code)]

pub mod agent_runs;
pub mod alerts;
pub mod audit;
pub mod background;
mod backup;
pub mod bisects;
pub mod builds;
pub mod caches;
mod changes;
mod checkpoint;
mod checksum;
pub mod commits;
pub mod counts;
mod error;
mod erased;
pub mod disk;
pub mod events;
#[cfg(test)]
mod faults;
pub mod figures;
pub mod files;
#[cfg(any(test, feature = "testing"))]
pub mod fixture;
mod footing;
pub mod hooks;
mod kept;
mod write_lease;
mod lock;
mod migrate;
pub mod monitors;
#[cfg(any(test, feature = "testing"))]
pub mod past;
#[cfg(test)]
mod plans;
mod postgres;
mod postgres_address;
mod postgres_tls;
pub mod projects;
pub mod queue;
mod readers;
pub mod repeats;
pub mod results;
pub mod retention;
pub mod search;
pub mod secrets;
pub mod series;
mod session;
pub mod settings;
mod sqlite;
pub mod statuses;
mod takeover;
pub mod tasks;
#[cfg(test)]
mod tests;
pub mod thresholds;
pub mod tokens;
mod tx;
pub mod users;
mod value;
mod waiting;
mod writer;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use prometheus_client::metrics::histogram::Histogram;

pub use backup::{Copied, StoreCheck, backup, check, restore};
pub use changes::Tables;
pub use error::StoreError;
pub use kept::Kept;
pub use postgres_address::{DatabaseEnvironment, database_addresses};
pub use tx::{Tx, ping};
pub use value::{Row, Value};

use changes::Changes;
use erased::{erased, restored};
use prony_lab_model::clock;
use prony_lab_model::log::Log;
use prony_lab_model::options::StoreAddress;
use readers::Readers;
use session::Session;
use write_lease::WriteLease;
use writer::Writer;

/// Readers at once: more than a machine's cores only wait for one another.
const READERS: usize = 4;
/// Bounds of times, seconds: from what a page of a quiet lab takes to what nobody waits for.
const BOUNDS_S: [f64; 14] =
    [0.000_25, 0.000_5, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.125, 0.25, 0.5, 1.0, 4.0];

/// The store of a lab. Cheap to clone; the last clone closes it.
#[derive(Clone)]
pub struct Store {
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
    pub fn open(address: &StoreAddress) -> Result<Self, StoreError> {
        let (lease, notes) = WriteLease::open(address)?;
        Self::over(lease, notes, address)
    }

    fn over(mut lease: WriteLease, notes: Vec<String>, address: &StoreAddress) -> Result<Self, StoreError> {
        let changes = Arc::new(Changes::default());
        let readers = Arc::new(Readers::new(address.clone(), READERS, lease.is_waiting()));
        lease.set_readers(readers.shared());
        let log = lease.log();
        let writer = Arc::new(Writer::start(lease, Arc::clone(&changes))?);
        let is_here = matches!(address, StoreAddress::Sqlite(_));
        Ok(Self { writer, readers, changes, is_here, notes: notes.into(), log, write_times: times() })
    }

    /// Notes about its state from when it was opened, for people.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// What happens to it while the lab runs, for people.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Does `work` in a transaction that is durable when this returns. An error of `work` undoes what it did.
    pub async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let start = clock::steady();
        let done = self.writer.submit(erased(work))?.await.map_err(|_| StoreError::Closed)?;
        self.wrote(start);
        done.map(restored)
    }

    /// The same for threads that may wait; never call it from asynchronous code.
    pub fn write_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let start = clock::steady();
        let done = self.writer.submit(erased(work))?.blocking_recv().map_err(|_| StoreError::Closed)?;
        self.wrote(start);
        done.map(restored)
    }

    fn wrote(&self, start: Duration) {
        self.write_times.observe(clock::steady().saturating_sub(start).as_secs_f64());
    }

    /// Begins a transaction that would write, and undoes it: whether the database answers and this lab still has it. For
    /// threads that may wait.
    pub fn probe_blocking(&self) -> Result<(), StoreError> {
        /// What undoes it.
        const BEGUN: StoreError = StoreError::Closed;
        let has_begun = Arc::new(AtomicBool::new(false));
        let begun = Arc::clone(&has_begun);
        let probe = move |_: &mut Tx<'_>| {
            begun.store(true, Ordering::Release);
            Err::<(), _>(BEGUN)
        };
        let answered = self.writer.submit(erased(probe))?.blocking_recv().map_err(|_| StoreError::Closed)?;
        if has_begun.load(Ordering::Acquire) { Ok(()) } else { answered.map(drop) }
    }

    /// How long writes took, from asking for one to its being durable.
    pub fn write_times(&self) -> Histogram {
        self.write_times.clone()
    }

    /// Does `work` on one snapshot of what is committed.
    pub async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.readers.read(erased(work)).await.map(restored)
    }

    /// The same; also the tables that were read.
    pub async fn read_tables<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<(T, Tables), StoreError> {
        let work = move |tx: &mut Tx<'_>| work(tx).map(|found| (found, tx.tables_read()));
        self.readers.read(erased(work)).await.map(restored)
    }

    /// The same for a handful of rows that are found by their keys: with SQLite that takes some microseconds, less than
    /// to have another thread do it.
    pub async fn read_few<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        if self.is_here { self.read_blocking(work) } else { self.read(work).await }
    }

    /// The same for threads that may wait; never call it from asynchronous code.
    pub fn read_blocking<T>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.readers.read_blocking(work)
    }

    /// Statements of all readers, ever, without those that begin and end their transactions.
    #[cfg(any(test, feature = "testing"))]
    pub fn statements_read(&self) -> usize {
        self.readers.statements()
    }

    /// Changes with every commit: what was drawn from an older one may be out of date.
    pub fn version(&self) -> u64 {
        self.changes.version()
    }

    /// Whether nobody changed any of the tables `read` since the commit `version`.
    pub fn is_unchanged(&self, version: u64, read: Tables) -> bool {
        self.changes.is_unchanged(version, read)
    }
}

/// A histogram of times between a quarter of a millisecond and four seconds.
pub fn times() -> Histogram {
    Histogram::new(BOUNDS_S)
}

/// A new session with the store at `address`.
fn connect(address: &StoreAddress) -> Result<Box<dyn Session>, StoreError> {
    Ok(match address {
        StoreAddress::Sqlite(path) => Box::new(sqlite::Sqlite::open(path)?),
        StoreAddress::Postgres(url) => Box::new(postgres::Postgres::open(url)?),
    })
}
