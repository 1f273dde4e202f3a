//! The guardian: a process between Prony and what it starts, so that nothing of that outlives Prony, however Prony
//! ends. It is `prony supervise`, and only `supervised.rs` calls it.
//!
//! It gets its orders through a pipe. A pipe ends when its writer does, also by SIGKILL, so the guardian knows at
//! once, whichever thread it was that started it (which the kernel's death signal depends on). It is the reaper of all
//! that descends from it, so it also finds what put itself into the background. What it starts has the kernel's death
//! signal: should somebody kill the guardian, too, that dies at once.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, getppid, kill_process_group,
    pidfd_open, set_child_subreaper, set_parent_process_death_signal, setpriority_process, setsid, wait,
    waitid,
};

use crate::ended::Ended;
use crate::tree::{Member, below};
use crate::{SELF, cgroup, clock, sys};

/// The order to stop. The end of the pipe means that nobody is left to give one.
pub(crate) const STOP: u8 = b's';
/// The subcommand of the binary that is a guardian.
pub(crate) const SUPERVISE: &str = "supervise";

/// How often the guardian checks for orphans and the length of the log.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// What was killed is gone within milliseconds, unless the kernel holds it in a call to a device; what multiplies takes
/// longer.
const KILL_PATIENCE: Duration = Duration::from_secs(5);
/// For as long as there are many, it goes on: on a machine that can't keep up, too.
const CROWD_PATIENCE: Duration = Duration::from_mins(2);
/// Between checks for what is left after a kill: from the time that a process takes to go, doubling.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
/// The longest pause.
const LAST_PAUSE: Duration = Duration::from_millis(50);
/// With more than this to kill there is no pause, and all the CPU that can be had: something makes more of them all the
/// time, each as entitled to a turn as the guardian is.
const MANY: usize = 32;
/// The highest priority that there is (setpriority(2)); it needs privileges.
const FIRST_IN_LINE: i32 = -20;
/// bubblewrap takes all that is in it along when it is asked to stop, so what it runs is asked in its place.
const SANDBOX: &str = "bwrap";
/// A log that is longer is cut: whole days of a server that logs its errors fit.
const LOG_BYTES_MAX: u64 = 16 << 20;
/// What is kept of a log that is cut: some hundred lines.
const KEPT_LOG_BYTES: u64 = 64 << 10;

/// What a guardian is to start and how to stop it.
#[derive(Debug, Clone)]
pub struct Guardian {
    /// Program and arguments.
    pub words: Vec<OsString>,
    /// Number of the signal that asks it to stop.
    pub signal: i32,
    /// After this long it is killed.
    pub grace: Duration,
    /// Whether all that descends from it is asked to stop, not the command alone; and whether it gets a session of its
    /// own, which has no terminal.
    pub tree: bool,
    /// The control group that it runs in.
    pub cgroup: Option<PathBuf>,
}

impl Guardian {
    /// Starts the command and stays until that is over, or is to be. Everything that descends from it is then killed.
    /// Of the descriptors of this process it inherits only those of its stdin, stdout and stderr.
    ///
    /// `orders` is the pipe's end, `report` gets one line at the end of the command (`ended code 1`), `log` what the
    /// command writes.
    pub fn run(&self, orders: impl AsFd, report: &mut dyn Write, log: &File) -> io::Result<()> {
        sys::keep_descriptors_from_commands()?;
        set_child_subreaper(Some(getpid()))?;
        if self.tree {
            // Anyone who leads a group can't begin a session, and then has one of its own already, or wants none.
            let _ = setsid();
        }
        let mut guard = Guard::start(self, log)?;
        let outcome = guard.watch(self, &orders, report);
        guard.kill_all();
        outcome
    }
}

/// Becomes the program of `words`, in the control group `cgroup`, which dies with the process `parent` that called this.
/// Returns only if that fails.
pub fn become_supervised(parent: u32, cgroup: Option<&Path>, words: &[OsString]) -> io::Error {
    let Some((program, arguments)) = words.split_first() else {
        return io::Error::new(io::ErrorKind::InvalidInput, "no program is named");
    };
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return error.into();
    }
    let is_parents = getppid().is_some_and(|pid| pid.as_raw_nonzero().get().cast_unsigned() == parent);
    if !is_parents {
        return io::Error::other("the process that asked for it is gone");
    }
    if let Some(Err(error)) = cgroup.map(cgroup::enter) {
        return error;
    }
    Command::new(program).args(arguments).exec()
}

/// The command, from its start until everything is reaped.
struct Guard<'a> {
    /// Its process, which leads a group.
    main: Pid,
    handle: OwnedFd,
    /// Whether its number may be another's by now.
    is_reaped: bool,
    log: &'a File,
}

/// Why to stop watching.
enum Turn {
    Ended(Ended),
    Stop,
    Orphaned,
}

impl<'a> Guard<'a> {
    fn start(guardian: &Guardian, log: &'a File) -> io::Result<Self> {
        let mut command = Command::new(SELF);
        command.args([SUPERVISE, "--under", &std::process::id().to_string()]);
        if let Some(cgroup) = &guardian.cgroup {
            command.arg("--cgroup").arg(cgroup);
        }
        let child = command
            .arg("--")
            .args(&guardian.words)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log.try_clone()?)
            .process_group(0)
            .spawn()?;
        let main = Pid::from_child(&child);
        Ok(Self { main, handle: pidfd_open(main, PidfdFlags::empty())?, is_reaped: false, log })
    }

    /// Until the command is over, was stopped, or nobody is left who wants it.
    fn watch(&mut self, guardian: &Guardian, orders: &impl AsFd, report: &mut dyn Write) -> io::Result<()> {
        let mut kill_at = None;
        let mut is_asked = false;
        let signal = Signal::from_named_raw(guardian.signal).unwrap_or(Signal::TERM);
        loop {
            match self.turn(orders, kill_at)? {
                Some(Turn::Ended(ended)) => {
                    let line = ended.report().expect("invariant: the kernel knows a code or a signal");
                    return writeln!(report, "{line}");
                }
                Some(Turn::Orphaned) => return Ok(()),
                Some(Turn::Stop) if kill_at.is_none() => {
                    kill_at = Some(clock::now() + guardian.grace);
                }
                Some(Turn::Stop) | None => {}
            }
            if kill_at.is_some() && !is_asked {
                // A sandbox that is only being made has nothing to ask in it yet.
                is_asked = self.ask(signal, guardian.tree);
            }
            if kill_at.is_some_and(|at| clock::now() >= at) {
                return Ok(());
            }
        }
    }

    /// Asks the command to stop, or all that descends from it. What it started is its own affair otherwise, as long as
    /// it lives. Says whether there was anything to ask.
    fn ask(&self, signal: Signal, tree: bool) -> bool {
        let all = below(getpid());
        let asked = if tree { outside_of_sandboxes(&all) } else { command_of(self.main, &all) };
        for member in &asked {
            member.signal(signal);
        }
        !asked.is_empty()
    }

    /// Waits for the next thing to happen, for a short time.
    fn turn(&mut self, orders: &impl AsFd, kill_at: Option<Duration>) -> io::Result<Option<Turn>> {
        let mut watched = [PollFd::new(&self.handle, PollFlags::IN), PollFd::new(orders, PollFlags::IN)];
        let patience = kill_at.map_or(POLL_INTERVAL, |at| at.saturating_sub(clock::now()).min(POLL_INTERVAL));
        match poll(&mut watched, Some(&clock::timespec(patience))) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [has_ended, has_order] = watched.map(|watched| !watched.revents().is_empty());
        if has_ended {
            return Ok(Some(Turn::Ended(self.end())));
        }
        if has_order {
            let mut order = [0];
            return Ok(match rustix::io::read(orders, &mut order) {
                Ok(0) => Some(Turn::Orphaned),
                Ok(_) if order[0] == STOP => Some(Turn::Stop),
                Ok(_) | Err(Errno::INTR | Errno::AGAIN) => None,
                Err(error) => return Err(error.into()),
            });
        }
        if let Some(ended) = self.reap_orphans() {
            return Ok(Some(Turn::Ended(ended)));
        }
        shorten(self.log)?;
        Ok(None)
    }

    /// How the command ended, which stays a zombie, so that its number still is that of its group.
    fn end(&self) -> Ended {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::PidFd(self.handle.as_fd()), options).ok().flatten();
        let code = status.as_ref().and_then(rustix::process::WaitIdStatus::exit_status);
        let signal = status.as_ref().and_then(rustix::process::WaitIdStatus::terminating_signal);
        ended(code, signal)
    }

    /// Reaps what was left to this process. The command may end right then; in that case returns how.
    fn reap_orphans(&mut self) -> Option<Ended> {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if pid == self.main {
                self.is_reaped = true;
                return Some(ended(status.exit_status(), status.terminating_signal()));
            }
        }
        None
    }

    /// Kills everything that descends from this process, and waits until it is gone.
    fn kill_all(&mut self) {
        if !self.is_reaped {
            // At once for all, so that none can start another meanwhile.
            let _ = kill_process_group(self.main, Signal::KILL);
        }
        let begun = clock::now();
        let mut until = begun + KILL_PATIENCE;
        let mut pause = FIRST_PAUSE;
        loop {
            loop {
                match wait(WaitOptions::NOHANG) {
                    Ok(Some(_)) | Err(Errno::INTR) => {}
                    Ok(None) => break,
                    Err(_) => return,
                }
            }
            if clock::now() >= until {
                return;
            }
            // Those that were started meanwhile become children of this process, and are found next time.
            let found = below(getpid());
            for member in &found {
                member.signal(Signal::KILL);
            }
            if found.len() > MANY {
                until = begun + CROWD_PATIENCE;
                // Where it isn't allowed, the limit on processes of that user stands in their way.
                let _ = setpriority_process(None, FIRST_IN_LINE);
            } else {
                std::thread::sleep(pause);
                pause = (pause * 2).min(LAST_PAUSE);
            }
        }
    }
}

/// All but sandboxes.
fn outside_of_sandboxes(all: &[Member]) -> Vec<&Member> {
    all.iter().filter(|member| member.name != SANDBOX).collect()
}

/// The process `main`, or what a sandbox in its place runs, however many stand around each other.
fn command_of(main: Pid, all: &[Member]) -> Vec<&Member> {
    let mut found = Vec::new();
    let mut inner: Vec<&Member> = all.iter().filter(|member| member.pid == main).collect();
    // Each generation is younger than the one before, so this ends.
    while let Some(member) = inner.pop() {
        if member.name == SANDBOX {
            inner.extend(all.iter().filter(|other| other.parent == Some(member.pid)));
        } else {
            found.push(member);
        }
    }
    found
}

fn ended(code: Option<i32>, signal: Option<i32>) -> Ended {
    code.map_or_else(|| Ended::Signal(signal.unwrap_or_default()), Ended::Code)
}

/// Cuts a log that is too long to its end. Its writers append, so they go on behind it.
fn shorten(mut log: &File) -> io::Result<()> {
    let length = log.metadata()?.len();
    if length <= LOG_BYTES_MAX {
        return Ok(());
    }
    let mut end = Vec::new();
    log.seek(SeekFrom::Start(length - KEPT_LOG_BYTES))?;
    log.take(KEPT_LOG_BYTES).read_to_end(&mut end)?;
    log.set_len(0)?;
    writeln!(log, "… {} bytes were left out here", length - KEPT_LOG_BYTES)?;
    log.write_all(&end)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_log_that_is_too_long_keeps_its_end() {
        let path = std::env::temp_dir().join(format!("prony-guardian-{}.log", std::process::id()));
        let mut log = File::options().create_new(true).read(true).append(true).open(&path).expect("a file");
        log.write_all(&vec![b'x'; usize::try_from(LOG_BYTES_MAX).expect("it fits")]).expect("room");
        shorten(&log).expect("it is short enough");
        assert_eq!(log.metadata().expect("it is there").len(), LOG_BYTES_MAX);
        log.write_all(b"last words").expect("room");
        shorten(&log).expect("it can be cut");
        let text = fs::read_to_string(&path).expect("text");
        fs::remove_file(&path).expect("it is there");
        assert!(text.starts_with("… ") && text.ends_with("xxlast words"), "{}", &text[..80]);
        assert!((text.len() as u64) < 2 * KEPT_LOG_BYTES, "{}", text.len());
    }
}
