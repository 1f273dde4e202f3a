//! `/add_job`: the form that requests a build, and what it sends.

use askama::Template;
use axum::extract::{Form, State};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Redirect, Response};

use super::Frame;
use crate::lab::{Lab, Refused};
use crate::model::{BuildRequest, FieldMistake, Role};
use crate::store::projects;
use crate::web::error::WebError;
use crate::web::principal::Principal;

#[derive(Template)]
#[template(path = "add_job.html")]
struct Page {
    frame: Frame,
    projects: Vec<String>,
    request: BuildRequest,
    mistakes: Vec<FieldMistake>,
}

/// Shows the form.
pub(crate) async fn show(State(lab): State<Lab>, principal: Principal) -> Result<Html<String>, WebError> {
    Ok(Html(page(&lab, &principal, BuildRequest::default(), Vec::new()).await?))
}

/// Takes what it sends: on to the page of the build, or back to the form with what is wrong beside each field.
pub(crate) async fn accept(
    State(lab): State<Lab>,
    principal: Principal,
    Form(fields): Form<Vec<(String, String)>>,
) -> Result<Response, WebError> {
    principal.demand(Role::Runner)?;
    let request = request(fields);
    match lab.request_build(request.clone(), &principal.name).await {
        Ok(id) => Ok(Redirect::to(&format!("/build/{id}")).into_response()),
        Err(Refused::Fields(mistakes)) => {
            let page = page(&lab, &principal, request, mistakes).await?;
            Ok((StatusCode::UNPROCESSABLE_ENTITY, Html(page)).into_response())
        }
        Err(Refused::Store(error)) => Err(error.into()),
        Err(Refused::Target(refusal)) => {
            let mistakes = vec![FieldMistake { field: "project".to_owned(), message: refusal.to_string() }];
            let page = page(&lab, &principal, request, mistakes).await?;
            Ok((StatusCode::UNPROCESSABLE_ENTITY, Html(page)).into_response())
        }
        // Forms have no keys.
        Err(Refused::KeyReused) => Err(WebError::BrokenBody),
    }
}

async fn page(
    lab: &Lab,
    principal: &Principal,
    request: BuildRequest,
    mistakes: Vec<FieldMistake>,
) -> Result<String, WebError> {
    let projects = lab.store.read(projects::all).await?;
    let offered = projects.into_iter().filter(|project| project.archived_at.is_none());
    let projects = offered.map(|project| project.name).collect();
    Ok(Page { frame: Frame::of(principal), projects, request, mistakes }.render()?)
}

/// A form sends a field of several values several times.
fn request(fields: Vec<(String, String)>) -> BuildRequest {
    let mut request = BuildRequest::default();
    for (name, value) in fields {
        match name.as_str() {
            "project" => request.project = value,
            "reference" => request.reference = value,
            "base" => request.base = value,
            "variant" => request.variant = value,
            "tests" => request.tests.push(value),
            "email" => request.email = value,
            "priority" => request.priority = value,
            _ => {}
        }
    }
    request
}
