//! Processes that don't outlive the process that started them, stay within their limits, and can be cancelled.
//!
//! Studies start their targets through it, the lab its builds. A guardian, which is this program once more (`prony
//! supervise`), stands between; docs/decisions/017-guardians.md explains why.
//!
//! This crate must never know what it runs, and never print.
//!
//! In reading order: `guardian.rs` (the process between), `watchdog.rs` (for what no guardian may delay), `supervised.rs`
//! (a guardian seen from the other side), `ended.rs`, `limits.rs` and `usage.rs`, `run.rs` (a command from its start to
//! its end).

mod cancel;
mod cgroup;
mod clock;
mod confined;
mod ended;
mod guardian;
mod limits;
mod run;
mod supervised;
mod sys;
mod tree;
mod usage;
mod watchdog;

pub use cancel::Cancel;
pub use cgroup::Cgroups;
pub use confined::{ConfinedFolder, Entry};
pub use ended::{Ended, StopReason};
pub use guardian::{Guardian, become_supervised};
pub use limits::{Limits, POLL_INTERVAL, QUIET_POLL_INTERVAL};
pub use run::{CommandOutcome, CommandSpec, StartError, Starter};
pub use rustix::fs::FileType;
pub use supervised::{Environment, Launch, Supervised};
pub use tree::{Member, below};
pub use watchdog::{Watchdog, watch};

/// The program that runs now, also when its file was replaced meanwhile.
pub const SELF: &str = "/proc/self/exe";
