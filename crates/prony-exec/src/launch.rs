//! From a command line to a process that can be started.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use prony_model::{ExecOutput, ExecPlan};

use crate::ExecError;

/// What a command is run for; that decides where its output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Its time counts, or it warms up for that.
    Measured,
    /// Setup, prepare and the like: only its errors are of interest.
    Around,
    /// To time the start of a program: what it prints is of no interest to anybody.
    StartUp,
    /// What it prints is looked at.
    Looked,
}

/// The process that runs `line`, not yet started.
pub(crate) fn command(plan: &ExecPlan, line: &str, purpose: Purpose) -> Result<Command, ExecError> {
    let mut command = match plan.shell.as_deref() {
        Some([shell, words @ ..]) => {
            let mut command = Command::new(shell);
            command.args(words).arg(line);
            command
        }
        _ => direct(line)?,
    };
    command.stdin(match &plan.input {
        Some(path) if purpose == Purpose::Measured => Stdio::from(open(path, File::open(path))?),
        _ => Stdio::null(),
    });
    let (stdout, stderr) = match (purpose, &plan.output) {
        (Purpose::Looked, _) | (Purpose::Measured, ExecOutput::Pipe) => (Stdio::piped(), Stdio::piped()),
        (Purpose::StartUp, ExecOutput::Inherit) => (Stdio::null(), Stdio::piped()),
        (_, ExecOutput::Inherit) => (Stdio::inherit(), Stdio::inherit()),
        (Purpose::Measured, ExecOutput::File(path)) => {
            (Stdio::from(open(path, File::create(path))?), Stdio::piped())
        }
        (_, _) => (Stdio::null(), Stdio::piped()),
    };
    command.stdout(stdout).stderr(stderr);
    Ok(command)
}

/// What is started for `line`, for messages.
pub(crate) fn program(plan: &ExecPlan, line: &str) -> String {
    match plan.shell.as_deref() {
        Some([shell, ..]) => shell.clone(),
        _ => first_word(line),
    }
}

/// The first word of `line`: what a shell that can't find a command can't find.
pub(crate) fn first_word(line: &str) -> String {
    let words = shell_words::split(line).unwrap_or_default();
    words.into_iter().next().unwrap_or_else(|| line.to_owned())
}

/// A program and its arguments, quoted as in a shell, with nothing else of a shell.
fn direct(line: &str) -> Result<Command, ExecError> {
    let words = shell_words::split(line).map_err(|_| ExecError::Words { line: line.to_owned() })?;
    let mut words = words.into_iter();
    let program = words.next().ok_or_else(|| ExecError::NotFound { program: line.to_owned() })?;
    let mut command = Command::new(program);
    command.args(words);
    Ok(command)
}

fn open(path: &Path, file: std::io::Result<File>) -> Result<File, ExecError> {
    file.map_err(|source| ExecError::File { path: path.to_owned(), source })
}
