//! What one command may use.

use std::time::Duration;

/// Between two polls of memory and processes. A poll reads all of /proc, some milliseconds on a busy machine.
pub const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// The same while something is measured, which should not share the machine with us.
pub const QUIET_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// What one command may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From its start to its end.
    pub time: Duration,
    /// From the request to stop until it is killed.
    pub grace: Duration,
    /// Resident memory of all its processes together.
    pub memory_bytes: u64,
    /// Everything in its folder, and the longest single file anywhere.
    pub disk_bytes: u64,
    /// What it may write to its output.
    pub output_bytes: u64,
    /// Processes at once.
    pub processes: u32,
    /// Between two polls of memory and processes: [`POLL_INTERVAL`] or [`QUIET_POLL_INTERVAL`].
    pub poll_interval: Duration,
}
