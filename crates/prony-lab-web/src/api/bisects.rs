//! Bisects.

use schemars::JsonSchema;
use serde::Deserialize;

use super::builds::List;
use super::call::{Answer, Answered, Call, Nothing};
use super::problem::Problem;
use super::projects::OneProject;
use prony_lab_core::actions::{self, Ctx};
use prony_lab_model::{Bisect, BisectId, BisectRequest};
use prony_lab_store::{Tx, bisects, projects};

/// Bisects of one answer, with all of their commits.
const ROWS_MAX: u32 = 20;

/// One bisect.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct OneBisect {
    /// Its number.
    id: BisectId,
}

pub(super) async fn list(call: Call<OneProject, Nothing, Nothing>) -> Answered<List<Bisect>> {
    let name = call.path.name;
    let read = move |tx: &mut Tx<'_>| match projects::by_name(tx, &name)? {
        Some(project) => bisects::of_project(tx, project.id, ROWS_MAX).map(Some),
        None => Ok(None),
    };
    let found = call.lab.store.read(read).await?;
    let items = found.ok_or_else(|| Problem::missing("project of that name"))?;
    Ok(List { items, next: None }.into())
}

pub(super) async fn request(call: Call<OneProject, Nothing, BisectRequest>) -> Answered<Bisect> {
    let (name, request) = (call.path.name, call.body);
    let act = move |tx: &mut Tx<'_>, ctx: &Ctx| actions::bisects::request(tx, ctx, Some(&name), &request);
    let made = call.lab.act(call.who.actor(), act).await?;
    let path = format!("/bisects/{}", made.id);
    Ok(Answer::at(made, &path))
}

pub(super) async fn one(call: Call<OneBisect, Nothing, Nothing>) -> Answered<Bisect> {
    let id = call.path.id;
    let found = call.lab.store.read(move |tx| bisects::one(tx, id)).await?;
    found.map(Answer::from).ok_or_else(|| Problem::missing(&format!("bisect {id}")))
}

pub(super) async fn cancel(call: Call<OneBisect, Nothing, Nothing>) -> Answered<Bisect> {
    let id = call.path.id;
    let act = move |tx: &mut Tx<'_>, ctx: &Ctx| actions::bisects::cancel(tx, ctx, id);
    Ok(call.lab.act(call.who.actor(), act).await?.into())
}
