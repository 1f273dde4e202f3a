//! `/add_job`: the form that requests a build or a load, and what it sends.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Redirect, Response};

use super::load::{self, LoadFields};
use super::{Frame, mistakes};
use crate::http::{Principal, WebError};
use crate::web::fields::{Fields, QueryParams};
use prony_lab_core::actions::requests::Asker;
use prony_lab_core::ansi_stripper;
use prony_lab_core::lab::{Lab, Refused};
use prony_lab_model::{BuildRequest, Definition, FieldMistake, Name, Priority, Role};
use prony_lab_store::projects::Project;

#[derive(Template)]
#[template(path = "add_job.html")]
struct Page {
    frame: Frame,
    projects: Vec<String>,
    chosen: Option<Chosen>,
    request: BuildRequest,
    load: LoadFields,
    /// Whether loads can be shared by agents.
    has_broker: bool,
    /// Whether the target policy lets the load through that was asked about.
    is_allowed: bool,
    mistakes: Vec<FieldMistake>,
}

/// The project of which the form shows the choices.
struct Chosen {
    name: String,
    title: String,
    branch: String,
    variants: Vec<String>,
    tests: Vec<Test>,
    has_study: bool,
}

struct Test {
    name: String,
    hint: &'static str,
    is_chosen: bool,
}

/// What of the form is filled in.
#[derive(Default)]
struct Filled {
    request: BuildRequest,
    load: LoadFields,
    /// Whether the target policy lets the load through that was asked about.
    is_allowed: bool,
    mistakes: Vec<FieldMistake>,
}

/// Shows the form; the parameters of the address are filled in.
pub(crate) async fn show(
    State(lab): State<Lab>,
    principal: Principal,
    QueryParams(query): QueryParams,
) -> Result<Html<String>, WebError> {
    let filled = Filled { request: request(&query), load: LoadFields::of(&query), ..Filled::default() };
    Ok(Html(page(&lab, &principal, filled).await?))
}

/// Takes what it sends: on to the page of the build, or back to the form with what is wrong beside each field.
pub(crate) async fn accept(
    State(lab): State<Lab>,
    principal: Principal,
    fields: Fields,
) -> Result<Response, WebError> {
    principal.require(Role::Runner)?;
    if fields.one("kind") == "load" {
        return accept_load(&lab, &principal, &fields).await;
    }
    let request = request(&fields);
    let asker = Asker { by: principal.name.clone(), key: None };
    match lab.request_build(request.clone(), asker).await {
        Ok(id) => Ok(Redirect::to(&format!("/build/{id}")).into_response()),
        Err(error) => {
            let mistakes = mistakes(error, "project")?;
            refused(&lab, &principal, Filled { request, mistakes, ..Filled::default() }).await
        }
    }
}

async fn accept_load(lab: &Lab, principal: &Principal, fields: &Fields) -> Result<Response, WebError> {
    let load = LoadFields::of(fields);
    let is_question = !fields.one("check").is_empty();
    let refusal = match load.read() {
        Err(mistakes) => Refused::Fields(mistakes),
        Ok(wanted) if is_question => match lab.check_load(&wanted, principal.role).await {
            Ok(()) => {
                let filled = Filled { load, is_allowed: true, ..Filled::default() };
                return Ok(Html(page(lab, principal, filled).await?).into_response());
            }
            Err(refusal) => refusal,
        },
        Ok(wanted) => {
            let asker = Asker { by: principal.name.clone(), key: None };
            match lab.request_load(wanted, principal.role, asker).await {
                Ok((new, _)) => {
                    return Ok(Redirect::to(&format!("/build/{}", new.build.id)).into_response());
                }
                Err(refusal) => refusal,
            }
        }
    };
    let mistakes = mistakes(refusal, "url")?.into_iter().map(load::on_page).collect();
    refused(lab, principal, Filled { load, mistakes, ..Filled::default() }).await
}

async fn refused(lab: &Lab, principal: &Principal, filled: Filled) -> Result<Response, WebError> {
    let page = page(lab, principal, filled).await?;
    Ok((StatusCode::UNPROCESSABLE_ENTITY, Html(page)).into_response())
}

async fn page(lab: &Lab, principal: &Principal, filled: Filled) -> Result<String, WebError> {
    let projects = lab.projects().await?;
    let offered: Vec<&Project> = projects.iter().filter(|p| p.archived_at.is_none()).collect();
    let Filled { request, load, is_allowed, mistakes } = filled;
    let found = offered.iter().find(|project| project.name == request.project).or(offered.first());
    // A definition that an older prony wrote may not be readable any more.
    let definition = found.and_then(|project| Some((project, lab.definitions.of(project).ok()?)));
    let chosen = definition.map(|(project, definition)| Chosen::of(project, &definition, &request));
    let projects = offered.iter().map(|project| project.name.clone()).collect();
    let frame = Frame::of(principal).at("/add_job");
    let has_broker = lab.fleet.get().is_some() || !load.agents.is_empty();
    Ok(Page { frame, projects, chosen, request, load, has_broker, is_allowed, mistakes }.render()?)
}

impl Chosen {
    fn of(project: &Project, definition: &Definition, request: &BuildRequest) -> Self {
        let is_chosen = |name: &str| request.tests.iter().any(|test| test == name);
        let mut tests: Vec<Test> = definition
            .tasks
            .iter()
            .map(|task| Test {
                name: task.name.to_string(),
                hint: if task.is_always_run { "runs always" } else { "" },
                is_chosen: is_chosen(task.name.as_str()),
            })
            .collect();
        let has_study = definition.study.is_some();
        if has_study {
            let name = "study".to_owned();
            tests.push(Test { name, hint: "the measurement", is_chosen: is_chosen("study") });
        }
        Self {
            name: project.name.clone(),
            title: definition.title.clone(),
            branch: definition.branch.clone(),
            variants: definition.variants.iter().map(Name::to_string).collect(),
            tests,
            has_study,
        }
    }
}

/// A form sends a field of several values several times.
fn request(fields: &Fields) -> BuildRequest {
    let one = |name| fields.one(name).to_owned();
    BuildRequest {
        project: one("project"),
        reference: one("reference"),
        base: one("base"),
        variant: one("variant"),
        tests: fields.all("tests").map(str::to_owned).collect(),
        email: one("email"),
        priority: one("priority"),
    }
}
