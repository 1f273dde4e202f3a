//! Writes on disk before they are answered.
//!
//! One thread takes all writes that wait, puts them into one transaction, and has it on disk before any of them
//! is seen or answered. What comes meanwhile waits for the next transaction: so the busier the disk, the more
//! writes share one flush of it. The store in memory is changed by this thread alone, in the order of the disk.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use redb::{Database, Durability, ReadableDatabase as _, ReadableTable as _, TableDefinition};

use super::routes::Outcome;
use super::store::{Change, Reserved, Store};
use crate::StartError;
use crate::service::{Mailbox, Note, Ticket};

/// The file in the folder.
const FILE_NAME: &str = "kv.redb";
const PAIRS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("pairs");
/// Every value is in memory already; this is for the pages of the tree.
const CACHE_BYTES: usize = 16 * 1024 * 1024;
/// Writes that wait. Each connection waits for one at most.
const QUEUE_LIMIT: usize = 16 * 1024;
/// The most writes, and about the most bytes, of one transaction: what a disk takes in a moment.
const BATCH_LIMIT: usize = 1024;
const BATCH_LIMIT_BYTES: usize = 16 * 1024 * 1024;

type Fault = Box<dyn std::error::Error + Send + Sync>;

/// A write, and who waits for it.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) change: Reserved,
    pub(super) ticket: Ticket,
    pub(super) mailbox: Arc<Mailbox<Outcome>>,
}

/// An open database whose pairs are in the store.
#[derive(Debug)]
pub(super) struct Durable {
    jobs: SyncSender<Job>,
    committer: Committer,
}

/// The thread that writes.
#[derive(Debug)]
pub(super) struct Committer {
    database: Database,
    store: Arc<Store>,
    jobs: Receiver<Job>,
}

impl Durable {
    /// Opens the database in `folder`, or makes it, and reads all that is in it.
    pub(super) fn open(folder: &Path, store: Arc<Store>) -> Result<Self, StartError> {
        let path = folder.join(FILE_NAME);
        let database = open(folder, &path, &store)
            .map_err(|source| StartError::Store { path: PathBuf::from(&path), source })?;
        let (give, take) = sync_channel(QUEUE_LIMIT);
        Ok(Self { jobs: give, committer: Committer { database, store, jobs: take } })
    }

    pub(super) fn split(self) -> (SyncSender<Job>, Committer) {
        (self.jobs, self.committer)
    }
}

fn open(folder: &Path, path: &Path, store: &Store) -> Result<Database, Fault> {
    std::fs::create_dir_all(folder)?;
    let database = Database::builder().set_cache_size(CACHE_BYTES).create(path)?;
    let begun = database.begin_write()?;
    begun.open_table(PAIRS)?;
    begun.commit()?;
    // A new file is there after a power failure only if its folder is on disk as well.
    File::open(folder)?.sync_all()?;
    let reading = database.begin_read()?;
    for pair in reading.open_table(PAIRS)?.iter()? {
        let (key, value) = pair?;
        let change = store.reserve(Change::put(key.value(), value.value()));
        store.apply(change.map_err(|_| "it holds more than the memory bound allows: raise that")?);
    }
    Ok(database)
}

impl Committer {
    /// Writes until no worker is left.
    pub(super) fn run(self) {
        let mut batch = Vec::new();
        while let Ok(first) = self.jobs.recv() {
            let mut bytes = first.bytes();
            batch.push(first);
            while batch.len() < BATCH_LIMIT
                && bytes < BATCH_LIMIT_BYTES
                && let Ok(job) = self.jobs.try_recv()
            {
                bytes += job.bytes();
                batch.push(job);
            }
            let written = self.write(&batch).is_ok();
            for Job { change, ticket, mailbox } in batch.drain(..) {
                let outcome = if written {
                    Outcome::Changed(self.store.apply(change))
                } else {
                    self.store.release(&change);
                    Outcome::NotWritten
                };
                mailbox.post(ticket, Note::Outcome(outcome));
            }
        }
    }

    /// All of the batch is on disk, or nothing.
    fn write(&self, batch: &[Job]) -> Result<(), redb::Error> {
        let mut transaction = self.database.begin_write()?;
        // The default, named because the promise rests on it.
        transaction.set_durability(Durability::Immediate)?;
        {
            let mut table = transaction.open_table(PAIRS)?;
            for Job { change, .. } in batch {
                match &change.value {
                    Some(value) => drop(table.insert(&*change.key, &**value)?),
                    None => drop(table.remove(&*change.key)?),
                }
            }
        }
        transaction.commit()?;
        Ok(())
    }
}

impl Job {
    fn bytes(&self) -> usize {
        self.change.key.len() + self.change.value.as_ref().map_or(0, |value| value.len())
    }
}
