//! Projects.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::builds::List;
use super::call::{Answered, Call, Nothing};
use super::problem::Problem;
use crate::actions::{self, Ctx};
use crate::clock::Moment;
use crate::model::ProjectId;
use crate::store::{Tx, projects};

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
}

/// What a project is to be.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Registration {
    /// What it is, as TOML.
    definition: String,
}

fn shown(project: projects::Project) -> Project {
    let projects::Project { id, name, revision, definition, archived_at } = project;
    Project { id, name, revision, definition, archived_at }
}

pub(super) async fn list(call: Call<Nothing, Nothing, Nothing>) -> Answered<List<Project>> {
    let all = call.lab.store.read(projects::all).await?;
    Ok(List { items: all.into_iter().map(shown).collect(), next: None }.into())
}

pub(super) async fn one(call: Call<OneProject, Nothing, Nothing>) -> Answered<Project> {
    let name = call.path.name;
    let found = call.lab.store.read(move |tx| projects::by_name(tx, &name)).await?;
    found.map(|project| shown(project).into()).ok_or_else(|| Problem::missing("project of that name"))
}

pub(super) async fn register(call: Call<OneProject, Nothing, Registration>) -> Answered<Project> {
    let new = actions::projects::Registration {
        name: call.path.name,
        definition: call.body.definition,
        must_be_new: false,
    };
    let register = move |tx: &mut Tx<'_>, ctx: &Ctx| actions::projects::register(tx, ctx, &new);
    Ok(shown(call.lab.act(call.who.actor(), register).await?).into())
}

pub(super) async fn archive(call: Call<OneProject, Nothing, Nothing>) -> Answered<Project> {
    let name = call.path.name;
    let archive = move |tx: &mut Tx<'_>, ctx: &Ctx| actions::projects::archive(tx, ctx, &name);
    Ok(shown(call.lab.act(call.who.actor(), archive).await?).into())
}
