//! A terminal: a pair of pseudo-terminal ends, and an emulator that knows what a person would see.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::binary::command;

/// A test that waits longer than this has failed.
const PATIENCE: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };

/// prony on a terminal of its own.
pub(super) struct Terminal {
    pub(super) child: Child,
    master: File,
    emulator: vt100::Parser,
    /// Everything that was written.
    pub(super) bytes: Vec<u8>,
}

/// Where stdout goes; stderr is always the terminal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stdout {
    Terminal,
    Pipe,
}

impl Terminal {
    /// Starts prony with `words` and `variables` on a terminal of `rows` and `columns`.
    pub(super) fn start(
        words: &[&str],
        variables: &[(&str, &str)],
        (rows, columns): (u16, u16),
        stdout: Stdout,
    ) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("its other end");
        let name = ptsname(&master, Vec::new()).expect("it has a name");
        let slave = open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).expect("it opens");
        set_size(&master, rows, columns);
        // `setsid --ctty` makes the terminal the one that Ctrl-C comes from.
        let prony = command();
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(prony.get_program());
        for (name, value) in prony.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.env("TERM", "xterm-256color").envs(variables.iter().copied()).args(words);
        let end = |slave: &OwnedFd| Stdio::from(slave.try_clone().expect("a copy"));
        command.stdin(end(&slave)).stderr(end(&slave));
        command.stdout(if stdout == Stdout::Terminal { end(&slave) } else { Stdio::piped() });
        let child = command.spawn().expect("setsid is there");
        Self {
            child,
            master: master.into(),
            emulator: vt100::Parser::new(rows, columns, 0),
            bytes: Vec::new(),
        }
    }

    /// The lines that stand on the screen.
    pub(super) fn lines(&self) -> Vec<String> {
        let screen = self.emulator.screen();
        screen.rows(0, screen.size().1).map(|line| line.trim_end().to_owned()).collect()
    }

    /// The screen itself.
    pub(super) fn screen(&self) -> &vt100::Screen {
        self.emulator.screen()
    }

    /// Reads until `is_there`; returns the lines on the screen.
    pub(super) fn until(&mut self, what: &str, is_there: impl Fn(&Self) -> bool) -> Vec<String> {
        while !is_there(self) {
            assert!(self.read(), "the terminal was closed before {what}:\n{}", self.lines().join("\n"));
        }
        self.lines()
    }

    /// Reads until the screen shows `text`.
    pub(super) fn until_text(&mut self, text: &str) -> Vec<String> {
        self.until(text, |terminal| terminal.lines().iter().any(|line| line.contains(text)))
    }

    /// Reads the rest; returns how prony ended.
    pub(super) fn end(&mut self) -> ExitStatus {
        while self.read() {}
        self.child.wait().expect("it was started")
    }

    /// Types `keys`.
    pub(super) fn type_keys(&mut self, keys: &[u8]) {
        self.master.write_all(keys).expect("the terminal takes keys");
    }

    /// Gives the terminal another size.
    pub(super) fn resize(&mut self, rows: u16, columns: u16) {
        set_size(&self.master, rows, columns);
        self.emulator.screen_mut().set_size(rows, columns);
    }

    /// Reads once; false where nobody has the other end any more.
    fn read(&mut self) -> bool {
        let ready = poll(&mut [PollFd::new(&self.master, PollFlags::IN)], Some(&PATIENCE)).expect("a poll");
        assert_eq!(ready, 1, "nothing came for a minute; the screen is\n{}", self.lines().join("\n"));
        let mut bytes = [0; 4096];
        // The kernel answers EIO when the last other end is closed.
        let Ok(count @ 1..) = self.master.read(&mut bytes) else { return false };
        self.bytes.extend_from_slice(&bytes[..count]);
        self.emulator.process(&bytes[..count]);
        true
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A test that failed leaves nothing behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn set_size(master: &impl std::os::fd::AsFd, rows: u16, columns: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(master, size).expect("a size");
}
