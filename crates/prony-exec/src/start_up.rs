//! What measures how long a program takes to start: the same program doing nothing, run in turn with the commands.

use std::time::Duration;

use prony_model::{CommandExit, StartUpSource};

use crate::process::{End, Ended};

/// Runs of a start-up command at most: the median of as many is within a few percent, and each costs time.
pub(crate) const RUNS_MAX: usize = 20;
/// Longer than this no program takes to print its version; one that does something else instead is ended.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// A start-up command that works.
#[derive(Debug)]
pub(crate) struct StartUp {
    pub(crate) line: String,
    pub(crate) source: StartUpSource,
    /// The commands that it stands for, from 0.
    pub(crate) commands: Vec<usize>,
    /// Seconds, the shell's share subtracted.
    pub(crate) times_s: Vec<f64>,
}

impl StartUp {
    /// Whether it has run often enough.
    pub(crate) fn is_done(&self) -> bool {
        self.times_s.len() >= RUNS_MAX
    }
}

/// Whether what was tried stands for a start: it worked, and where it should print a version, it did. A program that
/// ignores `--version` and does its work would pass its whole time for start-up.
pub(crate) fn is_start(ended: &Ended, source: StartUpSource) -> bool {
    let worked = ended.end == End::Own(CommandExit::Code(0));
    worked && (source != StartUpSource::Version || has_version(&ended.stdout) || has_version(&ended.stderr))
}

/// Whether `text` has a version in it: digits, a dot, digits.
fn has_version(text: &[u8]) -> bool {
    text.windows(3).any(|three| three[0].is_ascii_digit() && three[1] == b'.' && three[2].is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        let check = |text: &str, expected: bool| assert_eq!(has_version(text.as_bytes()), expected, "{text}");
        check("GNU Wget 1.21.3 built on linux-gnu.", true);
        check("v18.19.0\n", true);
        check("usage: tool [-v]", false);
        check("5. item", false);
        check("", false);
    }
}
