//! Monitors, and hooks that are told of events.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::builds::{List, rows};
use super::call::{Answer, Answered, Call, Nothing};
use super::problem::Problem;
use crate::auth::Secret;
use crate::clock::{self, Moment};
use crate::lab::Refused;
use crate::model::{Check, Hook, HookId, HookRequest, Monitor, MonitorId, MonitorRequest};
use crate::store::{audit, hooks, monitors, projects};

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

/// A new hook with what signs what it is told.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct NewHook {
    /// The hook.
    hook: Hook,
    /// The key of `X-Prony-Signature`, which nobody sees again.
    secret: String,
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
    let (by, now) = (call.who.name, clock::wall());
    let new = call.body.checked(&by, now).map_err(Refused::Fields)?;
    call.lab.judge_url(&new.url, call.who.role).await?;
    let (id, new) = call
        .lab
        .store
        .write(move |tx| {
            let id = monitors::add(tx, &new)?;
            audit::append(tx, now, &by, "monitor.add", &new.name, &new.url)?;
            Ok((id, new))
        })
        .await?;
    Ok(Answer::at(Monitor { id, ..new }, &format!("/monitors/{id}/checks")))
}

pub(super) async fn remove(call: Call<OneMonitor, Nothing, Nothing>) -> Answered<Removed> {
    let (id, by, now) = (call.path.id, call.who.name, clock::wall());
    call.lab
        .store
        .write(move |tx| {
            monitors::remove(tx, id, now)?;
            audit::append(tx, now, &by, "monitor.remove", &id.to_string(), "")
        })
        .await?;
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
    let (by, now, request) = (call.who.name, clock::wall(), call.body);
    let name = request.project.trim().to_owned();
    let project = call.lab.store.read(move |tx| projects::by_name(tx, &name)).await?;
    let new = request.checked(project.map(|project| project.id), &by, now).map_err(Refused::Fields)?;
    call.lab.judge_url(&new.url, call.who.role).await?;
    let secret = Secret::new().text();
    let key = secret.clone();
    let hook = call
        .lab
        .store
        .write(move |tx| {
            let id = hooks::add(tx, &new, &key)?;
            audit::append(tx, now, &by, "hook.add", &id.to_string(), &new.url)?;
            Ok(Hook { id, ..new })
        })
        .await?;
    Ok(NewHook { hook, secret }.into())
}

pub(super) async fn remove_hook(call: Call<OneHook, Nothing, Nothing>) -> Answered<Removed> {
    let (id, by, now) = (call.path.id, call.who.name, clock::wall());
    call.lab
        .store
        .write(move |tx| {
            hooks::remove(tx, id, now)?;
            audit::append(tx, now, &by, "hook.remove", &id.to_string(), "")
        })
        .await?;
    Ok(Removed { removed: true }.into())
}
