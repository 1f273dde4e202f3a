//! The only one who writes: a thread that commits what has gathered while the last commit was on its way.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use super::changes::{Changes, Tables};
use super::erased::{Found, Work};
use super::write_lease::WriteLease;
use super::{StoreError, Tx};

/// Writes that may wait: at 5,000 a second, a fifth of a second's worth. Beyond it, nothing is accepted.
const WAITING: usize = 1024;
/// Writes of one commit: enough to hide a slow disk, few enough that nobody waits long for the others.
const TOGETHER_MAX: usize = 256;

/// Reports how a write ended, once that is known: with the result of the commit.
type Answer = Box<dyn FnOnce(Result<(), StoreError>) + Send>;
/// A write that waits. It does its work and makes its answer, or, without a transaction, gets the reason.
type Job = Box<dyn FnOnce(Result<&mut Tx<'_>, StoreError>) -> (bool, Answer) + Send>;

/// The thread that writes.
pub(super) struct Writer {
    jobs: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts it on the store that `lease` has taken over; `changes` is notified of every commit.
    pub(super) fn start(lease: WriteLease, changes: Arc<Changes>) -> Result<Self, StoreError> {
        let (jobs, waiting) = sync_channel(WAITING);
        let mut thread = CommitThread { lease, changes };
        let thread = std::thread::Builder::new()
            .name("lab-writer".to_owned())
            .spawn(move || thread.work(&waiting))
            .map_err(|error| StoreError::Unavailable(format!("no thread: {error}")))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Hands `work` over; the receiver gets a message when it is durable.
    pub(super) fn submit(
        &self,
        work: Work,
    ) -> Result<oneshot::Receiver<Result<Found, StoreError>>, StoreError> {
        let (done, answered) = oneshot::channel();
        let job: Job = Box::new(move |tx| {
            let result = tx.and_then(|tx| {
                // A panic is a fault of ours; it must not take everybody's writes with it.
                catch_unwind(AssertUnwindSafe(|| work(tx)))
                    .unwrap_or_else(|_| Err(StoreError::Fault("it panicked".to_owned())))
            });
            let is_good = result.is_ok();
            let answer: Answer = Box::new(move |committed| {
                // The caller may have gone meanwhile; the write counts all the same.
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
            // It panics only by a fault of ours, which was reported on stderr.
            let _ = thread.join();
        }
    }
}

struct CommitThread {
    lease: WriteLease,
    changes: Arc<Changes>,
}

/// What has gathered in one transaction.
#[derive(Default)]
struct Batch {
    answers: Vec<Answer>,
    /// Whether there is a transaction.
    is_begun: bool,
    /// Whether it holds anybody's work: then the next one needs a point to go back to.
    has_work: bool,
    /// The tables that it changed.
    written: Tables,
    point: Point,
}

/// The point to which the last job of a batch can be undone.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Point {
    #[default]
    None,
    /// Right here.
    Here,
    /// Before work that is to stay.
    Behind,
}

impl CommitThread {
    fn work(&mut self, waiting: &Receiver<Job>) {
        while let Ok(first) = waiting.recv() {
            let mut batch = Batch::default();
            let mut next = Some(first);
            let mut outcome = Ok(());
            while let (Some(job), Ok(())) = (next.take(), &outcome) {
                outcome = self.one(job, &mut batch);
                if outcome.is_ok() && batch.answers.len() < TOGETHER_MAX {
                    next = waiting.try_recv().ok();
                }
            }
            let outcome = outcome.and_then(|()| self.end(&batch));
            if outcome.is_err() {
                self.undo();
            } else if batch.has_work {
                self.changes.committed(batch.written);
            }
            // Where nothing can be written, everybody who waits by now gets the error, not each after a wait of their own.
            let refused: Vec<Job> = match &outcome {
                Ok(()) => Vec::new(),
                Err(_) => waiting.try_iter().take(WAITING).collect(),
            };
            for answer in batch.answers {
                answer(outcome.clone());
            }
            if let Err(error) = outcome {
                for job in refused {
                    job(Err(error.clone())).1(Ok(()));
                }
            } else if batch.has_work {
                self.lease.tidy();
            }
        }
    }

    /// Does one job so that its error undoes nobody else's work. An error of this function ends the whole batch.
    fn one(&mut self, job: Job, batch: &mut Batch) -> Result<(), StoreError> {
        if let Err(error) = self.prepare(batch) {
            batch.answers.push(job(Err(error.clone())).1);
            return Err(error);
        }
        let session = self.lease.session();
        let mut tx = Tx::new(session, true);
        let (is_good, answer) = job(Ok(&mut tx));
        if is_good {
            batch.written.add(tx.tables_written());
        }
        batch.answers.push(answer);
        match (is_good, batch.has_work) {
            (true, _) => {
                batch.has_work = true;
                if batch.point == Point::Here {
                    batch.point = Point::Behind;
                }
                Ok(())
            }
            (false, true) => {
                batch.point = Point::Here;
                // A full disk may have undone the whole transaction: then nothing of the batch counts.
                session.rollback_to().map_err(|error| match error {
                    StoreError::Fault(why) => StoreError::Unavailable(why),
                    other => other,
                })
            }
            (false, false) => {
                batch.is_begun = false;
                // Where it fails there is no transaction any more, or no connection, which the next one notices.
                let _ = session.batch("ROLLBACK");
                Ok(())
            }
        }
    }

    /// A transaction, and in it a point to go back to where there is something that must stay.
    fn prepare(&mut self, batch: &mut Batch) -> Result<(), StoreError> {
        if !batch.is_begun {
            self.lease.begin()?;
            batch.is_begun = true;
        } else if batch.has_work && batch.point != Point::Here {
            self.lease.session().savepoint(batch.point == Point::Behind)?;
            batch.point = Point::Here;
        }
        Ok(())
    }

    /// Makes the batch durable.
    fn end(&mut self, batch: &Batch) -> Result<(), StoreError> {
        match (batch.is_begun, batch.has_work) {
            (true, true) => self.lease.commit(),
            (true, false) => self.lease.session().batch("ROLLBACK"),
            (false, _) => Ok(()),
        }
    }

    fn undo(&mut self) {
        // Where the connection is lost, or SQLite has undone it already, there is nothing left to undo.
        let _ = self.lease.session().batch("ROLLBACK");
    }
}
