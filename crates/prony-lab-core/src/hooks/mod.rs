//! Notifies others of events: by webhook, signed; by e-mail; and forges by the status of a commit.
//!
//! One thread reads new events and puts notifications into an outbox in the store, in the transaction that marks the
//! events as seen: if the lab ends, nothing is lost or queued twice. Another empties the outbox. A delivery that fails
//! is retried with growing pauses, and given up at last; where an answer gets lost, the same notification is sent twice,
//! with the same `X-Prony-Delivery`.

mod body;
mod failure;
mod forge;
mod mail;
mod outbox;
#[cfg(test)]
mod status_tests;
mod statuses;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

pub use mail::Mailer;

use crate::definitions::Definitions;
use crate::event_cursor::{AFTER_ERROR, Cursor, POLL_INTERVAL};
use body::Notification;
use outbox::Outbox;
use prony_lab_model::clock;
use prony_lab_model::{AlertKind, AlertState, Hook};
use prony_lab_store::background::Background;
use prony_lab_store::events::Event;
use prony_lab_store::{Store, StoreError, Tx, builds, hooks, monitors};

/// Where the store keeps what this thread has seen.
pub(crate) const SEEN: &str = "seen.hooks";

/// Starts the notifications; by e-mail where there is a `mailer`, and about the lab itself to `operator`. The lab, whose
/// folder is `data`, is reached at `address`, if that is known.
pub fn start(
    store: &Store,
    mailer: Option<Mailer>,
    operator: Option<String>,
    address: String,
    data: PathBuf,
) -> std::io::Result<[Background; 2]> {
    let senders = Senders { has_mail: mailer.is_some(), operator, address };
    let mut fill = Fill::new(store.clone(), senders);
    let mut outbox = Outbox::new(store.clone(), mailer, data);
    Ok([
        Background::start_aside("lab-outbox", move || fill.pause())?,
        Background::start("lab-hooks", move || outbox.turn(clock::wall()))?,
    ])
}

/// Fills the outbox.
struct Fill {
    store: Store,
    cursor: Cursor,
    definitions: Definitions,
    senders: Senders,
}

/// What notifications need to know of the lab.
#[derive(Debug, Clone)]
struct Senders {
    has_mail: bool,
    /// Who gets mail about the lab itself.
    operator: Option<String>,
    address: String,
}

impl Fill {
    fn new(store: Store, senders: Senders) -> Self {
        Self { store, cursor: Cursor::new(SEEN), definitions: Definitions::default(), senders }
    }

    fn pause(&mut self) -> Duration {
        match self.turn() {
            Ok(true) => Duration::ZERO,
            Ok(false) => POLL_INTERVAL,
            // Nothing was noted as seen: the same is tried again.
            Err(_) => AFTER_ERROR,
        }
    }

    /// Looks at some events, if there are any; whether there may be more.
    fn turn(&mut self) -> Result<bool, StoreError> {
        let is_meant = |kind: &str| kind != "task.output";
        let events = self.cursor.unseen(&self.store, is_meant)?;
        let Some(last) = events.last().map(|event| event.id) else { return Ok(false) };
        let (senders, definitions) = (self.senders.clone(), self.definitions.clone());
        self.store.write_blocking(move |tx| {
            let hooks = hooks::all(tx)?;
            for event in &events {
                fill(tx, event, &hooks, &senders)?;
            }
            statuses::queue(tx, &events, &definitions, &senders.address, clock::wall())?;
            Cursor::write(tx, SEEN, last)
        })?;
        self.cursor.advance(last);
        Ok(true)
    }
}

fn fill(tx: &mut Tx<'_>, event: &Event, hooks: &[Hook], senders: &Senders) -> Result<(), StoreError> {
    let address = senders.address.as_str();
    let is_wanted = hooks.iter().any(|hook| hook.is_for(&event.kind, hook.project));
    let is_mailed = senders.has_mail && may_be_mailed(&event.kind);
    if !is_wanted && !is_mailed {
        return Ok(());
    }
    let notification = Notification::of(tx, event, address)?;
    let now = clock::wall();
    for hook in hooks.iter().filter(|hook| hook.is_for(&event.kind, notification.project())) {
        hooks::queue_for_hook(tx, hook.id, event.id, &notification.body(hook.format, address), now)?;
    }
    if is_mailed && let Some(to) = recipient(tx, &notification, senders.operator.as_deref())? {
        hooks::queue_mail(tx, &to, event.id, &mail::message(&to, &notification), now)?;
    }
    Ok(())
}

/// Ends of builds, and alerts that begin or end.
fn may_be_mailed(kind: &str) -> bool {
    let ends = ["build.completed", "build.degraded", "build.failed", "build.cancelled", "build.expired"];
    ends.contains(&kind) || ["alert.active", "alert.closed"].contains(&kind)
}

/// Whom somebody named when they asked for the build, or for the monitor; the `operator` for alerts about the lab itself.
fn recipient(
    tx: &mut Tx<'_>,
    notification: &Notification,
    operator: Option<&str>,
) -> Result<Option<String>, StoreError> {
    match (&notification.alert, &notification.build) {
        (Some(alert), _) if alert.kind == AlertKind::Monitor => {
            let is_news = matches!(alert.state, AlertState::Active | AlertState::Closed);
            match alert.monitor.filter(|_| is_news) {
                Some(id) => monitors::email(tx, id),
                None => Ok(None),
            }
        }
        (Some(alert), _) if alert.kind == AlertKind::Lab => Ok(operator.map(str::to_owned)),
        (Some(_), _) | (None, None) => Ok(None),
        (None, Some(build)) => Ok(builds::one(tx, build.id)?.and_then(|found| found.email)),
    }
}
