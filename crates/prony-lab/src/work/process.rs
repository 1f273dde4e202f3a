//! One command of a build: started, watched, within its limits, and gone with all that it started.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::pipes::{Pipes, Turn};
use super::usage::{self, Gauge};
use crate::clock;

/// What a page shows live comes in pieces of this age ...
const PIECE_AGE: Duration = Duration::from_millis(250);
/// ... or of this length, which is also what a pipe holds.
pub(super) const PIECE_BYTES: usize = 64 << 10;
/// How soon somebody who calls off is heard.
const TICK: Duration = Duration::from_millis(100);
/// When nothing is left that could write, but something still holds the output, it is waited for so long.
const DRAIN: Duration = Duration::from_secs(2);
/// Between two looks at memory and processes. A look reads all of /proc, some milliseconds on a busy machine.
pub const LOOK: Duration = Duration::from_millis(250);
/// The same while something is measured, which should not share the machine with us.
pub const RARE_LOOK: Duration = Duration::from_secs(1);

/// What one command may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// From its start to its end.
    pub time: Duration,
    /// From the request to stop until it is killed.
    pub grace: Duration,
    /// Resident memory of all its processes together.
    pub memory_bytes: u64,
    /// Everything in its room, and the longest single file anywhere.
    pub disk_bytes: u64,
    /// What it may write to its output.
    pub output_bytes: u64,
    /// Processes at once.
    pub processes: u32,
    /// Between two looks at memory and processes: [`LOOK`] or [`RARE_LOOK`].
    pub look: Duration,
}

/// What is to be run.
#[derive(Debug, Clone)]
pub struct Order {
    /// Program and arguments.
    pub words: Vec<OsString>,
    /// Where it runs.
    pub folder: PathBuf,
    /// All of its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The folder whose content counts as its disk.
    pub room: PathBuf,
    /// Whether all that it started is asked to stop, not it alone: not for what stops its children itself.
    pub is_asked_whole: bool,
    /// What it may use.
    pub bounds: Bounds,
}

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// How it ended.
    pub ended: Ended,
    /// From start to end.
    pub took: Duration,
    /// What it wrote; more where it wrote too much.
    pub output_bytes: u64,
    /// The most memory that a look found, bytes.
    pub peak_memory_bytes: u64,
    /// The most processes that a look found.
    pub peak_processes: u32,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Code(i32),
    /// By a signal that the lab did not send.
    Signal(i32),
    /// The lab stopped it.
    Stopped(Why),
    /// Its guardian was killed, and so was it.
    Lost,
}

/// Why the lab stopped a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Somebody called it off.
    Cancelled,
    /// Its time was over.
    Time,
    /// It wrote too much to its output.
    Output,
    /// It had too much memory.
    Memory,
    /// It had too many processes.
    Processes,
    /// It had too much in its folder.
    Disk,
    /// It had too many files in its folder.
    Files,
    /// It left too little of the disk to the lab.
    DiskFull,
}

impl Ended {
    /// Whether all went well.
    pub fn is_good(self) -> bool {
        self == Self::Code(0)
    }

    /// What became of a command with `bounds`, for people; where there is something to try, with that.
    pub fn in_words(self, bounds: &Bounds) -> String {
        let raise = |key: &str| format!("; raise limits.{key} of the project if it needs more");
        match self {
            Self::Code(code) => format!("ended with exit code {code}"),
            Self::Signal(signal) => format!("ended by signal {signal}"),
            Self::Lost => "its guardian was killed, and it with that".to_owned(),
            Self::Stopped(why) => match why {
                Why::Cancelled => "was called off".to_owned(),
                Why::Time => format!("took longer than {}{}", seconds(bounds.time), raise("time")),
                Why::Output => format!("wrote more than {}{}", size(bounds.output_bytes), raise("output")),
                Why::Memory => {
                    format!("had more than {} of memory{}", size(bounds.memory_bytes), raise("memory"))
                }
                Why::Processes => {
                    format!("had more than {} processes at once{}", bounds.processes, raise("processes"))
                }
                Why::Disk => {
                    format!("had more than {} in its folder{}", size(bounds.disk_bytes), raise("disk"))
                }
                Why::Files => format!("had more than {} files in its folder", usage::MOST_FILES),
                Why::DiskFull => format!(
                    "left less than {} of the disk to the lab: make room in the lab's data folder",
                    size(usage::LEAST_FREE_BYTES)
                ),
            },
        }
    }
}

/// `1.5 s`, `7200 s`: of what is left of a longer time nobody wants to know the milliseconds.
fn seconds(time: Duration) -> String {
    let digits = usize::from(time < Duration::from_secs(10));
    format!("{:.digits$} s", time.as_secs_f64())
}

/// `512 MiB`; what is no whole number of a unit has the next smaller one.
fn size(bytes: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let fitting = units.into_iter().find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit));
    fitting.map_or_else(|| format!("{bytes} bytes"), |(unit, name)| format!("{} {name}", bytes / unit))
}

/// Calls a command off, from any thread.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// It is to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it is to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Why a command did not even begin.
#[derive(Debug, thiserror::Error)]
#[error("failed to start a guardian from {} ({error}); was the program removed?", program.display())]
pub struct StartError {
    program: PathBuf,
    #[source]
    error: io::Error,
}

/// Starts commands.
#[derive(Debug, Clone)]
pub struct Starter {
    /// Prony itself, which also is the guardian.
    pub program: PathBuf,
}

impl Starter {
    /// Runs `order` until nothing of it is left. What it writes goes to `sink`, in order, in pieces; whatever it is that
    /// `cancel` was told of, this ends soon after.
    pub fn run(
        &self,
        order: &Order,
        cancel: &Cancel,
        sink: &mut dyn FnMut(&[u8]),
    ) -> Result<Ran, StartError> {
        let pipes = Pipes::start(&self.program, order)
            .map_err(|error| StartError { program: self.program.clone(), error })?;
        let begun = clock::steady();
        let gauge = Gauge::new(pipes.guardian(), order);
        let mut watch = Watch {
            order,
            pipes,
            gauge,
            begun,
            piece: Vec::new(),
            piece_since: begun,
            written: 0,
            why: None,
        };
        watch.run(cancel, sink);
        Ok(watch.told())
    }
}

/// A command while it runs.
struct Watch<'a> {
    order: &'a Order,
    pipes: Pipes,
    gauge: Gauge<'a>,
    begun: Duration,
    /// Written, and not handed over yet.
    piece: Vec<u8>,
    /// Since when the first of it waits.
    piece_since: Duration,
    written: u64,
    why: Option<Why>,
}

impl Watch<'_> {
    fn run(&mut self, cancel: &Cancel, sink: &mut dyn FnMut(&[u8])) {
        let mut over_at = None;
        loop {
            let turn = self.pipes.turn(TICK);
            self.take(&turn);
            let now = clock::steady();
            let is_due = self.piece.len() >= PIECE_BYTES || now.saturating_sub(self.piece_since) >= PIECE_AGE;
            if is_due && !self.piece.is_empty() {
                sink(&self.piece);
                self.piece.clear();
            }
            if self.pipes.is_over() {
                let over_at = *over_at.get_or_insert(now);
                if turn == Turn::Closed || now.saturating_sub(over_at) > DRAIN {
                    break;
                }
            } else {
                self.judge(cancel, now);
            }
        }
        if !self.piece.is_empty() {
            sink(&self.piece);
        }
    }

    /// Takes what was written, as long as it may be as long.
    fn take(&mut self, turn: &Turn) {
        let Turn::Wrote(bytes) = turn else { return };
        if self.piece.is_empty() {
            self.piece_since = clock::steady();
        }
        let left = self.order.bounds.output_bytes.saturating_sub(self.written);
        let taken = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        self.piece.extend_from_slice(&bytes[..taken]);
        self.written += bytes.len() as u64;
    }

    /// Stops it where it must. What breaks a limit is killed at once, also where it was asked to stop already; what is
    /// only no longer wanted may save what it can.
    fn judge(&mut self, cancel: &Cancel, now: Duration) {
        let is_flood = self.written > self.order.bounds.output_bytes;
        if let Some(why) = is_flood.then_some(Why::Output).or_else(|| self.gauge.look(now)) {
            self.why.get_or_insert(why);
            self.pipes.kill();
        } else if self.why.is_none() {
            let is_late = now.saturating_sub(self.begun) >= self.order.bounds.time;
            self.why = cancel.is_cancelled().then_some(Why::Cancelled).or(is_late.then_some(Why::Time));
            if self.why.is_some() {
                self.pipes.ask();
            }
        }
    }

    fn told(self) -> Ran {
        let took = clock::steady().saturating_sub(self.begun);
        let ended = match self.why {
            Some(why) => Ended::Stopped(why),
            None if self.written > self.order.bounds.output_bytes => Ended::Stopped(Why::Output),
            None => self.pipes.ended(),
        };
        let (peak_memory_bytes, peak_processes) = self.gauge.peaks();
        Ran { ended, took, output_bytes: self.written, peak_memory_bytes, peak_processes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_told_with_what_to_try() {
        let bounds = Bounds {
            time: Duration::from_millis(1500),
            grace: Duration::ZERO,
            memory_bytes: 1 << 30,
            disk_bytes: 3 << 20,
            output_bytes: 1000,
            processes: 7,
            look: LOOK,
        };
        let check = |ended: Ended, expected: &str| {
            let told = ended.in_words(&bounds);
            assert!(told.starts_with(expected), "{told}");
            assert_eq!(ended.is_good(), expected.ends_with("code 0"));
        };
        check(Ended::Code(0), "ended with exit code 0");
        check(Ended::Code(2), "ended with exit code 2");
        check(Ended::Signal(11), "ended by signal 11");
        check(Ended::Stopped(Why::Time), "took longer than 1.5 s; raise limits.time of");
        check(Ended::Stopped(Why::Memory), "had more than 1 GiB of memory; raise limits.memory");
        check(Ended::Stopped(Why::Disk), "had more than 3 MiB in its folder; raise limits.disk");
        check(Ended::Stopped(Why::Output), "wrote more than 1000 bytes; raise limits.output");
        check(Ended::Stopped(Why::Processes), "had more than 7 processes at once; raise");
        check(Ended::Stopped(Why::DiskFull), "left less than 512 MiB of the disk to the lab: make room");
    }
}
