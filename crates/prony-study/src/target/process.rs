//! A process that was started through a guardian, seen from this side.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};

use super::keep::{KEEP, SELF, STOP};
use crate::clock;
use crate::study::Stop;

/// Lines of a log that an error shows: a stack trace fits, and so does the page around it.
const TAIL_LINES: usize = 20;
/// Bytes of a log that are looked at for these lines.
const TAIL_BYTES: u64 = 8 << 10;
/// The longest line of a guardian's report.
const MOST_REPORT_BYTES: usize = 256;

/// What is to be started.
#[derive(Debug)]
pub(super) struct Order<'a> {
    /// Program and arguments.
    pub(super) words: Vec<String>,
    /// Working folder.
    pub(super) folder: Option<&'a Path>,
    /// Added to the environment.
    pub(super) environment: BTreeMap<String, String>,
    /// How it is stopped.
    pub(super) stop: &'a Stop,
    /// Where its output goes.
    pub(super) log: PathBuf,
}

/// A process, its guardian and its log. Dropped, everything is killed.
#[derive(Debug)]
pub(crate) struct Process {
    guardian: Child,
    /// The guardian takes its end for ours.
    orders: Option<ChildStdin>,
    report: ChildStdout,
    said: Vec<u8>,
    log: PathBuf,
    ended: Option<Ended>,
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended {
    /// `code 1`, `signal 9`.
    how: String,
}

impl Ended {
    /// Whether it says that all went well.
    pub(crate) fn is_good(&self) -> bool {
        self.how == "code 0"
    }
}

impl std::fmt::Display for Ended {
    /// In words that follow "ended with".
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.how.split_once(' ') {
            Some(("code", code)) => write!(formatter, "exit code {code}"),
            _ => formatter.write_str(&self.how),
        }
    }
}

impl Process {
    /// Starts what `order` says; whether the command itself can run shows in how it ends.
    pub(super) fn start(order: &Order<'_>) -> io::Result<Self> {
        let log = File::options().create(true).append(true).read(true).open(&order.log)?;
        log.set_len(0)?;
        let mut command = Command::new(SELF);
        command
            .arg0("prony")
            .args([KEEP, "--signal", &order.stop.signal.to_string()])
            .args(["--grace-ms", &order.stop.within.as_millis().to_string(), "--"])
            .args(&order.words)
            .envs(&order.environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            // Ctrl-C in the terminal is for Prony, which then stops its targets in its own time.
            .process_group(0);
        if let Some(folder) = order.folder {
            command.current_dir(folder);
        }
        let mut guardian = command.spawn()?;
        let (orders, report) = (guardian.stdin.take(), guardian.stdout.take());
        let report = report.expect("invariant: it is piped");
        Ok(Self { guardian, orders, report, said: Vec::new(), log: order.log.clone(), ended: None })
    }

    /// How it ended, if it has, or does within `patience`.
    pub(crate) fn ended(&mut self, patience: Duration) -> Option<&Ended> {
        let until = clock::now() + patience;
        while self.ended.is_none() {
            let mut watched = [PollFd::new(&self.report, PollFlags::IN)];
            let left = clock::timespec(until.saturating_sub(clock::now()));
            match poll(&mut watched, Some(&left)) {
                // An error is a signal that the binary handles: the caller asks whether to stop.
                Ok(0) | Err(_) => break,
                Ok(_) => self.read(),
            }
        }
        self.ended.as_ref()
    }

    /// Reads once from the guardian; what it says is one short line.
    fn read(&mut self) {
        let mut chunk = [0; MOST_REPORT_BYTES];
        let got = self.report.read(&mut chunk).unwrap_or_default();
        self.said.extend_from_slice(&chunk[..got]);
        let is_over = got == 0 || self.said.contains(&b'\n') || self.said.len() > MOST_REPORT_BYTES;
        if is_over {
            let line = String::from_utf8_lossy(&self.said);
            let how = line.trim_end().strip_prefix("ended ").unwrap_or("its guardian").to_owned();
            self.ended = Some(Ended { how });
        }
    }

    /// Asks it to stop, and waits until it and all that it started are gone. The guardian sees to the time.
    pub(crate) fn stop(mut self) {
        if let Some(orders) = &mut self.orders {
            // It may just have ended.
            let _ = orders.write_all(&[STOP]);
        }
        let _ = self.guardian.wait();
    }

    /// The last lines that it wrote.
    pub(crate) fn log_tail(&self) -> String {
        tail(&self.log).unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Without orders the guardian kills what it keeps, and ends.
        self.orders = None;
        let _ = self.guardian.wait();
    }
}

/// The last lines of the text file `path`.
fn tail(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    Ok(lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_told_in_words() {
        let check = |how: &str, expected: &str, good: bool| {
            let ended = Ended { how: how.to_owned() };
            assert_eq!((ended.to_string().as_str(), ended.is_good()), (expected, good));
        };
        check("code 0", "exit code 0", true);
        check("code 127", "exit code 127", false);
        check("signal 9", "signal 9", false);
        check("its guardian", "its guardian", false);
    }

    #[test]
    fn the_tail_of_a_log_is_short() {
        let path = std::env::temp_dir().join(format!("prony-tail-{}.log", std::process::id()));
        let lines: Vec<String> = (0..4000).map(|number| format!("line {number}")).collect();
        std::fs::write(&path, lines.join("\n\n")).expect("room");
        let tail = tail(&path).expect("it is there");
        std::fs::remove_file(&path).expect("it is there");
        assert!(tail.starts_with("line 3980\nline 3981\n") && tail.ends_with("\nline 3999"), "{tail}");
    }
}
