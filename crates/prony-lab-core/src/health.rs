//! What an operator has to know of the lab itself: a disk that fills up, builds that nobody takes, a worker that ended, a
//! store that doesn't answer.
//!
//! A thread reads the facts every few seconds, and `conditions.rs` decides from them which conditions begin and end. Each
//! raises an alert when it begins, which is closed when it ends, so webhooks and mail report both. What happens while
//! the store can't be written is reported when it can.

mod conditions;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use conditions::Condition;
pub use conditions::HealthLimits;
use conditions::{Change, Conditions, Readings};

use prony_lab_model::clock;
use prony_lab_model::log::{LogEntry, LogLevel};
use prony_lab_model::{AlertKind, AlertState};
use prony_lab_store::alerts::{self, NewAlert};
use prony_lab_store::background::Background;
use prony_lab_store::{Store, StoreError, Tx, counts, disk};

/// How often the facts are read: an operator needs minutes.
const INTERVAL: Duration = Duration::from_secs(10);
/// Changes that wait for a store that can be written; of more, the oldest go.
const PENDING_MAX: usize = 64;

/// The conditions of a lab. Pages read them, the worker reports its end.
#[derive(Debug)]
pub struct Health {
    limits: HealthLimits,
    conditions: Mutex<Conditions>,
    pending: Mutex<VecDeque<Change>>,
    is_worker_dead: AtomicBool,
    /// Of the lab's disk; `u64::MAX` where it is not known.
    free_bytes: AtomicU64,
}

/// Reads the facts from now on. `data` is the folder of the lab.
pub fn start(store: Store, health: Arc<Health>, data: PathBuf) -> std::io::Result<Background> {
    Background::start("lab-health", move || {
        let readings = health.read(&store, disk::space(&data));
        health.turn(&store, &readings);
        INTERVAL
    })
}

impl Health {
    /// Without any condition so far.
    pub fn new(limits: HealthLimits) -> Self {
        Self {
            limits,
            conditions: Mutex::default(),
            pending: Mutex::default(),
            is_worker_dead: AtomicBool::new(false),
            free_bytes: AtomicU64::new(u64::MAX),
        }
    }

    /// Notes that the thread which runs builds has ended while the lab goes on.
    pub fn worker_ended(&self) {
        self.is_worker_dead.store(true, Ordering::Release);
    }

    /// Whether it has.
    pub fn has_worker_ended(&self) -> bool {
        self.is_worker_dead.load(Ordering::Acquire)
    }

    /// The conditions that hold now, with a sentence each.
    pub fn active(&self) -> Vec<(Condition, String)> {
        lock(&self.conditions).active()
    }

    /// What is left of the lab's disk, where that is known.
    pub fn free_bytes(&self) -> Option<u64> {
        Some(self.free_bytes.load(Ordering::Acquire)).filter(|bytes| *bytes != u64::MAX)
    }

    /// The facts as they are now, on a disk with this `space`.
    fn read(&self, store: &Store, space: Option<disk::Space>) -> Readings {
        let queue =
            store.read_blocking(counts::queue).and_then(|queue| store.probe_blocking().map(|()| queue));
        Readings {
            now: clock::wall(),
            steady: clock::steady(),
            space,
            queue: queue.map_err(|error| error.to_string()),
            is_worker_dead: self.has_worker_ended(),
        }
    }

    /// Evaluates `readings`, and reports what has changed, or still waits to be reported.
    fn turn(&self, store: &Store, readings: &Readings) {
        self.free_bytes.store(readings.space.map_or(u64::MAX, |space| space.free_bytes), Ordering::Release);
        let mut conditions = lock(&self.conditions);
        let before = conditions.active();
        let changes = conditions.evaluate(readings, &self.limits);
        drop(conditions);
        for change in &changes {
            // What an earlier lab may have reported is not news, and the writer logs that its database is lost.
            let is_news = change.begins || before.iter().any(|(condition, _)| *condition == change.condition);
            if is_news && change.condition != Condition::Database {
                store.log().add(entry(change));
            }
        }
        let mut pending = lock(&self.pending);
        pending.extend(changes);
        while pending.len() > PENDING_MAX {
            pending.pop_front();
        }
        while let Some(change) = pending.front().cloned() {
            let is_reported = match store.read_blocking(|tx| is_news(tx, &change)) {
                Ok(true) => store.write_blocking(move |tx| report(tx, &change)).is_ok(),
                Ok(false) => true,
                Err(_) => false,
            };
            if !is_reported {
                // It waits for the next turn.
                return;
            }
            pending.pop_front();
        }
    }
}

/// Whether there is something to write: a condition that ends may never have been reported.
fn is_news(tx: &mut Tx<'_>, change: &Change) -> Result<bool, StoreError> {
    let last = alerts::last_about(tx, AlertKind::Lab, change.condition.name())?;
    Ok(change.begins || last.is_some_and(|last| last.state != AlertState::Closed))
}

/// The line of the log about a condition that begins or ends.
fn entry(change: &Change) -> LogEntry {
    let (level, event) = if change.begins {
        (LogLevel::Warning, "condition.begun")
    } else {
        (LogLevel::Info, "condition.ended")
    };
    let message = format!("{}: {}", change.condition.name(), change.words);
    LogEntry::new(level, event, message).with("condition", change.condition.name())
}

/// Raises the alert about a condition that begins, and closes that of one that ends.
fn report(tx: &mut Tx<'_>, change: &Change) -> Result<(), StoreError> {
    let subject = change.condition.name();
    if !change.begins {
        return alerts::close(tx, AlertKind::Lab, subject, &change.words, change.at).map(drop);
    }
    let new = NewAlert {
        kind: AlertKind::Lab,
        subject: subject.to_owned(),
        project: None,
        series: None,
        build: None,
        monitor: None,
        comparison: None,
        words: change.words.clone(),
    };
    alerts::raise(tx, &new, change.at).map(drop)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Both are whole after every step.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
