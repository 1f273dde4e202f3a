//! Entries as the steps of one session.

use std::time::Duration;

use prony_model::{Generated, Problem, Step, Think};

use super::parse::Entry;
use super::request::{self, Request};
use super::response;
use crate::ImportedScenario;
use crate::scenario::{Context, left_out};
use crate::session::Session;

/// The scenario of `entries`.
pub(super) fn scenario(entries: &[Entry<'_>], context: &Context<'_>) -> Result<ImportedScenario, Problem> {
    let mut session = Session::new(made, is_name, context.variables);
    for entry in entries {
        add(&mut session, entry)?;
    }
    session.finish(context.name)
}

/// What Hurl makes itself.
fn made(name: &str) -> Option<Generated> {
    match name {
        "newUuid" => Some(Generated::Uuid),
        "newDate" => Some(Generated::Time),
        _ => None,
    }
}

fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.chars().all(|one| one.is_ascii_alphanumeric() || "_-".contains(one))
}

fn add(session: &mut Session, entry: &Entry<'_>) -> Result<(), Problem> {
    let line = entry.request.line;
    let Some(request) = request::request(session, entry)? else {
        session.left_out.push(left_out(line, format!("{} {}", entry.method, entry.url), "`skip` is set"));
        return Ok(());
    };
    let Request { path, headers, body, redirects, delay } = request;
    if !delay.is_zero() {
        match session.steps.last_mut() {
            Some(before) => before.think = Think::Constant { time: delay },
            None => session.left_out.push(left_out(line, "delay", "a session begins without one")),
        }
    }
    let wanted = format!("{} {}", entry.method, path.split(['?', '{']).next().unwrap_or_default());
    let mut step = Step { headers, body, redirects, ..Step::bare(entry.method, path) };
    if let Some(expected) = &entry.response {
        response::expect(session, expected, &mut step)?;
    }
    session.add(&wanted, step);
    Ok(())
}

/// A time as Hurl's options have it: `500` and `500ms` are milliseconds, `2s`, `1m`.
pub(super) fn time(text: &str) -> Option<Duration> {
    let digits = text.len() - text.trim_start_matches(|one: char| one.is_ascii_digit()).len();
    let number: u64 = text[..digits].parse().ok()?;
    match &text[digits..] {
        "" | "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_secs(number.checked_mul(60)?)),
        "h" => Some(Duration::from_secs(number.checked_mul(3600)?)),
        _ => None,
    }
}
