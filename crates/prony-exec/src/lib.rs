//! Times commands: starts them, waits for them, and reports how long they took, what they used, and which is faster.
//!
//! Commands take turns in rounds, each round in a random order of its own, so that what the machine does meanwhile
//! falls on all of them alike. The time that the shell takes to start is subtracted, and the time that the program
//! itself takes to start is measured beside it. What makes a number doubtful becomes a finding.
//!
//! This crate never prints, never reads the environment, and leaves no process of a measured command behind: each
//! runs in a process group of its own, which is ended with it.
//!
//! To read: [`run()`] in `series.rs` (setups, rounds, cleanups), `schedule.rs` (which command is next, and when it
//! is enough), `process.rs` (one process from start to end), then `summary.rs`, `compare.rs` and `audit.rs`.

#![forbid(unsafe_code)]

mod audit;
mod clock;
mod compare;
mod control;
mod error;
mod launch;
mod process;
mod schedule;
mod series;
mod start_up;
mod stream;
mod summary;

pub use control::Control;
pub use error::{ExecError, How};
pub use series::run;
