//! clap's errors in prony's form.

use std::error::Error as _;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::complaint::Complaint;
use crate::exit::Exit;
use crate::output;

/// Prints what was asked for (help, version), or says what is wrong.
pub(super) fn show(error: &clap::Error) -> Result<Exit, Complaint> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            output::print(&error.render().to_string())?;
            Ok(Exit::Good)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            output::print(&error.render().to_string())?;
            Ok(Exit::Usage)
        }
        _ => Err(complaint(error)),
    }
}

/// What is wrong, and what to try.
pub(super) fn complaint(error: &clap::Error) -> Complaint {
    let flag = context(error, ContextKind::InvalidArg).unwrap_or_default();
    let name = flag.split(' ').next().unwrap_or_default().to_owned();
    let value = context(error, ContextKind::InvalidValue).unwrap_or_default();
    match error.kind() {
        ErrorKind::UnknownArgument if flag.starts_with('-') => {
            let complaint = Complaint::usage(format!("there is no flag {flag}"));
            match context(error, ContextKind::SuggestedArg) {
                Some(meant) => complaint.hint(format!("did you mean {meant}?")),
                None => complaint.hint("see prony --help-all for every flag"),
            }
        }
        ErrorKind::UnknownArgument => Complaint::usage(format!("`{flag}` is one word too many"))
            .hint("one run loads one URL; quote what belongs together"),
        ErrorKind::ValueValidation => match error.source() {
            Some(source) => Complaint::from_words(&Named { name: &name, source }),
            None => Complaint::usage(format!("`{value}` can't be the value of {name}")),
        },
        ErrorKind::InvalidValue if value.is_empty() => {
            Complaint::usage(format!("{name} needs a value")).hint(format!("write {flag}"))
        }
        ErrorKind::InvalidValue => {
            let valid = context(error, ContextKind::ValidValue).unwrap_or_default();
            let complaint = Complaint::usage(format!("`{value}` can't be the value of {name}"));
            match context(error, ContextKind::SuggestedValue) {
                Some(meant) => complaint.hint(format!("did you mean {meant}? it can be: {valid}")),
                None => complaint.hint(format!("it can be: {valid}")),
            }
        }
        ErrorKind::ArgumentConflict => match context(error, ContextKind::PriorArg) {
            Some(prior) if prior != flag => {
                Complaint::usage(format!("{flag} can't stand beside {prior}")).hint("leave out one of them")
            }
            _ => Complaint::usage(format!("{flag} stands there twice")).hint("leave out one of them"),
        },
        ErrorKind::MissingRequiredArgument => {
            Complaint::usage(format!("{flag} is missing")).hint("for example: prony http://127.0.0.1:3000/")
        }
        ErrorKind::InvalidSubcommand => {
            let typed = context(error, ContextKind::InvalidSubcommand).unwrap_or_default();
            let complaint = Complaint::usage(format!("`{typed}` is not a command"));
            match context(error, ContextKind::SuggestedSubcommand) {
                Some(meant) => complaint.hint(format!("did you mean {meant}?")),
                None => complaint.hint("see prony --help"),
            }
        }
        ErrorKind::MissingSubcommand => Complaint::usage("no command").hint("see prony --help"),
        _ => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            Complaint::usage(first.trim_start_matches("error: ")).hint("see prony --help-all")
        }
    }
}

/// An error with the flag before it.
#[derive(Debug)]
struct Named<'a> {
    name: &'a str,
    source: &'a dyn std::error::Error,
}

impl std::fmt::Display for Named<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}", self.name, self.source)
    }
}

impl std::error::Error for Named<'_> {}

fn context(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => Some(texts.join(", ")),
        other => Some(other.to_string()),
    }
}
