//! `prony lab user`, `token`, `policy` and `audit`: what the administrator does at the machine itself, whether the lab runs
//! or not.

use prony_lab::{AccessError, LocalAdmin};
use prony_report::clean;

use super::{cli_error, place, refused};
use crate::args::{LabAuditArgs, LabPlaceArgs, LabPolicyArgs, LabTokenArgs, LabUserArgs};
use crate::args::{PolicyAction, TokenAction, UserAction};
use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::output;

/// A policy is written by hand.
const POLICY_BYTES_MAX: u64 = 1 << 20;
/// In whose name the audit log keeps what is done here, where the system doesn't know the user.
const SOMEBODY: &str = "somebody at the machine";

/// Users.
pub(super) fn user(args: &LabUserArgs) -> Result<Exit, CliError> {
    match &args.action {
        UserAction::List { place } => {
            let users = done(open(place)?.users())?;
            if users.is_empty() {
                output::write_stderr(
                    "nobody yet: `prony lab` prints a link for the first admin when it starts\n",
                );
            }
            for user in users {
                let state = match (user.disabled_at, user.has_password) {
                    (Some(since), _) => format!("kept out since {} UTC", since.utc()),
                    (None, true) => "can log in".to_owned(),
                    (None, false) => "has no password yet".to_owned(),
                };
                output::print(&format!("{:<7} {:<24} {state}\n", user.role.name(), user.name))?;
            }
        }
        UserAction::Add { name, role, lab, place } => {
            let path = done(open(place)?.invite(name, *role))?;
            output::print(&format!("{}{path}\n", lab.trim_end_matches('/')))?;
            output::write_stderr("the link sets a password, once, within an hour, when the lab runs\n");
        }
        UserAction::Role { name, role, place } => done(open(place)?.set_role(name.as_str(), *role))?,
        UserAction::Disable { name, place } => done(open(place)?.set_disabled(name.as_str(), true))?,
        UserAction::Enable { name, place } => done(open(place)?.set_disabled(name.as_str(), false))?,
        UserAction::SignOut { name, place } => done(open(place)?.end_sessions(name.as_str()))?,
    }
    Ok(Exit::Good)
}

/// Tokens.
pub(super) fn token(args: &LabTokenArgs) -> Result<Exit, CliError> {
    match &args.action {
        TokenAction::List { place } => {
            for token in done(open(place)?.tokens())? {
                let state = match token.revoked_at {
                    Some(since) => format!("void since {} UTC", since.utc()),
                    None => format!("good since {} UTC", token.created_at.utc()),
                };
                let role = token.role.name();
                output::print(&format!(
                    "{} {role:<7} {:<16} {} ({state})\n",
                    token.id,
                    token.user,
                    clean(&token.name)
                ))?;
            }
        }
        TokenAction::Add { user, label, role, days, place } => {
            let token = done(open(place)?.add_token(user.as_str(), label, *role, *days))?;
            output::print(&format!("{token}\n"))?;
            output::write_stderr("nobody sees it again: keep it as PRONY_LAB_TOKEN where it is used\n");
        }
        TokenAction::Revoke { id, place } => done(open(place)?.revoke_token(id))?,
    }
    Ok(Exit::Good)
}

/// The target policy.
pub(super) fn policy(args: &LabPolicyArgs) -> Result<Exit, CliError> {
    match &args.action {
        PolicyAction::Show { place } => output::print(&done(open(place)?.policy_text())?)?,
        PolicyAction::Set { file, place } => {
            let text = text(file)?;
            done(open(place)?.set_policy(&text))?;
        }
        PolicyAction::Check { url, role, place } => match done(open(place)?.check_url(*role, url))? {
            Ok(addresses) => {
                for address in addresses {
                    output::print(&format!("allowed  {address}\n"))?;
                }
            }
            Err(refusal) => {
                output::print(&format!("refused  {}\n", clean(&refusal)))?;
                return Ok(Exit::ThresholdMissed);
            }
        },
    }
    Ok(Exit::Good)
}

/// Whether the audit log is whole.
pub(super) fn audit(args: &LabAuditArgs) -> Result<Exit, CliError> {
    let (entries, head, broken_at) = done(open(&args.place)?.check_audit())?;
    if let Some(entry) = broken_at {
        return Err(CliError::target_failed(format!("entry {entry} of the audit log is not what it was"))
            .hint("compare it with a copy: prony lab backup makes one"));
    }
    if args.head.as_ref().is_some_and(|expected| *expected != head) {
        return Err(CliError::target_failed(format!("the audit log ends with {head}, not as required"))
            .hint("entries were added since, or its end was cut off: compare it with a copy"));
    }
    output::print(&format!("whole: {entries} entries, the last is {head}\n"))?;
    Ok(Exit::Good)
}

/// The lab at `place`, whether it runs or not.
pub(super) fn open(place: &LabPlaceArgs) -> Result<LocalAdmin, CliError> {
    let (data, store) = self::place(place)?;
    LocalAdmin::open(&data, &store, &by()).map_err(|error| {
        let is_running = matches!(error, prony_lab::StoreError::InUse(_));
        let cli_error = cli_error(&error.into());
        if is_running {
            cli_error.hint(
                "a lab that uses the store runs elsewhere: run the command on its machine as its user, with its \
                 --data, or use its page /admin",
            )
        } else {
            cli_error
        }
    })
}

/// In whose name the audit log keeps what is done here.
fn by() -> String {
    let set = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
    let by = set("USER").or_else(|| set("LOGNAME"));
    by.map_or_else(|| SOMEBODY.to_owned(), |user| format!("{user} at the machine"))
}

pub(super) fn done<T>(result: Result<T, AccessError>) -> Result<T, CliError> {
    result.map_err(|error| refused(&error))
}

fn text(file: &std::path::Path) -> Result<String, CliError> {
    use std::io::Read as _;
    let unreadable =
        |error: std::io::Error| CliError::usage(format!("can't read {} ({error})", file.display()));
    let source: Box<dyn std::io::Read> = if file == std::path::Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(std::fs::File::open(file).map_err(unreadable)?)
    };
    let mut text = String::new();
    source.take(POLICY_BYTES_MAX).read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}
