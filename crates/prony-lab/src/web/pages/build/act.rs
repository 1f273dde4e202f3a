//! What people do with a build: call it off, ask for it again, write about it.

use axum::extract::{Path, State};
use axum::response::Redirect;

use crate::clock;
use crate::lab::{Lab, Refused};
use crate::model::{BuildDetail, BuildId, BuildRequest, BuildState, Role, TaskKind};
use crate::store::{StoreError, builds, figures};
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
    let reason = format!("cancelled by {}", principal.name);
    lab.store
        .write(move |tx| {
            let from = builds::state(tx, id)?;
            let to = if from == BuildState::Queued { BuildState::Cancelled } else { BuildState::Cancelling };
            if !from.may_become(to) {
                return Err(StoreError::Conflict(format!("build {id}, which is {}", from.name())));
            }
            builds::advance(tx, id, from, to, Some(&reason), clock::wall())
        })
        .await?;
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
    match lab.request_build(again(&detail), &principal.name).await {
        Ok(new) => Ok(Redirect::to(&format!("/build/{new}"))),
        // What the project's definition no longer has.
        Err(Refused::Fields(mistakes)) => {
            let words: Vec<_> = mistakes.iter().map(|m| format!("{}: {}", m.field, m.message)).collect();
            Err(WebError::Query(format!("build {id} can't be had again ({})", words.join("; "))))
        }
        Err(Refused::Target(refusal)) => Err(WebError::Query(refusal.to_string())),
        Err(Refused::Store(error)) => Err(error.into()),
        Err(Refused::KeyReused) => Err(WebError::BrokenBody),
    }
}

/// The request that leads to the same build.
fn again(detail: &BuildDetail) -> BuildRequest {
    let build = &detail.build;
    let named = detail.tasks.iter().filter(|task| task.kind != TaskKind::Checkout);
    BuildRequest {
        project: build.project_name.clone().unwrap_or_default(),
        reference: build.reference.clone(),
        base: build.base.clone().unwrap_or_default(),
        variant: build.variant.clone().unwrap_or_default(),
        tests: named.map(|task| task.name.clone()).collect(),
        email: detail.email.clone().unwrap_or_default(),
        priority: build.priority.name().to_owned(),
    }
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
