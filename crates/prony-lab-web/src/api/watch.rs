//! Monitors, and hooks that are notified of events.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::builds::{List, rows};
use super::call::{Answer, Answered, Call, Nothing};
use super::problem::Problem;
use prony_lab_model::clock::Moment;
use prony_lab_model::{
    Check, EventId, Hook, HookId, HookRequest, Monitor, MonitorId, MonitorRequest, ProjectId,
};
use prony_lab_store::{hooks, monitors};

/// Deliveries that were given up, in one answer.
const GIVEN_UP: u32 = 100;

/// One monitor.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct OneMonitor {
    /// Its number.
    id: MonitorId,
}

/// One hook.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct OneHook {
    /// Its number.
    id: HookId,
}

/// Which looks.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Since {
    /// Since this moment.
    since: Option<i64>,
    /// At most so many of the last ones, 500 at most.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
}

/// A new hook with what signs its notifications.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct NewHook {
    /// The hook.
    hook: Hook,
    /// The key of `X-Prony-Signature`, which nobody sees again.
    secret: String,
}

/// A notification that failed.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct GivenUp {
    /// Number of the delivery.
    id: i64,
    /// Of which event.
    event: EventId,
    /// Which hook, if it was one.
    hook: Option<HookId>,
    /// Which address, if it was mail.
    mail_to: Option<String>,
    /// Of which project, if it was the status of a commit.
    project: Option<ProjectId>,
    /// What went wrong last.
    error: Option<String>,
}

/// It was done.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Removed {
    /// Always true: what was not done is a problem.
    removed: bool,
}

pub(super) async fn list(call: Call<Nothing, Nothing, Nothing>) -> Answered<List<Monitor>> {
    Ok(List { items: call.lab.store.read(monitors::all).await?, next: None }.into())
}

pub(super) async fn add(call: Call<Nothing, Nothing, MonitorRequest>) -> Answered<Monitor> {
    let monitor = call.lab.add_monitor(call.body, &call.who.name, call.who.role).await?;
    let path = format!("/monitors/{}/checks", monitor.id);
    Ok(Answer::at(monitor, &path))
}

pub(super) async fn remove(call: Call<OneMonitor, Nothing, Nothing>) -> Answered<Removed> {
    call.lab.remove_monitor(call.path.id, &call.who.name, call.who.role).await?;
    Ok(Removed { removed: true }.into())
}

pub(super) async fn checks(call: Call<OneMonitor, Since, Nothing>) -> Answered<List<Check>> {
    let (id, since, limit) = (call.path.id, Moment(call.query.since.unwrap_or(0)), rows(call.query.limit)?);
    let found = call
        .lab
        .store
        .read(move |tx| {
            let is_there = monitors::all(tx)?.iter().any(|known| known.id == id);
            Ok(if is_there { Some(monitors::checks(tx, id, since, limit)?) } else { None })
        })
        .await?;
    let items = found.ok_or_else(|| Problem::missing(&format!("monitor {id}")))?;
    Ok(List { items, next: None }.into())
}

pub(super) async fn hooks(call: Call<Nothing, Nothing, Nothing>) -> Answered<List<Hook>> {
    Ok(List { items: call.lab.store.read(hooks::all).await?, next: None }.into())
}

pub(super) async fn add_hook(call: Call<Nothing, Nothing, HookRequest>) -> Answered<NewHook> {
    let (hook, secret) = call.lab.add_hook(call.body, &call.who.name, call.who.role).await?;
    Ok(Answer::secret(NewHook { hook, secret }))
}

pub(super) async fn remove_hook(call: Call<OneHook, Nothing, Nothing>) -> Answered<Removed> {
    call.lab.remove_hook(call.path.id, &call.who.name).await?;
    Ok(Removed { removed: true }.into())
}

pub(super) async fn given_up(call: Call<Nothing, Nothing, Nothing>) -> Answered<List<GivenUp>> {
    let found = call.lab.store.read(|tx| hooks::given_up(tx, GIVEN_UP)).await?;
    let shown = |one: hooks::GivenUp| {
        let hooks::GivenUp { id, event, hook, mail_to, project, error } = one;
        GivenUp { id, event, hook, mail_to, project, error }
    };
    Ok(List { items: found.into_iter().map(shown).collect(), next: None }.into())
}
