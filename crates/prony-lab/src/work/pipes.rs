//! A command's guardian, seen from this side: orders to it, its report, and what the command writes.

use std::ffi::OsString;
use std::io::{self, PipeReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;

use super::process::{Ended, Order, PIECE_BYTES};
use super::usage;

/// The order to stop (prony-study, `target/keep.rs`).
const STOP: u8 = b's';
/// The longest report of a guardian is `ended signal 64`.
const MOST_REPORT_BYTES: usize = 64;
/// Blocks in which POSIX's `ulimit -f` counts, bytes.
const BLOCK_BYTES: u64 = 512;
/// For each process that a command may have, so many threads: the kernel counts these, in all that its user has.
const THREADS_EACH: u64 = 4;
/// Becomes the command of its arguments: no core dumps, no file longer than its disk, not so many processes that nobody
/// could stop them (`-p`, in bash `-u`; the kernel excepts root), and the first to go when the machine has no memory
/// left. What the system refuses of that is not worth failing for: most of it is looked after, too.
const BECOME: &str = "exec 3>&2 2>/dev/null; ulimit -c 0; ulimit -f \"$0\"; ulimit -p \"$1\" || ulimit -u \"$1\"; \
                      echo 1000 >/proc/self/oom_score_adj; shift; exec 2>&3 3>&-; exec \"$@\"";

/// A guardian with its three pipes. Dropped, everything is killed.
#[derive(Debug)]
pub(super) struct Pipes {
    guardian: Child,
    orders: Option<ChildStdin>,
    report: ChildStdout,
    said: Vec<u8>,
    is_over: bool,
    output: PipeReader,
    is_closed: bool,
}

/// What happened.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// The command wrote this.
    Wrote(Vec<u8>),
    /// Nobody is left who could write.
    Closed,
    /// Something else, or nothing.
    Other,
}

impl Pipes {
    /// Starts `order` under a guardian that is `program`.
    pub(super) fn start(program: &Path, order: &Order) -> io::Result<Self> {
        let (output, writer) = io::pipe()?;
        let mut command = Command::new(program);
        command.arg0("prony").args(["keep", "--grace-ms", &order.bounds.grace.as_millis().to_string()]);
        if order.is_asked_whole {
            command.arg("--tree");
        }
        let mut guardian = command
            .arg("--")
            .args(become_words(order))
            .env_clear()
            .envs(order.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(&order.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(writer)
            .spawn()?;
        let (orders, report) = (guardian.stdin.take(), guardian.stdout.take());
        let report = report.expect("invariant: it is piped");
        Ok(Self { guardian, orders, report, said: Vec::new(), is_over: false, output, is_closed: false })
    }

    /// The process from which everything descends.
    pub(super) fn guardian(&self) -> Pid {
        Pid::from_child(&self.guardian)
    }

    /// Waits at most for `patience` until something happens.
    pub(super) fn turn(&mut self, patience: Duration) -> Turn {
        // An entry that is not to be asked any more asks for nothing, and poll then doesn't wake for it.
        let mut watched = Vec::with_capacity(2);
        if !self.is_over {
            watched.push(PollFd::new(&self.report, PollFlags::IN));
        }
        if !self.is_closed {
            watched.push(PollFd::new(&self.output, PollFlags::IN));
        }
        let timeout = Timespec {
            tv_sec: i64::try_from(patience.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: patience.subsec_nanos().into(),
        };
        if poll(&mut watched, Some(&timeout)).is_err() {
            return Turn::Other;
        }
        let mut ready = watched.iter().map(|watched| !watched.revents().is_empty());
        let has_report = !self.is_over && ready.next().unwrap_or(false);
        let has_output = !self.is_closed && ready.next().unwrap_or(false);
        if has_report {
            self.read_report();
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

    fn read_report(&mut self) {
        let mut bytes = [0; MOST_REPORT_BYTES];
        match self.report.read(&mut bytes) {
            Ok(0) => self.is_over = true,
            Ok(got) => {
                let room = MOST_REPORT_BYTES.saturating_sub(self.said.len());
                self.said.extend_from_slice(&bytes[..got.min(room)]);
            }
            Err(_) => {}
        }
    }

    /// Whether the guardian has ended, and so everything that it kept.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Asks it to stop; it is killed after its grace.
    pub(super) fn ask(&mut self) {
        if let Some(orders) = &mut self.orders {
            // It may just have ended.
            let _ = orders.write_all(&[STOP]);
        }
    }

    /// Kills it at once.
    pub(super) fn kill(&mut self) {
        self.orders = None;
    }

    /// How it ended, once it is over.
    pub(super) fn ended(&self) -> Ended {
        let said = String::from_utf8_lossy(&self.said);
        let mut words = said.split_whitespace();
        let (kind, number) = (words.nth(1), words.next().and_then(|number| number.parse().ok()));
        match (kind, number) {
            (Some("code"), Some(code)) => Ended::Code(code),
            (Some("signal"), Some(signal)) => Ended::Signal(signal),
            _ => Ended::Lost,
        }
    }
}

impl Drop for Pipes {
    fn drop(&mut self) {
        // Without orders the guardian kills what it keeps, and ends.
        self.orders = None;
        let _ = self.guardian.wait();
    }
}

/// The words that become those of `order`, under the limits that the kernel itself sees to.
fn become_words(order: &Order) -> Vec<OsString> {
    let blocks = order.bounds.disk_bytes.div_ceil(BLOCK_BYTES).to_string();
    let tasks = usage::tasks_of_user() + THREADS_EACH * u64::from(order.bounds.processes);
    let first = ["/bin/sh", "-c", BECOME, &blocks, &tasks.to_string()].map(OsString::from);
    first.into_iter().chain(order.words.iter().cloned()).collect()
}
