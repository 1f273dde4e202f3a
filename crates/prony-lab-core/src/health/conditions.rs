//! Which conditions begin and end. Pure: facts in, changes out.

use std::collections::BTreeMap;
use std::time::Duration;

use prony_lab_model::clock::Moment;
use prony_lab_store::counts::QueueState;
use prony_lab_store::disk::Space;

/// How long builds wait beside a worker that runs none before that is reported: it takes the next one within a second.
const STUCK_AFTER: Duration = Duration::from_mins(5);
/// A disk is no longer low when it has this share more than the limit, so that a file more or less reports nothing.
const RECOVERED_SHARE: u64 = 10;

/// What an operator has to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Condition {
    /// The lab's disk has less room than the limit.
    Disk,
    /// Builds wait, and none runs.
    Queue,
    /// The thread that runs builds has ended.
    Worker,
    /// The store doesn't answer, or takes no writes.
    Database,
}

impl Condition {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Disk, Self::Queue, Self::Worker, Self::Database];

    /// As it is written in metrics and alerts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Disk => "disk",
            Self::Queue => "queue",
            Self::Worker => "worker",
            Self::Database => "database",
        }
    }
}

/// When a condition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HealthLimits {
    /// The room that the lab's disk should have; 0 reports nothing.
    pub disk_bytes: u64,
    /// Whether there is a worker that should take builds.
    pub has_worker: bool,
}

/// The facts at one moment.
#[derive(Debug, Clone)]
pub(super) struct Readings {
    pub(super) now: Moment,
    /// By the clock that never jumps.
    pub(super) steady: Duration,
    /// Nothing where the system doesn't tell.
    pub(super) space: Option<Space>,
    /// Or why the store doesn't answer.
    pub(super) queue: Result<QueueState, String>,
    pub(super) is_worker_dead: bool,
}

/// A condition that begins or ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) condition: Condition,
    pub(super) begins: bool,
    /// What it is, or why it is over.
    pub(super) words: String,
    pub(super) at: Moment,
}

/// Whether a condition holds, by the facts of one moment.
enum State {
    /// The facts don't say: it is as before.
    Unknown,
    /// It doesn't.
    Over,
    /// It does: what it is.
    Holds(String),
}

impl State {
    fn of(holds: bool, words: impl FnOnce() -> String) -> Self {
        if holds { Self::Holds(words()) } else { Self::Over }
    }
}

/// The conditions that hold.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    active: BTreeMap<Condition, (Moment, String)>,
    /// Since when builds wait and none runs.
    stuck_since: Option<Duration>,
    has_begun: bool,
}

impl Conditions {
    pub(super) fn active(&self) -> Vec<(Condition, String)> {
        self.active.iter().map(|(condition, (_, words))| (*condition, words.clone())).collect()
    }

    /// What begins or ends with `readings`. The first time everything that does not hold ends: an earlier lab may have
    /// reported it.
    pub(super) fn evaluate(&mut self, readings: &Readings, limits: &HealthLimits) -> Vec<Change> {
        let found = [
            (Condition::Disk, self.disk(readings, limits)),
            (Condition::Queue, self.queue(readings, limits)),
            (Condition::Worker, State::of(readings.is_worker_dead, || WORKER.to_owned())),
            (Condition::Database, database(readings)),
        ];
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let mut changes = Vec::new();
        for (condition, state) in found {
            let state = match state {
                State::Unknown => continue,
                State::Over => None,
                State::Holds(words) => Some(words),
            };
            let at = readings.now;
            let known = self.active.get(&condition).cloned();
            match (state, known) {
                (Some(words), None) => {
                    self.active.insert(condition, (at, words.clone()));
                    changes.push(Change { condition, begins: true, words, at });
                }
                (Some(words), Some((since, _))) => {
                    self.active.insert(condition, (since, words));
                }
                (None, Some((since, _))) => {
                    self.active.remove(&condition);
                    let words = format!("over since {} UTC; it began at {} UTC", at.utc(), since.utc());
                    changes.push(Change { condition, begins: false, words, at });
                }
                (None, None) if is_first => {
                    let words = "over: the lab was restarted".to_owned();
                    changes.push(Change { condition, begins: false, words, at });
                }
                (None, None) => {}
            }
        }
        changes
    }

    fn disk(&self, readings: &Readings, limits: &HealthLimits) -> State {
        let Some(space) = readings.space else { return State::Unknown };
        let limit = limits.disk_bytes;
        let is_known = self.active.contains_key(&Condition::Disk);
        let needed = if is_known { limit.saturating_add(limit / RECOVERED_SHARE) } else { limit };
        let words = || {
            format!(
                "the lab's disk is low: {} of {} are left, less than {} (--disk-alert); free some room, or the lab \
                 will accept nothing any more",
                size(space.free_bytes),
                size(space.total_bytes),
                size(limit)
            )
        };
        State::of(space.free_bytes < needed, words)
    }

    fn queue(&mut self, readings: &Readings, limits: &HealthLimits) -> State {
        let Ok(queue) = &readings.queue else { return State::Unknown };
        if !limits.has_worker || !queue.has_waiting || queue.has_running {
            self.stuck_since = None;
            return State::Over;
        }
        let since = *self.stuck_since.get_or_insert(readings.steady);
        let waited = readings.steady.saturating_sub(since);
        let words = || {
            format!(
                "builds wait, and none has run for {} minutes, although the lab has a worker; restart the lab, and look \
                 at what it printed",
                waited.as_secs() / 60
            )
        };
        State::of(waited >= STUCK_AFTER, words)
    }
}

/// What is shown of a worker that ended.
const WORKER: &str = "the thread that runs builds has ended, which is a fault of prony; builds wait until the lab is \
                      restarted, and what it printed says why";

fn database(readings: &Readings) -> State {
    match &readings.queue {
        Ok(_) => State::Over,
        Err(why) => State::Holds(format!("the store can't be used: failed to {why}")),
    }
}

/// `1.5 GB`, `80 MB`.
fn size(bytes: u64) -> String {
    if bytes >= 1_000_000_000 {
        format!("{:.1} GB", bytes as f64 / 1e9)
    } else {
        format!("{} MB", bytes / 1_000_000)
    }
}
