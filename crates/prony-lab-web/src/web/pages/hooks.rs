//! `/admin/hooks`: addresses that are notified of events.

use askama::Template;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};

use super::{Frame, format, mistakes};
use crate::http::{Principal, WebError};
use crate::web::fields::{Fields, PathParam};
use prony_lab_core::ansi_stripper;
use prony_lab_core::lab::Lab;
use prony_lab_model::{FieldMistake, Hook, HookFormat, HookId, HookRequest, Role};
use prony_lab_store::hooks::GivenUp;
use prony_lab_store::{hooks, projects};

/// Failed deliveries on the page.
const GIVEN_UP: u32 = 20;

#[derive(Template)]
#[template(path = "hooks.html")]
struct Page {
    frame: Frame,
    waiting: i64,
    secret: Option<String>,
    hooks: Vec<Hook>,
    given_up: Vec<GivenUp>,
    projects: Vec<String>,
    formats: &'static [HookFormat],
    request: HookRequest,
    mistakes: Vec<FieldMistake>,
}

/// Shows them.
pub(crate) async fn list(State(lab): State<Lab>, principal: Principal) -> Result<Html<String>, WebError> {
    Ok(Html(draw(&lab, &principal, None, HookRequest::default(), Vec::new()).await?))
}

/// Adds one; what signs for it is shown once.
pub(crate) async fn add(
    State(lab): State<Lab>,
    principal: Principal,
    fields: Fields,
) -> Result<Response, WebError> {
    principal.require(Role::Admin)?;
    let one = |name| fields.one(name).to_owned();
    let request =
        HookRequest { url: one("url"), kinds: one("kinds"), project: one("project"), format: one("format") };
    match lab.add_hook(request.clone(), &principal.name, principal.role).await {
        Ok((_, secret)) => {
            let page = draw(&lab, &principal, Some(secret), HookRequest::default(), Vec::new()).await?;
            Ok(([(header::CACHE_CONTROL, "no-store")], Html(page)).into_response())
        }
        Err(refused) => {
            let mistakes = mistakes(refused, "url")?;
            let page = draw(&lab, &principal, None, request, mistakes).await?;
            Ok((StatusCode::UNPROCESSABLE_ENTITY, Html(page)).into_response())
        }
    }
}

/// Takes one out.
pub(crate) async fn remove(
    State(lab): State<Lab>,
    principal: Principal,
    PathParam(id): PathParam<HookId>,
) -> Result<Redirect, WebError> {
    principal.require(Role::Admin)?;
    lab.remove_hook(id, &principal.name).await?;
    Ok(Redirect::to("/admin/hooks"))
}

async fn draw(
    lab: &Lab,
    principal: &Principal,
    secret: Option<String>,
    request: HookRequest,
    mistakes: Vec<FieldMistake>,
) -> Result<String, WebError> {
    principal.require(Role::Admin)?;
    let (waiting, hooks, given_up, all) = lab
        .store
        .read(|tx| {
            Ok((hooks::waiting(tx)?, hooks::all(tx)?, hooks::given_up(tx, GIVEN_UP)?, projects::all(tx)?))
        })
        .await?;
    let projects = all.into_iter().map(|project| project.name).collect();
    let frame = Frame::of(principal).at("/admin");
    Ok(Page {
        frame,
        waiting,
        secret,
        hooks,
        given_up,
        projects,
        formats: HookFormat::ALL,
        request,
        mistakes,
    }
    .render()?)
}
