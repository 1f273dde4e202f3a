//! What people do with a build: call it off, ask for it again, write about it.

use axum::extract::State;
use axum::response::Redirect;

use crate::clock;
use crate::lab::{Lab, Refused};
use crate::model::{BuildId, Role};
use crate::requests::Asker;
use crate::store::figures;
use crate::web::error::WebError;
use crate::web::fields::{At, Fields};
use crate::web::principal::Principal;

/// Longer notes are documents.
const MAX_NOTE_CHARACTERS: usize = 2_000;

/// Calls a build off: at once where it waits still, otherwise as soon as what runs has been stopped.
pub(crate) async fn cancel(
    State(lab): State<Lab>,
    principal: Principal,
    At(id): At<BuildId>,
) -> Result<Redirect, WebError> {
    principal.demand(Role::Runner)?;
    lab.cancel_build(id, &principal.name).await?;
    Ok(Redirect::to(&format!("/build/{id}")))
}

/// Asks for the same once more.
pub(crate) async fn retry(
    State(lab): State<Lab>,
    principal: Principal,
    At(id): At<BuildId>,
) -> Result<Redirect, WebError> {
    principal.demand(Role::Runner)?;
    let asker = Asker { by: principal.name.clone(), key: None };
    match lab.retry_build(id, principal.role, asker).await {
        Ok((new, _)) => Ok(Redirect::to(&format!("/build/{new}"))),
        // What the project's definition no longer has.
        Err(Refused::Fields(mistakes)) => {
            let words: Vec<_> = mistakes.iter().map(|m| format!("{}: {}", m.field, m.message)).collect();
            Err(WebError::Query(format!("build {id} can't be had again ({})", words.join("; "))))
        }
        Err(Refused::Target(refusal)) => Err(WebError::Query(refusal.to_string())),
        // Forms have no keys.
        Err(Refused::KeyReused) => Err(WebError::BrokenBody),
        Err(Refused::Store(error)) => Err(error.into()),
    }
}

/// Adds a note.
pub(crate) async fn add_note(
    State(lab): State<Lab>,
    principal: Principal,
    At(id): At<BuildId>,
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
