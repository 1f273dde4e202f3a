//! Projects.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::builds::List;
use super::call::{Answered, Call, Nothing};
use super::problem::Problem;
use prony_lab_core::actions::{self, Ctx};
use prony_lab_core::lab::Lab;
use prony_lab_model::clock::Moment;
use prony_lab_model::{Cache, ProjectId};
use prony_lab_store::{StoreError, Tx, caches, projects};

/// One project.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct OneProject {
    /// Its name.
    pub(super) name: String,
}

/// A project.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Project {
    /// Its number.
    id: ProjectId,
    /// Its name.
    name: String,
    /// Grows with every change of its definition.
    revision: i64,
    /// What it is, as TOML.
    definition: String,
    /// Since when it is no longer in the forms.
    archived_at: Option<Moment>,
    /// What its commands find in their environment, beside what all builds do.
    environment: BTreeMap<String, String>,
    /// Folders that are kept between its builds.
    caches: Vec<Cache>,
}

/// How many caches were emptied.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Cleared {
    /// So many held, or may have held, something.
    cleared: u64,
}

/// What a project is to be.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Registration {
    /// What it is, as TOML.
    definition: String,
}

/// `project` with what is kept for it. One whose definition can't be read has neither variables nor caches.
fn shown(tx: &mut Tx<'_>, lab: &Lab, project: projects::Project) -> Result<Project, StoreError> {
    let definition = lab.definitions.of(&project).ok();
    let projects::Project { id, name, revision, definition: text, archived_at } = project;
    let caches = match &definition {
        Some(definition) => caches::shown(tx, id, &definition.caches)?,
        None => Vec::new(),
    };
    let environment = definition.map(|definition| definition.environment.iter().cloned().collect());
    let environment = environment.unwrap_or_default();
    Ok(Project { id, name, revision, definition: text, archived_at, environment, caches })
}

pub(super) async fn list(call: Call<Nothing, Nothing, Nothing>) -> Answered<List<Project>> {
    let lab = call.lab.clone();
    let read = move |tx: &mut Tx<'_>| {
        let all = projects::all(tx)?.into_iter();
        all.map(|project| shown(tx, &lab, project)).collect::<Result<Vec<_>, _>>()
    };
    Ok(List { items: call.lab.store.read(read).await?, next: None }.into())
}

pub(super) async fn one(call: Call<OneProject, Nothing, Nothing>) -> Answered<Project> {
    let (lab, name) = (call.lab.clone(), call.path.name);
    let read = move |tx: &mut Tx<'_>| match projects::by_name(tx, &name)? {
        Some(project) => shown(tx, &lab, project).map(Some),
        None => Ok(None),
    };
    let found = call.lab.store.read(read).await?;
    found.map(Into::into).ok_or_else(|| Problem::missing("project of that name"))
}

/// The answer to what changed a project.
async fn changed(lab: Lab, project: projects::Project) -> Answered<Project> {
    let store = lab.store.clone();
    Ok(store.read(move |tx| shown(tx, &lab, project)).await?.into())
}

pub(super) async fn register(call: Call<OneProject, Nothing, Registration>) -> Answered<Project> {
    let new = actions::projects::Registration {
        name: call.path.name,
        definition: call.body.definition,
        must_be_new: false,
    };
    let register = move |tx: &mut Tx<'_>, ctx: &Ctx| actions::projects::register(tx, ctx, &new);
    let project = call.lab.act(call.who.actor(), register).await?;
    changed(call.lab, project).await
}

pub(super) async fn archive(call: Call<OneProject, Nothing, Nothing>) -> Answered<Project> {
    let name = call.path.name;
    let archive = move |tx: &mut Tx<'_>, ctx: &Ctx| actions::projects::archive(tx, ctx, &name);
    let project = call.lab.act(call.who.actor(), archive).await?;
    changed(call.lab, project).await
}

pub(super) async fn clear_caches(call: Call<OneProject, Nothing, Nothing>) -> Answered<Cleared> {
    let name = call.path.name;
    let clear = move |tx: &mut Tx<'_>, ctx: &Ctx| actions::projects::clear_caches(tx, ctx, &name);
    Ok(Cleared { cleared: call.lab.act(call.who.actor(), clear).await? }.into())
}
