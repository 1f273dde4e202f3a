//! A guardian, seen from this side: orders to it, and its report.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Pid;

use crate::clock;
use crate::ended::Ended;
use crate::guardian::{Guardian, STOP, SUPERVISE};

/// The longest report of a guardian is `ended signal 64`.
const REPORT_BYTES_MAX: usize = 64;

/// What is to be started, and how.
#[derive(Debug)]
pub struct Launch<'a> {
    /// Prony itself, which is the guardian.
    pub program: &'a Path,
    /// The options of the guardian.
    pub guardian: &'a Guardian,
    /// Working folder.
    pub folder: Option<&'a Path>,
    /// What the command finds in its environment.
    pub environment: Environment<'a>,
}

/// The environment of a command.
#[derive(Debug, Clone, Copy)]
pub enum Environment<'a> {
    /// That of this process, and these.
    Inherited(&'a [(OsString, OsString)]),
    /// These alone.
    Only(&'a [(OsString, OsString)]),
}

/// A process that was started through a guardian. Dropped, it is killed with all that it started.
#[derive(Debug)]
pub struct Supervised {
    guardian: Child,
    /// The guardian takes its end for ours.
    orders: Option<ChildStdin>,
    report: ChildStdout,
    received: Vec<u8>,
    is_gone: bool,
}

impl Supervised {
    /// Starts `launch`, which writes to `output`; whether the command itself can run shows in how it ends.
    pub fn start(launch: &Launch<'_>, output: Stdio) -> io::Result<Self> {
        let Launch { program, guardian, folder, environment } = launch;
        let mut command = Command::new(program);
        command
            .arg0("prony")
            .args([SUPERVISE, "--signal", &guardian.signal.to_string()])
            .args(["--grace-ms", &guardian.grace.as_millis().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(output);
        if guardian.tree {
            command.arg("--tree");
        } else {
            // Ctrl-C in the terminal is for Prony, which then stops what it started in its own time.
            command.process_group(0);
        }
        if let Some(cgroup) = &guardian.cgroup {
            command.arg("--cgroup").arg(cgroup);
        }
        if let Some(folder) = folder {
            command.current_dir(folder);
        }
        match environment {
            Environment::Inherited(more) => command.envs(more.iter().map(|(name, value)| (name, value))),
            Environment::Only(all) => command.env_clear().envs(all.iter().map(|(name, value)| (name, value))),
        };
        let mut guardian = command.arg("--").args(&guardian.words).spawn()?;
        let (orders, report) = (guardian.stdin.take(), guardian.stdout.take());
        let report = report.expect("invariant: it is piped");
        Ok(Self { guardian, orders, report, received: Vec::new(), is_gone: false })
    }

    /// The process from which everything descends.
    pub fn guardian(&self) -> Pid {
        Pid::from_child(&self.guardian)
    }

    /// What can be read when the guardian reports.
    pub(crate) fn report(&self) -> BorrowedFd<'_> {
        self.report.as_fd()
    }

    /// Reads once from the guardian; its report is one short line.
    pub(crate) fn read_report(&mut self) {
        let mut bytes = [0; REPORT_BYTES_MAX];
        match self.report.read(&mut bytes) {
            Ok(0) => self.is_gone = true,
            Ok(got) => {
                let room = REPORT_BYTES_MAX.saturating_sub(self.received.len());
                self.received.extend_from_slice(&bytes[..got.min(room)]);
            }
            Err(_) => {}
        }
    }

    /// Whether the guardian has ended, and so everything that it kept.
    pub(crate) fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// How the command ended, if it has, as far as was read.
    pub(crate) fn ended(&self) -> Option<Ended> {
        let is_over = self.is_gone || self.received.contains(&b'\n');
        is_over.then(|| Ended::from_report(&String::from_utf8_lossy(&self.received)))
    }

    /// How the command ended, if it has, or does within `patience`.
    pub fn ended_within(&mut self, patience: Duration) -> Option<Ended> {
        let until = clock::now() + patience;
        while self.ended().is_none() {
            let mut watched = [PollFd::new(&self.report, PollFlags::IN)];
            let left = clock::timespec(until.saturating_sub(clock::now()));
            match poll(&mut watched, Some(&left)) {
                // An error is a signal that the binary handles: the caller asks whether to stop.
                Ok(0) | Err(_) => break,
                Ok(_) => self.read_report(),
            }
        }
        self.ended()
    }

    /// Asks it to stop; it is killed after its grace.
    pub fn ask(&mut self) {
        if let Some(orders) = &mut self.orders {
            // It may just have ended.
            let _ = orders.write_all(&[STOP]);
        }
    }

    /// Kills it at once.
    pub fn kill(&mut self) {
        // Without orders the guardian kills what it keeps, and ends.
        self.orders = None;
    }

    /// Asks it to stop, and waits until it and all that it started are gone. The guardian sees to the time.
    pub fn stop(mut self) {
        self.ask();
        let _ = self.guardian.wait();
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        self.kill();
        let _ = self.guardian.wait();
    }
}
