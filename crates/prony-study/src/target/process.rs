//! A process that was started through a guardian, seen from this side.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use prony_supervisor::{Ended, Environment, Guardian, Launch, SELF, Supervised};

use super::confinement::Confinement;
use crate::study::Stop;

/// Lines of a log that an error shows: a stack trace fits, and so does the page around it.
const TAIL_LINES: usize = 20;
/// Bytes of a log that are looked at for these lines.
const TAIL_BYTES: u64 = 8 << 10;

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
    /// Where it will write the authority of its certificate.
    pub(super) authority: Option<PathBuf>,
}

/// A process with its log. Dropped, everything is killed.
#[derive(Debug)]
pub(crate) struct Process {
    supervised: Supervised,
    log: PathBuf,
}

impl Process {
    /// Starts what `order` says, in the sandbox that `confinement` makes; whether the command itself can run shows in how
    /// it ends.
    pub(super) fn start(order: &Order<'_>, confinement: &Confinement) -> io::Result<Self> {
        let log = File::options().create(true).append(true).read(true).open(&order.log)?;
        log.set_len(0)?;
        let guardian = Guardian {
            words: confinement.around(&order.words, order.folder),
            signal: order.stop.signal,
            grace: order.stop.within,
            tree: false,
            cgroup: None,
        };
        let environment: Vec<(OsString, OsString)> =
            order.environment.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let launch = Launch {
            program: Path::new(SELF),
            guardian: &guardian,
            folder: order.folder,
            environment: Environment::Inherited(&environment),
        };
        Ok(Self { supervised: Supervised::start(&launch, log.into())?, log: order.log.clone() })
    }

    /// How it ended, if it has, or does within `patience`.
    pub(crate) fn ended(&mut self, patience: Duration) -> Option<Ended> {
        self.supervised.ended_within(patience)
    }

    /// Asks it to stop, and waits until it and all that it started are gone.
    pub(crate) fn stop(self) {
        self.supervised.stop();
    }

    /// The last lines that it wrote.
    pub(crate) fn log_tail(&self) -> String {
        tail(&self.log).unwrap_or_default()
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
    fn the_tail_of_a_log_is_short() {
        let path = std::env::temp_dir().join(format!("prony-tail-{}.log", std::process::id()));
        let lines: Vec<String> = (0..4000).map(|number| format!("line {number}")).collect();
        std::fs::write(&path, lines.join("\n\n")).expect("room");
        let tail = tail(&path).expect("it is there");
        std::fs::remove_file(&path).expect("it is there");
        assert!(tail.starts_with("line 3980\nline 3981\n") && tail.ends_with("\nline 3999"), "{tail}");
    }
}
