//! What can go wrong between the lab and its store.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::lock;

/// What can go wrong between the lab and its store. Nothing of a transaction that failed is kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// It can't be opened.
    #[error("open the store {path} ({message}); does its folder exist, and may this user write there?")]
    Open {
        /// Its file.
        path: PathBuf,
        /// What the database says.
        message: String,
    },
    /// The database doesn't answer; later it may.
    #[error("reach the store ({0}); nothing was accepted, try again")]
    Unavailable(String),
    /// Somebody else writes to it and doesn't stop.
    #[error("write to the store: another program keeps it locked; nothing was accepted, try again")]
    Locked,
    /// There is no room.
    #[error("write to the store: the disk is full; nothing was accepted, make room and try again")]
    Full,
    /// The connection was lost during a commit: whether that counts is not known.
    #[error("learn whether the store has accepted it ({0}); look before trying again")]
    Unknown(String),
    /// Another lab uses it.
    #[error("take over the store: {0}")]
    InUse(String),
    /// SQLite's log, which holds what the database file doesn't have yet, is not the one that was written.
    #[error("{}", without_log(path, missing, rescued.as_deref()))]
    LogRemoved {
        /// The database.
        path: PathBuf,
        /// What is missing, for people.
        missing: String,
        /// A copy of everything that was answered, where the lab could make one.
        rescued: Option<PathBuf>,
    },
    /// It was written by a newer prony.
    #[error("use a store of version {found}: this prony knows versions up to {known}; take a newer prony")]
    Newer {
        /// Version of the store.
        found: i64,
        /// The newest that is known here.
        known: i64,
    },
    /// What was to be changed is no longer what it was thought to be.
    #[error("change {0}: it is no longer as it was; look again")]
    Conflict(String),
    /// There is no such thing.
    #[error("find {0}")]
    Missing(String),
    /// It is damaged.
    #[error("read the store, which is damaged ({0}); restore a backup: prony lab restore")]
    Damaged(String),
    /// The lab is ending.
    #[error("use the store: the lab is stopping")]
    Closed,
    /// A copy can't be made or put in place.
    #[error("write {} ({message}); name another file, or make room", path.display())]
    Copy {
        /// Which file.
        path: PathBuf,
        /// Why not.
        message: String,
    },
    /// It is to be done with another program.
    #[error("{what} PostgreSQL, whose own programs do that; run: {command}")]
    ExternalTool {
        /// What was asked for.
        what: String,
        /// What does it.
        command: String,
    },
    /// A statement of ours is wrong.
    #[error("run a statement ({0}); this is a fault of prony")]
    Fault(String),
}

fn without_log(path: &Path, missing: &str, rescued: Option<&Path>) -> String {
    let next = match rescued {
        Some(copy) => format!("stop the lab, then: prony lab restore {}", copy.display()),
        None => format!(
            "put the file back, restore a backup (prony lab restore), or remove {} to go on without it",
            lock::place(path).display()
        ),
    };
    format!("write to the store {}: {missing}; {next}", path.display())
}

/// When to come again after an error that passes: a PostgreSQL restarts within seconds.
const RETRY_AFTER: Duration = Duration::from_secs(2);

impl StoreError {
    /// After what time it is worth trying again, where it is.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        matches!(self, Self::Unavailable(_) | Self::Locked | Self::Full | Self::Unknown(_))
            .then_some(RETRY_AFTER)
    }
}
