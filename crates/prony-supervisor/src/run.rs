//! One command: started, watched, within its limits, and gone with all that it started.

use std::ffi::OsString;
use std::io::{self, PipeReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};

use crate::cancel::Cancel;
use crate::cgroup::{Cgroups, Group, THREADS_EACH};
use crate::clock;
use crate::ended::{Ended, StopReason};
use crate::guardian::Guardian;
use crate::limits::Limits;
use crate::supervised::{Environment, Launch, Supervised};
use crate::usage::{self, ResourceMonitor};

/// What is shown live comes in pieces of this age ...
const PIECE_AGE: Duration = Duration::from_millis(250);
/// ... or of this length, which is also what a pipe holds.
const PIECE_BYTES: usize = 64 << 10;
/// How soon a cancellation is noticed.
const TICK: Duration = Duration::from_millis(100);
/// When nothing is left that could write, but something still holds the output, it is waited for so long.
const DRAIN: Duration = Duration::from_secs(2);
/// SIGTERM, which asks commands to stop.
const STOP_SIGNAL: i32 = 15;
/// Blocks in which POSIX's `ulimit -f` counts, bytes.
const BLOCK_BYTES: u64 = 512;
/// Becomes the command of its arguments: no core dumps, no file longer than its disk, not so many processes that nobody
/// could stop them (`-p`, in bash `-u`; the kernel excepts root), and the first to go when the machine has no memory
/// left. What the system refuses of that is not worth failing for: most of it is cleaned up anyway.
const BECOME: &str = "exec 3>&2 2>/dev/null; ulimit -c 0; ulimit -f \"$0\"; ulimit -p \"$1\" || ulimit -u \"$1\"; \
                      echo 1000 >/proc/self/oom_score_adj; shift; exec 2>&3 3>&-; exec \"$@\"";

/// What is to be run.
#[derive(Debug, Clone)]
pub struct CommandSpec {
    /// Program and arguments.
    pub words: Vec<OsString>,
    /// Where it runs.
    pub folder: PathBuf,
    /// All of its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The folder whose content counts as its disk.
    pub disk: PathBuf,
    /// Whether all that it started is asked to stop, not it alone: not for what stops its children itself.
    pub tree: bool,
    /// What it may use.
    pub limits: Limits,
}

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutcome {
    /// How it ended.
    pub ended: Ended,
    /// From start to end.
    pub took: Duration,
    /// What it wrote; more where it wrote too much.
    pub output_bytes: u64,
    /// The most memory that it was seen with, bytes.
    pub peak_memory_bytes: u64,
    /// The most processes that it was seen with.
    pub peak_processes: u32,
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
    /// Where commands get control groups of their own.
    pub cgroups: Arc<Cgroups>,
}

impl Starter {
    /// Starts commands by `program`, without control groups.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), cgroups: Arc::new(Cgroups::none("nobody looked for them")) }
    }

    /// Runs `spec` until nothing of it is left. What it writes goes to `sink`, in order, in pieces. However `cancel`
    /// was triggered, this ends soon after.
    pub fn run(
        &self,
        spec: &CommandSpec,
        cancel: &Cancel,
        sink: &mut dyn FnMut(&[u8]),
    ) -> Result<CommandOutcome, StartError> {
        let group = self.cgroups.make(&spec.limits);
        let started = group.and_then(|group| {
            let pipes = Pipes::start(&self.program, spec, group.as_ref())?;
            Ok((pipes, group))
        });
        let (pipes, group) = started.map_err(|error| StartError { program: self.program.clone(), error })?;
        let begun = clock::now();
        let monitor = ResourceMonitor::new(pipes.supervised.guardian(), &spec.limits, &spec.disk, group);
        let mut watch = Watch {
            limits: &spec.limits,
            pipes,
            monitor,
            begun,
            piece: Vec::new(),
            piece_since: begun,
            written: 0,
            reason: None,
        };
        watch.run(cancel, sink);
        Ok(watch.outcome())
    }
}

/// A command while it runs.
struct Watch<'a> {
    limits: &'a Limits,
    pipes: Pipes,
    monitor: ResourceMonitor<'a>,
    begun: Duration,
    /// Written, and not handed over yet.
    piece: Vec<u8>,
    /// Since when the first of it waits.
    piece_since: Duration,
    written: u64,
    reason: Option<StopReason>,
}

impl Watch<'_> {
    fn run(&mut self, cancel: &Cancel, sink: &mut dyn FnMut(&[u8])) {
        let mut over_at = None;
        loop {
            let turn = self.pipes.turn(TICK);
            self.take(&turn);
            let now = clock::now();
            let is_due = self.piece.len() >= PIECE_BYTES || now.saturating_sub(self.piece_since) >= PIECE_AGE;
            if is_due && !self.piece.is_empty() {
                sink(&self.piece);
                self.piece.clear();
            }
            if self.pipes.supervised.is_gone() {
                let over_at = *over_at.get_or_insert(now);
                if turn == Turn::Closed || now.saturating_sub(over_at) > DRAIN {
                    break;
                }
            } else {
                self.enforce(cancel, now);
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
            self.piece_since = clock::now();
        }
        let left = self.limits.output_bytes.saturating_sub(self.written);
        let taken = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        self.piece.extend_from_slice(&bytes[..taken]);
        self.written += bytes.len() as u64;
    }

    /// Stops it where it must. What breaks a limit is killed at once, also where it was asked to stop already; what is
    /// only no longer wanted may save what it can.
    fn enforce(&mut self, cancel: &Cancel, now: Duration) {
        let is_flood = self.written > self.limits.output_bytes;
        if let Some(reason) = is_flood.then_some(StopReason::Output).or_else(|| self.monitor.poll(now)) {
            self.reason.get_or_insert(reason);
            self.pipes.supervised.kill();
        } else if self.reason.is_none() {
            let is_late = now.saturating_sub(self.begun) >= self.limits.time;
            self.reason = cancel
                .is_cancelled()
                .then_some(StopReason::Cancelled)
                .or(is_late.then_some(StopReason::Time));
            if self.reason.is_some() {
                self.pipes.supervised.ask();
            }
        }
    }

    fn outcome(self) -> CommandOutcome {
        let took = clock::now().saturating_sub(self.begun);
        let ended = match self.reason {
            Some(reason) => Ended::Stopped(reason),
            None if self.written > self.limits.output_bytes => Ended::Stopped(StopReason::Output),
            None if self.monitor.is_out_of_memory() => Ended::Stopped(StopReason::Memory),
            None => self.pipes.supervised.ended().unwrap_or(Ended::Lost),
        };
        let (peak_memory_bytes, peak_processes) = self.monitor.peaks();
        CommandOutcome { ended, took, output_bytes: self.written, peak_memory_bytes, peak_processes }
    }
}

/// A guardian, and what its command writes.
#[derive(Debug)]
struct Pipes {
    supervised: Supervised,
    output: PipeReader,
    is_closed: bool,
}

/// What happened.
#[derive(Debug, PartialEq, Eq)]
enum Turn {
    /// The command wrote this.
    Wrote(Vec<u8>),
    /// Nobody is left who could write.
    Closed,
    /// Something else, or nothing.
    Other,
}

impl Pipes {
    fn start(program: &Path, spec: &CommandSpec, group: Option<&Group>) -> io::Result<Self> {
        let (output, writer) = io::pipe()?;
        let guardian = Guardian {
            words: become_words(spec),
            signal: STOP_SIGNAL,
            grace: spec.limits.grace,
            tree: spec.tree,
            cgroup: group.map(|group| group.path().to_owned()),
        };
        let launch = Launch {
            program,
            guardian: &guardian,
            folder: Some(&spec.folder),
            environment: Environment::Only(&spec.environment),
        };
        Ok(Self { supervised: Supervised::start(&launch, writer.into())?, output, is_closed: false })
    }

    /// Waits at most for `patience` until something happens.
    fn turn(&mut self, patience: Duration) -> Turn {
        // An entry that is not to be asked any more asks for nothing, and poll then doesn't wake for it.
        let (is_gone, report) = (self.supervised.is_gone(), self.supervised.report());
        let mut watched = Vec::with_capacity(2);
        if !is_gone {
            watched.push(PollFd::from_borrowed_fd(report, PollFlags::IN));
        }
        if !self.is_closed {
            watched.push(PollFd::new(&self.output, PollFlags::IN));
        }
        if poll(&mut watched, Some(&clock::timespec(patience))).is_err() {
            return Turn::Other;
        }
        let mut ready = watched.iter().map(|watched| !watched.revents().is_empty());
        let has_report = !is_gone && ready.next().unwrap_or(false);
        let has_output = !self.is_closed && ready.next().unwrap_or(false);
        if has_report {
            self.supervised.read_report();
        }
        if has_output {
            return self.read_output();
        }
        if self.is_closed { Turn::Closed } else { Turn::Other }
    }

    fn read_output(&mut self) -> Turn {
        let mut bytes = vec![0; PIECE_BYTES];
        match self.output.read(&mut bytes) {
            Ok(0) => {
                self.is_closed = true;
                Turn::Closed
            }
            Ok(got) => {
                bytes.truncate(got);
                Turn::Wrote(bytes)
            }
            Err(_) => Turn::Other,
        }
    }
}

/// The words that become those of `spec`, under the limits that the kernel itself sees to.
fn become_words(spec: &CommandSpec) -> Vec<OsString> {
    let blocks = spec.limits.disk_bytes.div_ceil(BLOCK_BYTES).to_string();
    let tasks = usage::tasks_of_user() + THREADS_EACH * u64::from(spec.limits.processes);
    let first = ["/bin/sh", "-c", BECOME, &blocks, &tasks.to_string()].map(OsString::from);
    first.into_iter().chain(spec.words.iter().cloned()).collect()
}
