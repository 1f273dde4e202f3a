//! What prony prints when it can't do what was requested: what happened, on what, what to try.

use std::io::Write as _;

use prony_engine::RunError;
use prony_exec::{ExecError, How};
use prony_model::{
    CommandExit, ExecPlan, ExecPlanError, OptionsError, PlanError, Problem, SourceError, TargetError,
    TlsChoicesError,
};
use prony_report::clean;

use crate::exit::Exit;

/// Lines of a failed command's stderr that are shown.
const LINES_MAX: usize = 10;

/// An error as a person reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CliError {
    what: String,
    advice: Vec<String>,
    exit: Exit,
}

impl CliError {
    /// A command line that can't be followed.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self { what: what.into(), advice: Vec::new(), exit: Exit::Usage }
    }

    /// A server that does not do what it should.
    pub(crate) fn target_failed(what: impl Into<String>) -> Self {
        Self { exit: Exit::TargetFailed, ..Self::usage(what) }
    }

    /// The same, as a library found it.
    pub(crate) fn of_target(problem: Problem) -> Self {
        Self { exit: Exit::TargetFailed, ..Self::from(problem) }
    }

    /// Something that should have worked.
    pub(crate) fn internal(what: impl Into<String>) -> Self {
        Self { exit: Exit::Internal, ..Self::usage(what) }
    }

    /// Adds a line with what to try.
    pub(crate) fn hint(mut self, advice: impl Into<String>) -> Self {
        self.advice.push(advice.into());
        self
    }

    /// Adds what is probably meant where every command of `plan` is one word.
    pub(crate) fn about(self, plan: &ExecPlan) -> Self {
        let words: Vec<&str> = plan.commands.iter().map(|command| command.line.as_str()).collect();
        if self.exit != Exit::TargetFailed || words.len() < 2 || words.iter().any(|word| word.contains(' ')) {
            return self;
        }
        self.hint(format!(
            "each word is a command here; quote what belongs together: prony exec '{}'",
            words.join(" ")
        ))
    }

    /// The same for somebody else to word.
    pub(crate) fn problem(&self) -> Problem {
        let advice = Some(self.advice.join("; ")).filter(|advice| !advice.is_empty());
        Problem { what: self.what.clone(), advice, field: None }
    }

    /// Writes it to stderr and returns the exit code.
    pub(crate) fn report(&self) -> Exit {
        // If stderr is closed there is no other place to report it.
        let _ = std::io::stderr().write_all(self.text().as_bytes());
        self.exit
    }

    /// All of it on one line, to stand within a report.
    pub(crate) fn in_a_line(&self) -> String {
        std::iter::once(&self.what).chain(&self.advice).map(String::as_str).collect::<Vec<_>>().join("; ")
    }

    /// What is written to stderr.
    pub(crate) fn text(&self) -> String {
        let advice = self.advice.iter().map(|advice| format!("       {}\n", clean(advice)));
        std::iter::once(format!("error: {}\n", clean(&self.what))).chain(advice).collect()
    }
}

/// How the command line writes the setting of a plain name.
pub(crate) fn flag(name: &str) -> String {
    format!("--{name}")
}

impl From<Problem> for CliError {
    /// A usage error.
    fn from(problem: Problem) -> Self {
        Self { advice: Vec::from_iter(problem.advice), ..Self::usage(problem.what) }
    }
}

impl From<TargetError> for CliError {
    fn from(error: TargetError) -> Self {
        error.problem().into()
    }
}

impl From<SourceError> for CliError {
    fn from(error: SourceError) -> Self {
        error.problem(flag).into()
    }
}

impl From<OptionsError> for CliError {
    fn from(error: OptionsError) -> Self {
        error.problem(flag).into()
    }
}

impl From<TlsChoicesError> for CliError {
    fn from(error: TlsChoicesError) -> Self {
        error.problem(flag).into()
    }
}

impl From<PlanError> for CliError {
    fn from(error: PlanError) -> Self {
        error.problem(flag).into()
    }
}

impl From<ExecPlanError> for CliError {
    fn from(error: ExecPlanError) -> Self {
        error.problem(flag).into()
    }
}

impl From<RunError> for CliError {
    fn from(error: RunError) -> Self {
        let cli_error = Self::from(error.problem(flag));
        match &error {
            RunError::Plan(_)
            | RunError::Server(_)
            | RunError::NoUring(_)
            | RunError::Source { .. }
            | RunError::SourceFamily { .. }
            | RunError::UnixPath { .. }
            | RunError::Descriptors { .. }
            | RunError::TlsSetup(_)
            | RunError::Request(_)
            | RunError::Check(_) => cli_error,
            RunError::Tls { .. } | RunError::NoHttp2 { .. } => Self { exit: Exit::TargetFailed, ..cli_error },
            RunError::Resolve { .. } => Self { exit: Exit::TargetFailed, ..cli_error }
                .hint("is the name spelled right? an address works too: http://127.0.0.1:3000/"),
            RunError::NothingAnswers { address, .. } => {
                let cli_error = Self { exit: Exit::TargetFailed, ..cli_error };
                match address.parse::<std::net::SocketAddr>() {
                    Ok(address) if address.ip().is_loopback() => cli_error.hint(format!(
                        "is the server running? `prony serve rudy --port {}` starts one to try",
                        address.port()
                    )),
                    _ => {
                        cli_error.hint("is the server running, and does a firewall let this machine through?")
                    }
                }
            }
            RunError::StartPassed { .. } | RunError::System { .. } => {
                Self { exit: Exit::Internal, ..cli_error }
            }
        }
    }
}

impl From<ExecError> for CliError {
    fn from(error: ExecError) -> Self {
        let cli_error = Self::from(error.problem(flag));
        match &error {
            ExecError::Plan(_) | ExecError::Words { .. } => cli_error,
            ExecError::NotFound { .. }
            | ExecError::Shell { .. }
            | ExecError::Terminal { .. }
            | ExecError::Start { .. }
            | ExecError::File { .. } => Self { exit: Exit::TargetFailed, ..cli_error },
            ExecError::Failed { how, measured, stderr, .. } => {
                let mut cli_error = Self { exit: Exit::TargetFailed, ..cli_error };
                let lines: Vec<&str> = stderr.lines().filter(|line| !line.trim().is_empty()).collect();
                for line in &lines[lines.len().saturating_sub(LINES_MAX)..] {
                    cli_error = cli_error.hint(format!("| {line}"));
                }
                cli_error.hint(match (*measured, how) {
                    (true, How(CommandExit::Code(code))) => {
                        format!("-i goes on after failures; -i={code} says that exit code {code} is good")
                    }
                    (true, _) => "-i goes on after failures".to_owned(),
                    (false, _) => "`|| true` behind a command ignores its failures".to_owned(),
                })
            }
            ExecError::System { .. } => Self::internal(format!("failed to {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(problem: Problem, expected: &str) {
        assert_eq!(CliError::from(problem).text(), expected);
    }

    #[test]
    fn a_librarys_advice_gets_a_line_of_its_own() {
        check(
            TargetError::TlsThroughProxy.problem(),
            "error: https through a proxy is not supported yet\n       load the server directly, without the proxy\n",
        );
        check(
            prony_model::parse_count("a: b").expect_err("no count"),
            "error: `a: b` is not a count\n       write a whole number such as 5000, 5k or 2M\n",
        );
    }

    #[test]
    fn foreign_text_is_cleaned() {
        assert_eq!(CliError::usage("\u{1b}[2J").text(), "error: \\u{1b}[2J\n");
    }

    #[test]
    fn a_target_that_is_not_there() {
        let nothing = |address: &str| {
            CliError::from(RunError::NothingAnswers {
                address: address.to_owned(),
                why: "refused".to_owned(),
            })
        };
        assert_eq!(nothing("127.0.0.1:3000").exit, Exit::TargetFailed);
        assert!(
            nothing("127.0.0.1:3000").text().contains("`prony serve rudy --port 3000` starts one to try")
        );
        assert!(nothing("192.0.2.1:80").text().contains("firewall"));
    }
}
