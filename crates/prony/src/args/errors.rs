//! clap's errors in prony's form.

use std::error::Error as _;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use prony_model::Problem;

use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::output;

/// Flags of other tools that people type here, and what to do instead.
const FOREIGN: [(&str, &str); 3] = [
    ("--latency", "every report has the latencies; `prony wrk` takes wrk's own flags"),
    ("--concurrency", "did you mean --connections? `prony ab` takes ab's own flags"),
    ("--script", "a method, a body or headers need no script: --method, --body, --header"),
];

/// The command that was typed.
pub(super) struct Typed {
    /// Its words, as in `prony lab gate`.
    path: String,
    command: clap::Command,
}

impl Typed {
    /// The command of `definition` to which the first of `words` lead.
    pub(super) fn new(definition: clap::Command, words: &[OsString]) -> Self {
        let (mut path, mut command) = ("prony".to_owned(), definition);
        for word in words.iter().skip(1).map(|word| word.to_string_lossy()) {
            let Some(below) = command.find_subcommand(word.as_ref()).cloned() else { break };
            path = format!("{path} {}", below.get_name());
            command = below;
        }
        Self { path, command }
    }

    /// A command line that can be followed.
    fn example(&self) -> String {
        let after = self.command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let first =
            after.lines().find_map(|line| line.strip_prefix("  ").filter(|line| line.starts_with("prony ")));
        if let Some(line) = first {
            return line.split("  ").next().unwrap_or(line).to_owned();
        }
        let usage = self.command.clone().bin_name(&self.path).render_usage().to_string();
        usage.trim_start_matches("Usage: ").replace(" [OPTIONS]", "")
    }
}

/// Prints what was requested (help, version), or reports what is wrong.
pub(super) fn show(error: &clap::Error, typed: &Typed) -> Result<Exit, CliError> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            output::print(&error.render().to_string())?;
            Ok(Exit::Good)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            output::print(&error.render().to_string())?;
            Ok(Exit::Usage)
        }
        _ => Err(cli_error(error, typed)),
    }
}

/// What is wrong, and what to try.
pub(super) fn cli_error(error: &clap::Error, typed: &Typed) -> CliError {
    let flag = context(error, ContextKind::InvalidArg).unwrap_or_default();
    let name = flag.split(' ').next().unwrap_or_default().to_owned();
    let value = context(error, ContextKind::InvalidValue).unwrap_or_default();
    match error.kind() {
        ErrorKind::UnknownArgument if flag.starts_with('-') => {
            let cli_error = CliError::usage(format!("there is no flag {flag}"));
            let foreign = FOREIGN.iter().find(|(name, _)| *name == flag);
            match (foreign, context(error, ContextKind::SuggestedArg)) {
                (Some((_, advice)), _) => cli_error.hint(*advice),
                (None, Some(meant)) => cli_error.hint(format!("did you mean {meant}?")),
                (None, None) => cli_error.hint(format!("see {} --help-all for every flag", typed.path)),
            }
        }
        ErrorKind::UnknownArgument => CliError::usage(format!("unexpected argument `{flag}`"))
            .hint(format!("quote what belongs together; for example: {}", typed.example())),
        ErrorKind::ValueValidation => match error.source() {
            Some(source) => problem(source).after(&format!("{name} ")).into(),
            None => CliError::usage(format!("`{value}` can't be the value of {name}")),
        },
        ErrorKind::InvalidValue if value.is_empty() => {
            CliError::usage(format!("{name} needs a value")).hint(format!("write {flag}"))
        }
        ErrorKind::InvalidValue => {
            let valid = context(error, ContextKind::ValidValue).unwrap_or_default();
            let cli_error = CliError::usage(format!("`{value}` can't be the value of {name}"));
            match context(error, ContextKind::SuggestedValue) {
                Some(meant) => cli_error.hint(format!("did you mean {meant}? it can be: {valid}")),
                None => cli_error.hint(format!("it can be: {valid}")),
            }
        }
        ErrorKind::ArgumentConflict => match context(error, ContextKind::PriorArg) {
            Some(prior) if prior != flag => {
                CliError::usage(format!("{flag} can't stand beside {prior}")).hint("leave out one of them")
            }
            _ => CliError::usage(format!("{flag} stands there twice")).hint("leave out one of them"),
        },
        ErrorKind::MissingRequiredArgument => {
            CliError::usage(format!("{flag} is missing")).hint(format!("for example: {}", typed.example()))
        }
        ErrorKind::InvalidSubcommand => {
            let word = context(error, ContextKind::InvalidSubcommand).unwrap_or_default();
            let cli_error = CliError::usage(format!("`{word}` is not a command"));
            match context(error, ContextKind::SuggestedSubcommand) {
                Some(meant) => cli_error.hint(format!("did you mean {meant}?")),
                None => cli_error.hint(format!("see {} --help", typed.path)),
            }
        }
        ErrorKind::MissingSubcommand => {
            CliError::usage("no command").hint(format!("see {} --help", typed.path))
        }
        _ => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            CliError::usage(first.trim_start_matches("error: "))
                .hint(format!("see {} --help-all", typed.path))
        }
    }
}

/// What the parser of a value found wrong. Parsers of others have a text only.
fn problem(source: &(dyn std::error::Error + 'static)) -> Problem {
    let problem = source.downcast_ref::<Problem>().cloned();
    problem.unwrap_or_else(|| Problem::without_advice(source.to_string()))
}

fn context(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => Some(texts.join(", ")),
        other => Some(other.to_string()),
    }
}
