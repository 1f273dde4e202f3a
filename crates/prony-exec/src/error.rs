//! Why a series can't begin or go on.

use std::path::PathBuf;
use std::{fmt, io};

use prony_model::{CommandExit, ExecPlanError, Problem, Spelling, plain_spelling};

/// A series that has no result.
#[derive(Debug)]
pub enum ExecError {
    /// The plan contradicts itself.
    Plan(ExecPlanError),
    /// A command line that is no list of words, where there is no shell to read it.
    Words {
        /// The command.
        line: String,
    },
    /// There is no such program.
    NotFound {
        /// Its name.
        program: String,
    },
    /// A program that could not be started.
    Start {
        /// Its name.
        program: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A command that failed.
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
    Terminal {
        /// The command.
        line: String,
    },
    /// The shell doesn't run.
    Shell {
        /// Its words.
        shell: String,
    },
    /// A file for the commands' input or output can't be opened.
    File {
        /// Which.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The operating system failed.
    System {
        /// What was tried.
        what: &'static str,
        /// The system's reason.
        source: io::Error,
    },
}

impl ExecError {
    /// What is wrong, and what to try where that is the same for everybody.
    pub fn problem(&self, spelled: Spelling) -> Problem {
        match self {
            Self::Plan(error) => error.problem(spelled),
            Self::Words { line } => Problem::new(
                format!("`{line}` has a quote without its end"),
                "without a shell a command is a program and its arguments",
            ),
            Self::NotFound { program } => Problem::new(
                format!("there is no program `{program}`"),
                "is the name spelled right, and the folder in PATH?",
            ),
            Self::Start { program, source } => Problem::new(
                format!("`{program}` can't be started ({source})"),
                "check that it is a program that you may run",
            ),
            Self::Failed { line, how, when, .. } => {
                Problem::without_advice(format!("`{line}` {how} ({when})"))
            }
            Self::Terminal { line } => {
                let input = spelled("input");
                let advice = format!("give it a file with {input}, or arguments that need no answer");
                Problem::new(format!("`{line}` wants to read from the terminal"), advice).about("input")
            }
            Self::Shell { shell } => {
                let advice = format!("name another with {}, or use none with -N", spelled("shell"));
                Problem::new(format!("the shell `{shell}` can't run an empty command"), advice).about("shell")
            }
            Self::File { path, source } => Problem::new(
                format!("can't open {} ({source})", path.display()),
                "check that its folder exists and that you may use it",
            ),
            Self::System { what, source } => Problem::without_advice(format!("{what} ({source})")),
        }
    }
}

impl fmt::Display for ExecError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem(plain_spelling).fmt(formatter)
    }
}

impl std::error::Error for ExecError {}

impl From<ExecPlanError> for ExecError {
    fn from(error: ExecPlanError) -> Self {
        Self::Plan(error)
    }
}

/// How a command ended, in words that follow its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct How(pub CommandExit);

impl fmt::Display for How {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            CommandExit::Code(code) => write!(formatter, "ended with exit code {code}"),
            CommandExit::Signal(signal) => write!(formatter, "was ended by signal {signal}"),
            CommandExit::Timeout => write!(formatter, "took longer than its timeout"),
        }
    }
}
