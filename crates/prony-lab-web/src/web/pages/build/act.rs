//! What people do with a build: cancel it, ask for it again, write about it.

use axum::extract::State;
use axum::response::Redirect;

use crate::http::{Principal, WebError};
use crate::web::fields::{Fields, PathParam};
use crate::web::pages::as_web_error;
use prony_lab_core::actions::requests::Asker;
use prony_lab_core::actions::{self, Ctx};
use prony_lab_core::lab::Lab;
use prony_lab_model::{BuildId, Role};
use prony_lab_store::Tx;

/// Cancels a build: at once where it still waits, otherwise as soon as what runs has been stopped.
pub(crate) async fn cancel(
    State(lab): State<Lab>,
    principal: Principal,
    PathParam(id): PathParam<BuildId>,
) -> Result<Redirect, WebError> {
    principal.require(Role::Runner)?;
    lab.cancel_build(id, &principal.name).await?;
    Ok(Redirect::to(&format!("/build/{id}")))
}

/// Asks for the same once more.
pub(crate) async fn retry(
    State(lab): State<Lab>,
    principal: Principal,
    PathParam(id): PathParam<BuildId>,
) -> Result<Redirect, WebError> {
    principal.require(Role::Runner)?;
    let asker = Asker { by: principal.name.clone(), key: None };
    let (new, _) = lab.retry_build(id, principal.role, asker).await.map_err(as_web_error)?;
    Ok(Redirect::to(&format!("/build/{}", new.build.id)))
}

/// Adds a note.
pub(crate) async fn add_note(
    State(lab): State<Lab>,
    principal: Principal,
    PathParam(id): PathParam<BuildId>,
    fields: Fields,
) -> Result<Redirect, WebError> {
    principal.require(Role::Runner)?;
    let words = fields.one("words").to_owned();
    let add = move |tx: &mut Tx<'_>, ctx: &Ctx| actions::builds::add_note(tx, ctx, id, &words);
    lab.act(principal.actor(), add).await.map_err(as_web_error)?;
    Ok(Redirect::to(&format!("/build/{id}#notes")))
}
