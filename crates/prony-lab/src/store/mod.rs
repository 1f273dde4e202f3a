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
pub(crate) mod builds;
mod checkpoint;
pub(crate) mod counts;
mod error;
pub(crate) mod events;
#[cfg(test)]
mod faults;
pub(crate) mod figures;
pub(crate) mod files;
#[cfg(test)]
pub(crate) mod fixture;
pub(crate) mod hooks;
mod keeper;
mod lock;
mod migrate;
pub(crate) mod monitors;
#[cfg(test)]
pub(crate) mod past;
mod postgres;
pub(crate) mod projects;
pub(crate) mod queue;
mod readers;
pub(crate) mod results;
pub(crate) mod retention;
pub(crate) mod series;
mod session;
pub(crate) mod settings;
mod sqlite;
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
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::metrics::histogram::Histogram;

pub use backup::{Copied, Looked, backup, check, restore};
pub use error::StoreError;
pub(crate) use tx::Tx;
pub(crate) use value::{Row, Value, values};

use crate::clock;
use crate::metrics::times;
use crate::options::StoreAddress;
use keeper::Keeper;
use readers::Readers;
use session::Session;
use writer::Writer;

/// Readers at once: more than a machine's cores only wait for one another.
const READERS: usize = 4;

/// The store of a lab. Cheap to clone; the last clone closes it.
#[derive(Clone)]
pub(crate) struct Store {
    writer: Arc<Writer>,
    readers: Arc<Readers>,
    version: Arc<AtomicU64>,
    epoch: i64,
    /// Whether it is in this process, as SQLite is.
    is_here: bool,
    notes: Arc<[String]>,
    write_times: Histogram,
}

impl Store {
    /// Opens the store, brings its tables up to date and takes it over: this lab is the active one from now on.
    pub(crate) fn open(address: &StoreAddress) -> Result<Self, StoreError> {
        let (keeper, notes) = Keeper::open(address)?;
        Self::over(keeper, notes, address)
    }

    fn over(keeper: Keeper, notes: Vec<String>, address: &StoreAddress) -> Result<Self, StoreError> {
        let epoch = keeper.epoch();
        let version = Arc::new(AtomicU64::new(1));
        let readers = Arc::new(Readers::new(address.clone(), READERS));
        let writer = Arc::new(Writer::start(keeper, Arc::clone(&version))?);
        let is_here = matches!(address, StoreAddress::Sqlite(_));
        Ok(Self { writer, readers, version, epoch, is_here, notes: notes.into(), write_times: times() })
    }

    /// What there was to say about its state when it was opened, for people.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Grows with every lab that takes the store over: what has an older one is a former lab's.
    pub(crate) fn epoch(&self) -> i64 {
        self.epoch
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
        self.version.load(Ordering::Acquire)
    }
}

/// A new session with the store at `address`.
fn connect(address: &StoreAddress) -> Result<Box<dyn Session>, StoreError> {
    Ok(match address {
        StoreAddress::Sqlite(path) => Box::new(sqlite::Sqlite::open(path)?),
        StoreAddress::Postgres(url) => Box::new(postgres::Postgres::open(url)?),
    })
}
