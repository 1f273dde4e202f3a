//! What a series of commands reports while it runs.

use std::time::Duration;

/// Something that happened in a series; for a progress line.
#[derive(Debug, Clone, PartialEq)]
pub enum ExecEvent {
    /// The shell's own start is being timed.
    Shell {
        /// Starts so far.
        done: u32,
        /// Starts in all.
        total: u32,
    },
    /// A command runs that is not timed (`setup`, `prepare`, …).
    Around {
        /// Which kind.
        what: &'static str,
    },
    /// A warm-up run begins.
    Warmup {
        /// Warm-up rounds that are over.
        done: u32,
        /// Warm-up rounds in all.
        total: u32,
        /// Which command, from 0.
        command: usize,
    },
    /// A measured run begins.
    Run {
        /// Since the first round began.
        elapsed: Duration,
        /// Rounds that are over.
        done: u32,
        /// How many there will be at least, as far as that is known.
        expected: u32,
        /// Which command, from 0; `None` for a start-up command.
        command: Option<usize>,
        /// Time of this command's last run.
        last: Option<Duration>,
    },
}
