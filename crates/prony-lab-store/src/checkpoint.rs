//! Takes what is committed from SQLite's log into its database file, beside the writer.
//!
//! By itself SQLite does this in every commit that finds the log long enough, and the caller of that commit waits
//! for one more flush. Here a thread does it over a connection of its own, while commits go on. Only where it cannot
//! keep up does the writer do it, between two commits.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::StoreError;
use super::session::Session as _;
use super::sqlite::Sqlite;

/// Commits between two orders to do it: about 1,000 pages, as SQLite itself does it.
const COMMITS: u32 = 64;
/// A log of this length is not caught up with by itself while commits go on: 64 MiB.
const TOO_LONG_PAGES: i64 = 16_000;
/// Holds up nobody: what is committed is taken over as far as no reader needs the older pages. Answers whether it was
/// kept from it, the pages of the log, and those that were taken over.
pub(super) const STATEMENT: &str = "PRAGMA wal_checkpoint(PASSIVE)";

/// The thread that does it. Dropping it ends it.
pub(super) struct Checkpointer {
    orders: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    is_behind: Arc<AtomicBool>,
    commits: u32,
}

impl Checkpointer {
    /// For the database at `path`, whose writer must not do it in its commits.
    pub(super) fn start(path: PathBuf) -> Result<Self, StoreError> {
        let (orders, ordered) = sync_channel(1);
        let is_behind = Arc::new(AtomicBool::new(false));
        let behind = Arc::clone(&is_behind);
        let thread = std::thread::Builder::new()
            .name("lab-checkpoint".to_owned())
            .spawn(move || work(&path, &ordered, &behind))
            .map_err(|error| StoreError::Unavailable(format!("no thread: {error}")))?;
        Ok(Self { orders: Some(orders), thread: Some(thread), is_behind, commits: 0 })
    }

    /// Counts a commit; whether the writer should lend a hand now.
    pub(super) fn committed(&mut self) -> bool {
        self.commits += 1;
        if self.commits >= COMMITS {
            self.commits = 0;
            if let Some(orders) = &self.orders {
                // Where it is still at work it will check again soon enough.
                let _ = orders.try_send(());
            }
        }
        self.is_behind.swap(false, Ordering::AcqRel)
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        drop(self.orders.take());
        if let Some(thread) = self.thread.take() {
            // It panics only by a fault of ours, which was reported on stderr.
            let _ = thread.join();
        }
    }
}

fn work(path: &Path, orders: &Receiver<()>, is_behind: &AtomicBool) {
    let mut session = None;
    while orders.recv().is_ok() {
        // A failure here (no room, a lock) is the writer's to report: its commits meet the same disk.
        let Ok(mut open) = session.take().map_or_else(|| Sqlite::open(path), Ok) else { continue };
        if let Ok(rows) = open.query(STATEMENT, &[]) {
            let pages = rows.first().and_then(|row| row.int(1).ok()).unwrap_or(0);
            is_behind.store(pages > TOO_LONG_PAGES, Ordering::Release);
            session = Some(open);
        }
    }
}
