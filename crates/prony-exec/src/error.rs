//! Why a series can't begin or go on.

use std::io;
use std::path::PathBuf;

use prony_model::{CommandExit, ExecPlanError};

/// A series that has no result.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// The plan contradicts itself.
    #[error(transparent)]
    Plan(#[from] ExecPlanError),
    /// A command line that is no list of words, where there is no shell to read it.
    #[error("`{line}` has a quote without its end: without a shell a command is a program and its arguments")]
    Words {
        /// The command.
        line: String,
    },
    /// There is no such program.
    #[error("there is no program `{program}`: is the name spelled right, and the folder in PATH?")]
    NotFound {
        /// Its name.
        program: String,
    },
    /// A program that could not be started.
    #[error("`{program}` can't be started ({source}): check that it is a program that you may run")]
    Start {
        /// Its name.
        program: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A command that failed.
    #[error("`{line}` {how} ({when})")]
    Failed {
        /// The command.
        line: String,
        /// How it ended.
        how: How,
        /// In which part of the series.
        when: String,
        /// Whether it is one of the measured commands, whose failures can be ignored.
        measured: bool,
        /// The end of what it wrote to stderr, where that was read.
        stderr: String,
    },
    /// A command that wants to read from the terminal.
    #[error(
        "`{line}` wants to read from the terminal: give it a file with --input, or arguments that need no answer"
    )]
    Terminal {
        /// The command.
        line: String,
    },
    /// The shell doesn't run.
    #[error("the shell `{shell}` can't run an empty command: name another with --shell, or use none with -N")]
    Shell {
        /// Its words.
        shell: String,
    },
    /// A file for the commands' input or output can't be opened.
    #[error("can't open {} ({source}): check that its folder exists and that you may use it", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The operating system failed.
    #[error("{what} ({source})")]
    System {
        /// What was tried.
        what: &'static str,
        /// The system's reason.
        source: io::Error,
    },
}

/// How a command ended, in words that follow its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct How(pub CommandExit);

impl std::fmt::Display for How {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            CommandExit::Code(code) => write!(formatter, "ended with exit code {code}"),
            CommandExit::Signal(signal) => write!(formatter, "was ended by signal {signal}"),
            CommandExit::Timeout => write!(formatter, "took longer than its timeout"),
        }
    }
}
