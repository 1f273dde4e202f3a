//! The only one who writes: a thread that commits what has gathered while the last commit was on its way.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use super::session::Session;
use super::{StoreError, Tx, connect};
use crate::options::StoreAddress;

/// Writes that may wait: at 5,000 a second, a fifth of a second's worth. Beyond it, nothing is accepted.
const WAITING: usize = 1024;
/// Writes of one commit: enough to hide a slow disk, few enough that nobody waits long for the others.
const MOST_TOGETHER: usize = 256;

/// Says how a write ended, once that is known: with what the commit said.
type Answer = Box<dyn FnOnce(Result<(), StoreError>) + Send>;
/// A write that waits. It does its work and makes its answer, or, without a transaction, is told why.
type Job = Box<dyn FnOnce(Result<&mut Tx<'_>, StoreError>) -> (bool, Answer) + Send>;

/// The thread that writes.
pub(super) struct Writer {
    jobs: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts it on `session`; `version` grows with every commit.
    pub(super) fn start(
        session: Box<dyn Session>,
        address: StoreAddress,
        version: Arc<AtomicU64>,
    ) -> Result<Self, StoreError> {
        let (jobs, waiting) = sync_channel(WAITING);
        let mut desk = Desk { session, address, version };
        let thread = std::thread::Builder::new()
            .name("lab-writer".to_owned())
            .spawn(move || desk.work(&waiting))
            .map_err(|error| StoreError::Unavailable(format!("no thread: {error}")))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Hands `work` over; the receiver hears when it is durable.
    pub(super) fn submit<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<oneshot::Receiver<Result<T, StoreError>>, StoreError> {
        let (done, answered) = oneshot::channel();
        let job: Job = Box::new(move |tx| {
            let result = tx.and_then(|tx| {
                // A panic is a fault of ours; it must not take everybody's writes with it.
                catch_unwind(AssertUnwindSafe(|| work(tx)))
                    .unwrap_or_else(|_| Err(StoreError::Fault("it panicked".to_owned())))
            });
            let is_good = result.is_ok();
            let answer: Answer = Box::new(move |committed| {
                // Whoever asked may have gone meanwhile; the write counts all the same.
                let _ = done.send(committed.and(result));
            });
            (is_good, answer)
        });
        match self.jobs.as_ref().map(|jobs| jobs.try_send(job)) {
            Some(Ok(())) => Ok(answered),
            Some(Err(TrySendError::Full(_))) => {
                Err(StoreError::Unavailable(format!("{WAITING} writes are waiting already")))
            }
            Some(Err(TrySendError::Disconnected(_))) | None => Err(StoreError::Closed),
        }
    }
}

impl Drop for Writer {
    /// What was handed over is still written.
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            // It panics only by a fault of ours, which was told on stderr.
            let _ = thread.join();
        }
    }
}

struct Desk {
    session: Box<dyn Session>,
    address: StoreAddress,
    version: Arc<AtomicU64>,
}

impl Desk {
    fn work(&mut self, waiting: &Receiver<Job>) {
        while let Ok(first) = waiting.recv() {
            if let Err(error) = self.begin() {
                first(Err(error)).1(Ok(()));
                continue;
            }
            let mut answers = Vec::new();
            let mut next = Some(first);
            while let Some(job) = next {
                let (answer, goes_on) = self.one(job);
                answers.push(answer);
                next = if goes_on && answers.len() < MOST_TOGETHER { waiting.try_recv().ok() } else { None };
            }
            let committed = self.session.commit();
            if committed.is_err() {
                // Where the connection is lost there is nothing left to undo.
                let _ = self.session.batch("ROLLBACK");
            } else {
                self.version.fetch_add(1, Ordering::AcqRel);
            }
            for answer in answers {
                answer(committed.clone());
            }
        }
    }

    fn begin(&mut self) -> Result<(), StoreError> {
        if self.session.is_lost() {
            self.session = connect(&self.address)?;
        }
        self.session.begin(true)
    }

    /// Does one job inside a savepoint, so that its error undoes nobody else's work. Also whether the transaction can
    /// go on.
    fn one(&mut self, job: Job) -> (Answer, bool) {
        if let Err(error) = self.session.batch("SAVEPOINT job") {
            return (job(Err(error)).1, false);
        }
        let (is_good, answer) = job(Ok(&mut Tx::new(self.session.as_mut())));
        let statements = if is_good { "RELEASE job" } else { "ROLLBACK TO job; RELEASE job" };
        match self.session.batch(statements) {
            Ok(()) => (answer, true),
            // The answer must not say that it was done.
            Err(error) => (Box::new(move |committed| answer(committed.and(Err(error)))), false),
        }
    }
}
