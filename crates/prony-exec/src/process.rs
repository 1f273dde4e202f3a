//! One process, from its start to its end: how long it took, what it used, how it ended.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command};
use std::time::Duration;

use prony_model::CommandExit;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open, waitid,
};
use wait4::Wait4 as _;

use crate::clock;
use crate::control::Control;
use crate::stream::Stream;

/// From being asked to end (SIGTERM) until being killed.
const GRACE: Duration = Duration::from_secs(1);
/// How often a process that runs on is looked at: it may have been stopped, for wanting to read from a terminal.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Pipes kept open for processes that outlive the command that started them, such as a server started by `setup`.
/// Closing them would end these processes at their next line.
const HELD_MAX: usize = 64;

/// What a process may do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) timeout: Duration,
    /// Whether it is ended by [`Control::stop`].
    pub(crate) cancellable: bool,
    /// Whether what it left behind in its process group is ended with it.
    pub(crate) ends_group: bool,
}

/// A process that is over.
#[derive(Debug)]
pub(crate) struct Ended {
    /// From before its start until its end was known.
    pub(crate) wall: Duration,
    pub(crate) user: Duration,
    pub(crate) system: Duration,
    pub(crate) peak_memory_bytes: u64,
    pub(crate) end: End,
    /// The end of what it wrote, where that went through a pipe.
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Own(CommandExit),
    /// By [`Control::stop`].
    Stopped,
    /// It was about to wait for a terminal for ever.
    Terminal,
}

/// Runs processes, one at a time.
#[derive(Debug)]
pub(crate) struct Runner<'a> {
    control: &'a Control,
    /// Pipes of processes that were left behind on purpose.
    held: Vec<Stream>,
}

/// A process that runs.
struct Running<'a> {
    control: &'a Control,
    group: Pid,
    handle: OwnedFd,
    streams: Vec<Stream>,
    limits: Limits,
    begun: Duration,
    /// Why it is being ended, and when it will be killed for it.
    ending: Option<(Ending, Duration)>,
}

/// What waiting for a process brought.
struct WaitResult {
    wall: Duration,
    ending: Option<Ending>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

/// Why a process is ended before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Timeout,
    Stop,
    Terminal,
}

impl<'a> Runner<'a> {
    pub(crate) fn new(control: &'a Control) -> Self {
        Self { control, held: Vec::new() }
    }

    /// Runs `command` to its end.
    pub(crate) fn run(&mut self, command: &mut Command, limits: Limits) -> io::Result<Ended> {
        command.process_group(0);
        let begun = clock::now();
        let mut child = command.spawn()?;
        let group = Pid::from_child(&child);
        self.control.watch(Some(group));
        let wait_result = self.wait(&mut child, group, limits, begun);
        if wait_result.is_err() || limits.ends_group {
            // The child is not reaped yet, so its number still belongs to this group. Nobody left in it is fine.
            let _ = kill_process_group(group, Signal::KILL);
        }
        self.control.watch(None);
        let used = child.wait4()?;
        let WaitResult { wall, ending, stdout, stderr } = wait_result?;
        let end = match ending {
            Some(Ending::Stop) => End::Stopped,
            Some(Ending::Terminal) => End::Terminal,
            Some(Ending::Timeout) => End::Own(CommandExit::Timeout),
            None => End::Own(match (used.status.code(), used.status.signal()) {
                (Some(code), _) => CommandExit::Code(code),
                (None, signal) => CommandExit::Signal(signal.unwrap_or_default()),
            }),
        };
        Ok(Ended {
            wall,
            user: used.rusage.utime,
            system: used.rusage.stime,
            peak_memory_bytes: used.rusage.maxrss,
            end,
            stdout,
            stderr,
        })
    }

    /// Waits until `child` is over, without reaping it.
    fn wait(
        &mut self,
        child: &mut Child,
        group: Pid,
        limits: Limits,
        begun: Duration,
    ) -> io::Result<WaitResult> {
        let handle = pidfd_open(group, PidfdFlags::empty())?;
        let pipes = [child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from)];
        let mut places = [None; 2];
        let mut streams = Vec::new();
        for (place, pipe) in places.iter_mut().zip(pipes) {
            if let Some(pipe) = pipe {
                *place = Some(streams.len());
                streams.push(Stream::new(pipe)?);
            }
        }
        let own = streams.len();
        streams.append(&mut self.held);
        let mut running =
            Running { control: self.control, group, handle, streams, limits, begun, ending: None };
        let ended = running.until_over()?;
        let Running { mut streams, ending, .. } = running;
        let mut outputs: Vec<Vec<u8>> = streams[..own].iter_mut().map(Stream::finish).collect();
        let [stdout, stderr] =
            places.map(|place| place.map(|place| std::mem::take(&mut outputs[place])).unwrap_or_default());
        streams.retain(Stream::is_open);
        let surplus = streams.len().saturating_sub(HELD_MAX);
        streams.drain(..surplus);
        self.held = streams;
        let ending = ending.map(|(why, _)| why);
        Ok(WaitResult { wall: ended.saturating_sub(begun), ending, stdout, stderr })
    }
}

impl Running<'_> {
    /// Waits; returns the moment at which the end was known.
    fn until_over(&mut self) -> io::Result<Duration> {
        loop {
            let cancellable = self.limits.cancellable && self.ending.is_none();
            let mut watched = vec![PollFd::new(&self.handle, PollFlags::IN)];
            if cancellable {
                let wake = self.control.wake();
                watched.push(PollFd::from_borrowed_fd(wake, PollFlags::IN));
            }
            let streams = watched.len();
            let open: Vec<usize> = (0..self.streams.len()).filter(|at| self.streams[*at].is_open()).collect();
            for at in &open {
                watched.push(PollFd::from_borrowed_fd(self.streams[*at].pipe(), PollFlags::IN));
            }
            match poll(&mut watched, Some(&clock::timespec(self.patience()))) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let now = clock::now();
            if !watched[0].revents().is_empty() {
                return Ok(now);
            }
            let stopped = cancellable && !watched[1].revents().is_empty();
            let ready: Vec<usize> = watched[streams..]
                .iter()
                .zip(open)
                .filter(|(watched, _)| !watched.revents().is_empty())
                .map(|(_, at)| at)
                .collect();
            drop(watched);
            for at in ready {
                self.streams[at].read();
            }
            if stopped {
                self.end(Ending::Stop, now);
            }
            self.enforce_limits(now);
        }
    }

    /// How long nothing needs to be looked at.
    fn patience(&self) -> Duration {
        let until = match self.ending {
            Some((_, kill_at)) => kill_at,
            None => self.begun.saturating_add(self.limits.timeout),
        };
        let left = until.saturating_sub(clock::now());
        // What was killed needs a moment to be over.
        if self.ending.is_some() && left.is_zero() { POLL_INTERVAL } else { left.min(POLL_INTERVAL) }
    }

    /// Ends the process where it is time to.
    fn enforce_limits(&mut self, now: Duration) {
        match self.ending {
            Some((_, kill_at)) if now >= kill_at => self.signal(Signal::KILL),
            None if now >= self.begun.saturating_add(self.limits.timeout) => self.end(Ending::Timeout, now),
            None if self.waits_for_terminal() => {
                self.ending = Some((Ending::Terminal, now));
                self.signal(Signal::KILL);
            }
            Some(_) | None => {}
        }
    }

    /// Asks the process and its children to end.
    fn end(&mut self, why: Ending, now: Duration) {
        self.ending = Some((why, now + GRACE));
        self.signal(Signal::TERM);
    }

    /// Whether it was stopped by the kernel: it is in the background and wanted to read from the terminal.
    fn waits_for_terminal(&self) -> bool {
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::PidFd(self.handle.as_fd()), options).ok().flatten();
        status
            .and_then(|status| status.stopping_signal())
            .is_some_and(|signal| signal == Signal::TTIN.as_raw())
    }

    fn signal(&self, signal: Signal) {
        // It may just have ended.
        let _ = kill_process_group(self.group, signal);
    }
}
