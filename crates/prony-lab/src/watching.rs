//! What people ask of alerts, monitors and hooks: judged, written down, and noted in the audit log where it changes
//! whom the lab talks to.

use std::time::Duration;

use crate::auth::Secret;
use crate::clock::{self, Moment};
use crate::lab::{Lab, Refused};
use crate::model::{
    Alert, AlertId, AlertState, FieldMistake, Hook, HookId, HookRequest, Monitor, MonitorRequest, Role,
};
use crate::store::{StoreError, alerts, audit, hooks, monitors, projects};

/// An alert is silenced for a day where nobody says how long.
const SILENCE: Duration = Duration::from_hours(24);
/// Longer is to dismiss it.
const LONGEST_SILENCE: Duration = Duration::from_hours(365 * 24);
/// A note is a remark, not a document.
const MOST_NOTE_CHARS: usize = 2_000;

fn refused(field: &str, message: impl Into<String>) -> Refused {
    Refused::Fields(vec![FieldMistake { field: field.to_owned(), message: message.into() }])
}

impl Lab {
    /// Does what `by` says about an alert, and answers with it as it is then. `until` is for silence alone.
    pub(crate) async fn answer_alert(
        &self,
        id: AlertId,
        to: AlertState,
        until: Option<Moment>,
        note: Option<String>,
        by: &str,
    ) -> Result<Alert, Refused> {
        let now = clock::wall();
        let note = note.map(|note| note.trim().to_owned()).filter(|note| !note.is_empty());
        if note.as_ref().is_some_and(|note| note.chars().count() > MOST_NOTE_CHARS) {
            return Err(refused("note", format!("at most {MOST_NOTE_CHARS} characters")));
        }
        let until = match (to, until) {
            (AlertState::Silenced, Some(until)) if until <= now || until > now.after(LONGEST_SILENCE) => {
                return Err(refused(
                    "until",
                    "a moment within the next year; to silence it for ever, dismiss it",
                ));
            }
            (AlertState::Silenced, until) => Some(until.unwrap_or(now.after(SILENCE))),
            (AlertState::Closed, _) => {
                return Err(refused("state", "the lab itself closes alerts: dismiss it, or acknowledge it"));
            }
            _ => None,
        };
        let by = by.to_owned();
        let answered = self
            .store
            .write(move |tx| {
                alerts::answer(tx, id, to, &by, until, note.as_deref(), now)?;
                alerts::one(tx, id)?.ok_or_else(|| StoreError::Missing(format!("alert {id}")))
            })
            .await?;
        Ok(answered)
    }

    /// Adds a monitor, if `by`, who is `role`, may have its URL asked.
    pub(crate) async fn add_monitor(
        &self,
        request: MonitorRequest,
        by: &str,
        role: Role,
    ) -> Result<Monitor, Refused> {
        let new = request.checked(by, clock::wall()).map_err(Refused::Fields)?;
        self.judge_url(&new.url, role).await?;
        let by = by.to_owned();
        self.store
            .write(move |tx| {
                if monitors::by_name(tx, &new.name)?.is_some() {
                    return Ok(Err(refused("name", "there is a monitor of that name: choose another")));
                }
                let id = monitors::add(tx, &new)?;
                audit::append(tx, new.created_at, &by, "monitor.add", &new.name, &new.url)?;
                Ok(Ok(Monitor { id, ..new }))
            })
            .await?
    }

    /// Takes a monitor out.
    pub(crate) async fn remove_monitor(&self, name: String, by: &str) -> Result<Monitor, StoreError> {
        let by = by.to_owned();
        self.store
            .write(move |tx| {
                let missing = || StoreError::Missing(format!("monitor {name}"));
                let monitor = monitors::by_name(tx, &name)?.ok_or_else(missing)?;
                let now = clock::wall();
                monitors::remove(tx, monitor.id, now)?;
                audit::append(tx, now, &by, "monitor.remove", &name, &monitor.url)?;
                Ok(monitor)
            })
            .await
    }

    /// Adds a hook, if `by`, who is `role`, may have its URL asked. Its secret is shown this once.
    pub(crate) async fn add_hook(
        &self,
        request: HookRequest,
        by: &str,
        role: Role,
    ) -> Result<(Hook, String), Refused> {
        let name = request.project.clone();
        let project = match name.as_str() {
            "" => None,
            _ => self.store.read(move |tx| projects::by_name(tx, &name)).await?,
        };
        let now = clock::wall();
        let new = request.checked(project.map(|project| project.id), by, now).map_err(Refused::Fields)?;
        self.judge_url(&new.url, role).await?;
        let (by, secret) = (by.to_owned(), Secret::new().text());
        let signs = secret.clone();
        let hook = self
            .store
            .write(move |tx| {
                let id = hooks::add(tx, &new, &signs)?;
                audit::append(tx, now, &by, "hook.add", &id.to_string(), &new.url)?;
                Ok(Hook { id, ..new })
            })
            .await?;
        Ok((hook, secret))
    }

    /// Takes a hook out, with all that it was still to be told.
    pub(crate) async fn remove_hook(&self, id: HookId, by: &str) -> Result<(), StoreError> {
        let by = by.to_owned();
        self.store
            .write(move |tx| {
                let now = clock::wall();
                hooks::remove(tx, id, now)?;
                audit::append(tx, now, &by, "hook.remove", &id.to_string(), "")?;
                Ok(())
            })
            .await
    }
}
