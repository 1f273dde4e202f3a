//! Monitors and hooks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::builds::List;
use super::call::{Answer, Answered, Call, Nothing};
use super::problem::Problem;
use crate::clock::Moment;
use crate::model::{Check, Hook, HookId, HookRequest, Monitor, MonitorRequest};
use crate::store::{hooks, monitors};

/// Checks where nothing else is asked for.
const CHECKS: u32 = 1_000;
/// Checks at most: a week of one a minute.
const CHECKS_MAX: u32 = 10_080;
/// Deliveries that were given up, on one page.
const GIVEN_UP: u32 = 100;

/// One monitor.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct OneMonitor {
    /// Its name.
    name: String,
}

/// Which checks.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Since {
    /// From this moment on, milliseconds since 1970.
    since: Option<Moment>,
    /// At most so many of the newest, 10080 at most.
    #[schemars(range(min = 1, max = 10080))]
    limit: Option<u32>,
}

/// A monitor, and how it goes.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Watched {
    /// What it is.
    monitor: Monitor,
    /// What it saw last.
    last: Option<Check>,
}

/// One hook.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct OneHook {
    /// Its number.
    id: HookId,
}

/// A new hook.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct NewHook {
    /// What it is.
    hook: Hook,
    /// What its bodies are signed with, shown this once: `X-Prony-Signature` is `sha256=` and the HMAC-SHA256 of the
    /// body with this text as the key.
    secret: String,
}

/// Something that could not be told.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct GivenUp {
    /// Number of the delivery.
    id: i64,
    /// Number of the event.
    event: i64,
    /// Which hook, if it was one.
    hook: Option<HookId>,
    /// Which address, if it was mail.
    mail_to: Option<String>,
    /// What went wrong last.
    error: Option<String>,
}

pub(super) async fn list(call: Call<Nothing, Nothing, Nothing>) -> Answered<List<Watched>> {
    let found = call
        .lab
        .store
        .read(|tx| {
            let all = monitors::all(tx)?;
            let watched = |monitor: Monitor| {
                let last = monitors::checks(tx, monitor.id, Moment(0), 1)?.pop();
                Ok(Watched { monitor, last })
            };
            all.into_iter().map(watched).collect::<Result<Vec<_>, crate::store::StoreError>>()
        })
        .await?;
    Ok(List { items: found, next: None }.into())
}

pub(super) async fn add(call: Call<Nothing, Nothing, MonitorRequest>) -> Answered<Monitor> {
    let monitor = call.lab.add_monitor(call.body, &call.who.name, call.who.role).await?;
    let path = format!("/monitors/{}/checks", monitor.name);
    Ok(Answer::at(monitor, &path))
}

pub(super) async fn remove(call: Call<OneMonitor, Nothing, Nothing>) -> Answered<Monitor> {
    Ok(call.lab.remove_monitor(call.path.name, &call.who.name).await?.into())
}

pub(super) async fn checks(call: Call<OneMonitor, Since, Nothing>) -> Answered<List<Check>> {
    let most = call.query.limit.unwrap_or(CHECKS);
    if !(1..=CHECKS_MAX).contains(&most) {
        return Err(Problem::bad(format!("limit: 1 to {CHECKS_MAX}")));
    }
    let (name, since) = (call.path.name, call.query.since.unwrap_or(Moment(0)));
    let found = call
        .lab
        .store
        .read(move |tx| {
            let Some(monitor) = monitors::by_name(tx, &name)? else { return Ok(None) };
            monitors::checks(tx, monitor.id, since, most).map(Some)
        })
        .await?;
    let items = found.ok_or_else(|| Problem::missing("monitor of that name"))?;
    Ok(List { items, next: None }.into())
}

pub(super) async fn hooks(call: Call<Nothing, Nothing, Nothing>) -> Answered<List<Hook>> {
    Ok(List { items: call.lab.store.read(hooks::all).await?, next: None }.into())
}

pub(super) async fn add_hook(call: Call<Nothing, Nothing, HookRequest>) -> Answered<NewHook> {
    let (hook, secret) = call.lab.add_hook(call.body, &call.who.name, call.who.role).await?;
    let path = format!("/hooks/{}", hook.id);
    Ok(Answer::at(NewHook { hook, secret }, &path))
}

pub(super) async fn remove_hook(call: Call<OneHook, Nothing, Nothing>) -> Answered<Nothing> {
    call.lab.remove_hook(call.path.id, &call.who.name).await?;
    Ok(Nothing {}.into())
}

pub(super) async fn given_up(call: Call<Nothing, Nothing, Nothing>) -> Answered<List<GivenUp>> {
    let found = call.lab.store.read(|tx| hooks::given_up(tx, GIVEN_UP)).await?;
    let shown = |one: hooks::GivenUp| {
        let hooks::GivenUp { id, event, hook, mail_to, error } = one;
        GivenUp { id, event: event.0, hook, mail_to, error }
    };
    Ok(List { items: found.into_iter().map(shown).collect(), next: None }.into())
}
