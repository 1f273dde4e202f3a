//! Who has taken the store over: the session that writes, and what it takes to keep it through a restart of the
//! database without ever writing beside another lab.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use prony_model::Problem;

use super::checkpoint::{self, Checkpointer};
use super::footing::Footing;
use super::lock::{self, FileLock};
use super::session::Session;
use super::takeover::{Taken, at_start};
use super::waiting::{self, NoSession, Waiting};
use super::{StoreError, connect, migrate, readers, sqlite};
use prony_lab_model::clock;
use prony_lab_model::log::{Log, LogEntry, LogLevel};
use prony_lab_model::options::StoreAddress;

/// Between two attempts to reach a database that is gone: those who write meanwhile hear at once that it is.
const RETRY: Duration = Duration::from_millis(200);
/// How long a commit whose answer was lost is asked after: a PostgreSQL restarts within seconds.
const ASK: Duration = Duration::from_secs(15);

/// The lab's hold on its store.
pub(super) struct WriteLease {
    // In this order: whatever uses the store ends before the lock does.
    session: Box<dyn Session>,
    address: StoreAddress,
    epoch: i64,
    /// Why nothing is written any more, ever.
    gone: Option<StoreError>,
    /// The last attempt to reach the database, which failed.
    missed: Option<Missed>,
    checkpointer: Option<Checkpointer>,
    log: Log,
    /// What only a store in files of this machine has.
    held: Option<Held>,
    /// A store in files that was not taken over yet, because its disk is full.
    waiting: Option<Waiting>,
    readers: Option<Arc<readers::Shared>>,
}

/// An attempt to reach the database that failed.
struct Missed {
    /// When the first one failed.
    since: Duration,
    /// When the next one may be.
    next: Duration,
    error: StoreError,
}

/// The hold on a store in files.
struct Held {
    footing: Footing,
    /// Transactions that were committed to it, ever.
    commits: i64,
    lock: FileLock,
}

impl WriteLease {
    /// Takes the store over and brings its tables up to date. Notes about its state, for people.
    pub(super) fn open(address: &StoreAddress) -> Result<(Self, Vec<String>), StoreError> {
        match address {
            StoreAddress::Sqlite(path) => {
                Self::open_files(address, path).map_err(|error| at_start(error, path))
            }
            StoreAddress::Postgres(_) => {
                let taken = || {
                    let mut session = connect(address)?;
                    lock::hold(session.as_mut())?;
                    migrate::migrate(session.as_mut())?;
                    let epoch = lock::take_over(session.as_mut())?;
                    Ok((Self::over(session, address, epoch), Vec::new()))
                };
                // Nobody was promised anything yet: a database that ends within a commit of these is one that is away,
                // and all of it can be done again.
                taken().map_err(|error| match error {
                    StoreError::Unknown(why) => StoreError::Unavailable(why),
                    error => error,
                })
            }
        }
    }

    fn open_files(address: &StoreAddress, path: &Path) -> Result<(Self, Vec<String>), StoreError> {
        let (mut lock, killed) = FileLock::take(path)?;
        sqlite::make_file(path)?;
        match Taken::take(path, &mut lock, killed) {
            Ok(taken) => {
                let notes = taken.note.clone().into_iter().collect();
                let mut lease = Self::over(Box::new(NoSession), address, 0);
                lease.install(taken, lock);
                Ok((lease, notes))
            }
            Err(error) => {
                let error = at_start(error, path);
                if !matches!(error, StoreError::FullAtStart { .. }) {
                    return Err(error);
                }
                let waiting = Waiting::start(path, lock, killed)?.ok_or(error)?;
                let mut lease = Self::over(Box::new(NoSession), address, 0);
                lease.waiting = Some(waiting);
                Ok((lease, vec![waiting::NOTE.to_owned()]))
            }
        }
    }

    fn over(session: Box<dyn Session>, address: &StoreAddress, epoch: i64) -> Self {
        Self {
            session,
            address: address.clone(),
            epoch,
            gone: None,
            missed: None,
            checkpointer: None,
            log: Log::default(),
            held: None,
            waiting: None,
            readers: None,
        }
    }

    /// Writes with what was taken over from now on.
    fn install(&mut self, taken: Taken, lock: FileLock) {
        self.checkpointer = Some(taken.checkpointer);
        self.session = taken.session;
        self.epoch = taken.epoch;
        self.held = Some(Held { footing: taken.footing, commits: taken.commits, lock });
    }

    /// Whether the store can only be read so far.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// Those who have to let go of the store before it is taken over.
    pub(super) fn set_readers(&mut self, readers: Arc<readers::Shared>) {
        self.readers = Some(readers);
    }

    /// What happens to the store from now on, for people.
    pub(super) fn log(&self) -> Log {
        self.log.clone()
    }

    pub(super) fn session(&mut self) -> &mut dyn Session {
        self.session.as_mut()
    }

    /// Puts something between the store and its session.
    #[cfg(test)]
    pub(super) fn wrapped(self, around: impl FnOnce(Box<dyn Session>) -> Box<dyn Session>) -> Self {
        Self { session: around(self.session), ..self }
    }

    /// Begins a transaction, over a new connection where the last one is lost.
    pub(super) fn begin(&mut self) -> Result<(), StoreError> {
        if self.waiting.is_some() && self.gone.is_none() {
            self.take_over_late()?;
        }
        if !self.session.is_lost() && self.gone.is_none() {
            match self.session.begin(true) {
                Err(error) if self.session.is_lost() || matches!(error, StoreError::Unavailable(_)) => {}
                begun => return begun,
            }
        }
        self.reconnect()?;
        self.session.begin(true)
    }

    /// Makes the transaction durable. Where the connection is lost meanwhile, the database is asked what became of it.
    pub(super) fn commit(&mut self) -> Result<(), StoreError> {
        if let Some(held) = &self.held {
            lock::set(self.session.as_mut(), "commits", &(held.commits + 1).to_string())?;
        }
        let xid = self.session.xid();
        match (self.session.commit(), xid) {
            (Err(StoreError::Unknown(why)), Some(xid)) => self.ask(xid, &why),
            (committed, _) => committed,
        }?;
        let Some(held) = &mut self.held else { return Ok(()) };
        if !held.footing.is_there() {
            let lost = held.footing.lost(self.session.as_mut());
            self.gone = Some(lost.clone());
            self.log_end(&lost);
            return Err(lost);
        }
        held.commits += 1;
        // Where it fails, a log that is removed after a kill goes unnoticed; what was committed is there all the same.
        let _ = held.lock.note(held.commits);
        Ok(())
    }

    /// What is to be done after a commit and its answers.
    pub(super) fn tidy(&mut self) {
        if self.checkpointer.as_mut().is_some_and(Checkpointer::committed) {
            // Where it fails now it will be done later; what is committed is durable in the log.
            let _ = self.session.query(checkpoint::STATEMENT, &[]);
        }
    }

    /// Takes over a store whose disk was full when the lab started, if there is room now.
    fn take_over_late(&mut self) -> Result<(), StoreError> {
        let Some(mut waiting) = self.waiting.take_if(|waiting| waiting.may_try()) else {
            return Err(StoreError::Full);
        };
        let Waiting { path, lock, killed, since, .. } = &mut waiting;
        let mut take = || {
            // The end of a session that fails may remove the files of the log.
            Taken::take(path, lock, *killed).inspect_err(|_| drop(sqlite::make_log_files(path)))
        };
        let taken = match &self.readers {
            Some(readers) => readers.without_readers(take),
            None => take(),
        };
        let away = clock::steady().saturating_sub(*since).as_secs_f64();
        match taken.map_err(|error| at_start(error, path)) {
            Ok(mut taken) => {
                if let Some(note) = taken.note.take() {
                    self.log.add(LogEntry::new(LogLevel::Warning, "store.note", note));
                }
                self.install(taken, waiting.lock);
                let message = format!("the disk has room again after {away:.1} s; requests are accepted");
                self.log.add(LogEntry::new(LogLevel::Info, "database.back", message).with("away_s", away));
                Ok(())
            }
            Err(error) => {
                waiting.put_off();
                self.waiting = Some(waiting);
                let is_full = matches!(error, StoreError::FullAtStart { .. });
                let error = if is_full { StoreError::Full } else { error };
                if error.retry_after().is_none() {
                    self.log_end(&error);
                    self.gone = Some(error.clone());
                }
                Err(error)
            }
        }
    }

    fn ask(&mut self, xid: i64, why: &str) -> Result<(), StoreError> {
        let until = clock::steady() + ASK;
        loop {
            let found = match connect(&self.address) {
                Ok(mut session) => session.commit_status(xid),
                Err(error) => Err(error),
            };
            match found {
                Ok(Some(true)) => return Ok(()),
                Ok(Some(false)) => return Err(StoreError::Unavailable(why.to_owned())),
                _ if clock::steady() >= until => return Err(StoreError::Unknown(why.to_owned())),
                _ => std::thread::sleep(RETRY),
            }
        }
    }

    fn reconnect(&mut self) -> Result<(), StoreError> {
        if let Some(gone) = &self.gone {
            return Err(gone.clone());
        }
        if let Some(missed) = &self.missed
            && clock::steady() < missed.next
        {
            return Err(missed.error.clone());
        }
        match self.retaken() {
            Ok(session) => {
                self.session = session;
                self.log_recovery();
                Ok(())
            }
            Err(error @ StoreError::InUse(_)) => {
                self.log_end(&error);
                self.gone = Some(error.clone());
                Err(error)
            }
            Err(error) => {
                let now = clock::steady();
                let since = self.missed.as_ref().map_or(now, |missed| missed.since);
                if self.missed.is_none() {
                    let message = format!("the database does not answer: failed to {error}");
                    self.log.add(LogEntry::new(LogLevel::Error, "database.lost", message));
                }
                self.missed = Some(Missed { since, next: now + RETRY, error: error.clone() });
                Err(error)
            }
        }
    }

    /// Logs that the database is there again: an outage is two entries, one that nobody had to wait for is one.
    fn log_recovery(&mut self) {
        let entry = if let Some(missed) = self.missed.take() {
            let away = clock::steady().saturating_sub(missed.since).as_secs_f64();
            let message =
                format!("the database answers again after {away:.1} s; requests are accepted again");
            LogEntry::new(LogLevel::Info, "database.back", message).with("away_s", away)
        } else {
            let message = "the connection to the database was lost and made again";
            LogEntry::new(LogLevel::Warning, "database.reconnected", message)
        };
        self.log.add(entry);
    }

    /// Logs that nothing is written any more, ever.
    fn log_end(&self, why: &StoreError) {
        let message = format!("nothing is written any more: failed to {why}");
        self.log.add(LogEntry::new(LogLevel::Error, "store.ended", message));
    }

    /// A new session that holds the lock, provided that no other lab had it meanwhile.
    fn retaken(&self) -> Result<Box<dyn Session>, StoreError> {
        let mut session = connect(&self.address)?;
        let held = lock::hold(session.as_mut());
        let epoch = lock::epoch(session.as_mut())?;
        match held {
            Ok(()) | Err(StoreError::InUse(_)) if epoch != self.epoch => {
                Err(StoreError::InUse(Problem::new(
                    format!(
                        "another lab has taken it over while the database was away (its epoch is {epoch}, of this one {})",
                        self.epoch
                    ),
                    "stop this lab",
                )))
            }
            // Nobody else has taken it over, so it is this lab's own last session, which the server hasn't missed yet.
            Err(StoreError::InUse(_)) => Err(StoreError::Unavailable(
                "its server still waits for this lab's last connection".to_owned(),
            )),
            held => held.map(|()| session),
        }
    }
}
