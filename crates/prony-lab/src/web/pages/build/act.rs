//! What people do with a build: call it off, ask for it again, write about it.

use axum::extract::{Path, State};
use axum::response::Redirect;

use crate::clock;
use crate::lab::Lab;
use crate::model::{BuildId, Role};
use crate::store::{StoreError, builds, figures, queue};
use crate::web::error::WebError;
use crate::web::fields::Fields;
use crate::web::principal::Principal;

/// Longer notes are documents.
const MAX_NOTE_CHARACTERS: usize = 2_000;

/// Calls a build off: at once where it waits still, otherwise as soon as what runs has been stopped.
pub(crate) async fn cancel(
    State(lab): State<Lab>,
    principal: Principal,
    Path(id): Path<BuildId>,
) -> Result<Redirect, WebError> {
    principal.demand(Role::Runner)?;
    let is_done = lab.store.write(move |tx| queue::cancel(tx, id, &principal.name, clock::wall())).await?;
    if !is_done {
        return Err(StoreError::Conflict(format!("build {id}, which is over or nearly so")).into());
    }
    Ok(Redirect::to(&format!("/build/{id}")))
}

/// Asks for the same once more.
pub(crate) async fn retry(
    State(lab): State<Lab>,
    principal: Principal,
    Path(id): Path<BuildId>,
) -> Result<Redirect, WebError> {
    principal.demand(Role::Runner)?;
    let found = lab.store.read(move |tx| builds::one(tx, id)).await?;
    let detail = found.ok_or_else(|| WebError::Missing(format!("build {id}")))?;
    let new = lab.store.write(move |tx| queue::again(tx, &detail, &principal.name, clock::wall())).await?;
    Ok(Redirect::to(&format!("/build/{new}")))
}

/// Adds a note.
pub(crate) async fn add_note(
    State(lab): State<Lab>,
    principal: Principal,
    Path(id): Path<BuildId>,
    fields: Fields,
) -> Result<Redirect, WebError> {
    principal.demand(Role::Runner)?;
    let words: String = fields.one("words").chars().take(MAX_NOTE_CHARACTERS).collect();
    if words.is_empty() {
        return Err(WebError::Query("the note is empty".to_owned()));
    }
    lab.store.write(move |tx| figures::add_note(tx, id, &principal.name, &words, clock::wall())).await?;
    Ok(Redirect::to(&format!("/build/{id}#notes")))
}
