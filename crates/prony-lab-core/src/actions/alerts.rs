//! Alerts: how people answer them.

use std::time::Duration;

use super::{Ctx, Refused};
use prony_lab_model::{Alert, AlertId, AlertState, FieldMistake};
use prony_lab_store::{StoreError, Tx, alerts};

/// A note is a few sentences.
const NOTE_CHARACTERS_MAX: usize = 2_000;
/// Nobody remembers a longer silence.
const SILENCE_MAX: Duration = Duration::from_hours(366 * 24);

/// An answer to an alert.
#[derive(Debug)]
pub struct Reply {
    /// What it becomes.
    pub state: AlertState,
    /// For how long it is silenced.
    pub silence: Option<Duration>,
    /// Why.
    pub note: Option<String>,
}

/// Applies an answer to an alert.
pub fn answer(tx: &mut Tx<'_>, ctx: &Ctx, id: AlertId, reply: &Reply) -> Result<Alert, Refused> {
    let mistake = |field: &str, message: &str| {
        Err(Refused::Fields(vec![FieldMistake { field: field.to_owned(), message: message.to_owned() }]))
    };
    let note = reply.note.as_deref().map(str::trim).filter(|note| !note.is_empty());
    if note.is_some_and(|note| note.chars().count() > NOTE_CHARACTERS_MAX) {
        return mistake("note", &format!("a note has at most {NOTE_CHARACTERS_MAX} characters"));
    }
    let until = match (reply.state, reply.silence) {
        (AlertState::Silenced, Some(silence)) if !silence.is_zero() && silence <= SILENCE_MAX => {
            Some(ctx.now.after(silence))
        }
        (AlertState::Silenced, _) => return mistake("silence_s", "say for how long, at most a year"),
        (_, Some(_)) => return mistake("silence_s", "it is for the state silenced"),
        (_, None) => None,
    };
    alerts::answer(tx, id, reply.state, &ctx.who.name, until, note, ctx.now)?;
    let subject = format!("alert {id}");
    ctx.note(tx, "alert.answer", &subject, &format!("{}: {}", reply.state.name(), note.unwrap_or_default()))?;
    alerts::one(tx, id)?.ok_or_else(|| StoreError::Missing(subject).into())
}
