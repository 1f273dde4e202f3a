//! Those who read: a few sessions that take turns, each reading on one snapshot.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use tokio::sync::Semaphore;

use super::erased::{Found, Work};
use super::session::Session;
use super::sqlite::Sqlite;
use super::{StoreError, Tx, connect};
use prony_lab_model::options::StoreAddress;

/// Sessions that are kept for the next reader: as many as there are threads that read, those of the lab's own work
/// included. To open one costs more than most questions.
const IDLE_MAX: usize = 16;

/// Something that is read in a transaction.
type Reading<'a> = Box<dyn FnOnce(&mut Tx<'_>) -> Result<(), StoreError> + 'a>;

pub(super) struct Readers {
    shared: Arc<Shared>,
    turns: Semaphore,
}

/// What readers and the writer share.
pub(crate) struct Shared {
    address: StoreAddress,
    /// Whether the store is not taken over yet, so that its files must not be opened for writing. Everybody who reads
    /// holds it.
    is_read_only: RwLock<bool>,
    idle: Mutex<Vec<Box<dyn Session>>>,
    /// Sessions that were opened, ever.
    opened: AtomicUsize,
    /// Statements of all readers, ever.
    #[cfg(any(test, feature = "testing"))]
    statements: AtomicUsize,
}

impl Readers {
    /// At most `most` at once; each is opened when it is needed first. `is_read_only` while the store is not taken
    /// over, for which [`Shared::without_readers`] makes room.
    pub(super) fn new(address: StoreAddress, most: usize, is_read_only: bool) -> Self {
        let shared = Shared {
            address,
            is_read_only: RwLock::new(is_read_only),
            idle: Mutex::default(),
            opened: AtomicUsize::new(0),
            #[cfg(any(test, feature = "testing"))]
            statements: AtomicUsize::new(0),
        };
        Self { shared: Arc::new(shared), turns: Semaphore::new(most) }
    }

    /// What the writer needs to take the store over.
    pub(super) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    pub(super) async fn read(&self, work: Work) -> Result<Found, StoreError> {
        let _turn = self.turns.acquire().await.map_err(|_| StoreError::Closed)?;
        let shared = Arc::clone(&self.shared);
        let done = tokio::task::spawn_blocking(move || shared.read(work)).await;
        done.unwrap_or_else(|_| Err(StoreError::Fault("it panicked".to_owned())))
    }

    pub(super) fn read_blocking<T>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.shared.read(work)
    }

    /// Sessions that were opened, ever.
    #[cfg(test)]
    pub(super) fn opened(&self) -> usize {
        self.shared.opened.load(Ordering::Relaxed)
    }

    /// Statements of all readers, ever.
    #[cfg(any(test, feature = "testing"))]
    pub(super) fn statements(&self) -> usize {
        self.shared.statements.load(Ordering::Relaxed)
    }
}

impl Shared {
    /// Does `work`, which opens the store for writing, while nobody reads and no session is open. Where it succeeds,
    /// everybody opens it like that from now on.
    pub(super) fn without_readers<T>(
        &self,
        work: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut is_read_only = self.is_read_only.write().unwrap_or_else(PoisonError::into_inner);
        self.idle().clear();
        let done = work()?;
        *is_read_only = false;
        Ok(done)
    }

    fn read<T>(&self, work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut found = None;
        self.read_erased(Box::new(|tx| {
            found = Some(work(tx)?);
            Ok(())
        }))?;
        Ok(found.expect("invariant: work that succeeds has found something"))
    }

    fn read_erased(&self, work: Reading<'_>) -> Result<(), StoreError> {
        let is_read_only = self.is_read_only.read().unwrap_or_else(PoisonError::into_inner);
        let mut session = self.begun(*is_read_only)?;
        let mut tx = Tx::new(session.as_mut(), false);
        let result = work(&mut tx);
        #[cfg(any(test, feature = "testing"))]
        self.statements.fetch_add(tx.statements(), Ordering::Relaxed);
        // Nothing was changed: what it is ended with is all the same, and a rollback works after an error, too.
        if session.batch("ROLLBACK").is_ok() {
            let mut idle = self.idle();
            if idle.len() < IDLE_MAX {
                idle.push(session);
            }
        }
        result
    }

    /// A session with a transaction. One that was lost while it was idle fails only when it is used.
    fn begun(&self, is_read_only: bool) -> Result<Box<dyn Session>, StoreError> {
        let idle = self.idle().pop();
        if let Some(mut session) = idle.filter(|session| !session.is_lost()) {
            match session.begin(false) {
                Err(error) if session.is_lost() || matches!(error, StoreError::Unavailable(_)) => {}
                begun => return begun.map(|()| session),
            }
        }
        let mut session: Box<dyn Session> = match &self.address {
            StoreAddress::Sqlite(path) if is_read_only => Box::new(Sqlite::open_read_only(path)?),
            address => connect(address)?,
        };
        self.opened.fetch_add(1, Ordering::Relaxed);
        session.begin(false).map(|()| session)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Box<dyn Session>>> {
        // A list of sessions is whole after every step.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
