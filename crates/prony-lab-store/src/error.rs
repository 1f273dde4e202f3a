//! What can go wrong between the lab and its store.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use prony_model::Problem;

use super::lock;

/// What can go wrong between the lab and its store. Nothing of a transaction that failed is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreError {
    /// It can't be opened.
    Open {
        /// Its file.
        path: PathBuf,
        /// What the database says.
        message: String,
    },
    /// The address of a database, or something that it names, can't be used.
    Address(Problem),
    /// The database doesn't answer; later it may.
    Unavailable(String),
    /// Somebody else writes to it and doesn't stop.
    Locked,
    /// There is no room.
    Full,
    /// There is no room to begin with.
    FullAtStart {
        /// The store.
        path: PathBuf,
        /// What is left of its disk, where that is known.
        free: Option<u64>,
    },
    /// The connection was lost during a commit: whether that counts is not known.
    Unknown(String),
    /// Another lab uses it.
    InUse(Problem),
    /// SQLite's log, which holds what the database file doesn't have yet, is not the one that was written.
    LogRemoved {
        /// The database.
        path: PathBuf,
        /// What is missing, for people.
        missing: String,
        /// A copy of everything that was answered, where the lab could make one.
        rescued: Option<PathBuf>,
    },
    /// It was written by a newer prony.
    Newer {
        /// Version of the store.
        found: i64,
        /// The newest that is known here.
        known: i64,
    },
    /// What was to be changed is no longer what it was thought to be.
    Conflict(String),
    /// There is no such thing.
    Missing(String),
    /// It is damaged.
    Damaged(String),
    /// The lab is ending.
    Closed,
    /// A copy can't be made or put in place.
    Copy {
        /// Which file.
        path: PathBuf,
        /// Why not.
        message: String,
    },
    /// It is to be done with another program.
    ExternalTool {
        /// What was asked for.
        what: String,
        /// What does it.
        command: String,
    },
    /// A statement of ours is wrong.
    Fault(String),
}

impl StoreError {
    /// What is wrong, as it stands after "failed to", and what to try.
    pub fn problem(&self) -> Problem {
        Problem { what: self.what(), advice: self.advice(), field: None }
    }

    fn what(&self) -> String {
        match self {
            Self::Open { path, message } => format!("open the store {} ({message})", path.display()),
            Self::Address(problem) => format!("connect to the database: {}", problem.what),
            Self::FullAtStart { path, free } => format!(
                "start on a full disk: {} left for {}, and SQLite needs some even to read",
                free.map_or_else(|| "no room is".to_owned(), |bytes| format!("{} kB are", bytes / 1000)),
                path.display()
            ),
            Self::Unavailable(why) => format!("reach the store ({why})"),
            Self::Locked => "write to the store: another program keeps it locked".to_owned(),
            Self::Full => "write to the store: the disk is full".to_owned(),
            Self::Unknown(why) => format!("learn whether the store has accepted it ({why})"),
            Self::InUse(problem) => format!("take over the store: {}", problem.what),
            Self::LogRemoved { path, missing, .. } => {
                format!("write to the store {}: {missing}", path.display())
            }
            Self::Newer { found, known } => {
                format!("use a store of version {found}: this prony knows versions up to {known}")
            }
            Self::Conflict(what) => format!("change {what}: it is no longer as it was"),
            Self::Missing(what) => format!("find {what}"),
            Self::Damaged(why) => format!("read the store, which is damaged ({why})"),
            Self::Closed => "use the store: the lab is stopping".to_owned(),
            Self::Copy { path, message } => format!("write {} ({message})", path.display()),
            Self::ExternalTool { what, .. } => format!("{what} PostgreSQL, whose own programs do that"),
            Self::Fault(why) => format!("run a statement ({why})"),
        }
    }

    fn advice(&self) -> Option<String> {
        let advice = match self {
            Self::Open { .. } => "does its folder exist, and may this user write there?",
            Self::FullAtStart { .. } => {
                "free 100 MB there (what has .before- or .rescued- in its name beside the store is an older copy) and start \
                 again, or copy the folder to another disk and start there: prony lab --data FOLDER"
            }
            Self::Unavailable(_) | Self::Locked => "nothing was accepted, try again",
            Self::Full => "nothing was accepted, make room and try again",
            Self::Unknown(_) => "look before trying again",
            Self::Address(problem) | Self::InUse(problem) => return problem.advice.clone(),
            Self::LogRemoved { path, rescued, .. } => {
                return Some(match rescued {
                    Some(copy) => format!("stop the lab, then: prony lab restore {}", copy.display()),
                    None => format!(
                        "put the file back, restore a backup (prony lab restore), or remove {} to go on without it",
                        lock::place(path).display()
                    ),
                });
            }
            Self::Newer { .. } => "take a newer prony",
            Self::Conflict(_) => "look again",
            Self::Damaged(_) => "restore a backup: prony lab restore",
            Self::Copy { .. } => "name another file, or make room",
            Self::ExternalTool { command, .. } => return Some(format!("run: {command}")),
            Self::Fault(_) => "this is a fault of prony",
            // The caller knows what there is.
            Self::Missing(_) | Self::Closed => return None,
        };
        Some(advice.to_owned())
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.problem().sentence())
    }
}

impl std::error::Error for StoreError {}

/// When to come again after an error that passes: a PostgreSQL restarts within seconds.
const RETRY_AFTER: Duration = Duration::from_secs(2);

impl StoreError {
    /// After what time it is worth trying again, where it is.
    pub fn retry_after(&self) -> Option<Duration> {
        matches!(self, Self::Unavailable(_) | Self::Locked | Self::Full | Self::Unknown(_))
            .then_some(RETRY_AFTER)
    }
}
