//! The pages, each drawn from a template in `templates/`.

pub(super) mod account;
pub(super) mod add_job;
pub(super) mod admin;
pub(super) mod agents;
pub(super) mod alerts;
pub(super) mod bisects;
pub(super) mod build;
mod cards;
pub(super) mod commits;
pub(super) mod compare;
mod format;
pub(super) mod history;
pub(super) mod home;
pub(super) mod hooks;
mod load;
pub(super) mod monitors;
pub(super) mod projects;
pub(super) mod search;

use std::sync::Arc;

use askama::Template;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};

use crate::http::{Principal, WebError, add_headers};
use prony_lab_core::actions::AccessError;
use prony_lab_core::ansi_stripper;
use prony_lab_core::lab::{Lab, Refused};
use prony_lab_model::describe_mistakes;
use prony_lab_model::{FieldMistake, Role};
use prony_lab_store::{StoreError, Tx};

/// What is wrong, beside the fields; what is about none of them stands beside `other`.
fn mistakes(refused: Refused, other: &str) -> Result<Vec<FieldMistake>, WebError> {
    match refused {
        Refused::Fields(mistakes) => Ok(mistakes),
        Refused::Target(refusal) => {
            Ok(vec![FieldMistake { field: other.to_owned(), message: refusal.to_string() }])
        }
        Refused::Store(error) => Err(error.into()),
        Refused::KeyReused => Err(WebError::BrokenBody),
    }
}

/// The same where no form can be shown again.
fn as_web_error(refused: Refused) -> WebError {
    match mistakes(refused, "request") {
        Ok(mistakes) => WebError::Query(describe_mistakes(&mistakes)),
        Err(error) => error,
    }
}

/// What is wrong with the field of a form on the pages `/account` and `/admin` that `error` is about, by its id; the field
/// is empty where it is about none of them.
fn mistake_of(error: AccessError) -> Result<FieldMistake, WebError> {
    let field = match &error {
        AccessError::TokenName => "token-name",
        AccessError::TokenLife(_) => "token-days",
        AccessError::TokenRole { .. } | AccessError::Role(_) => "token-role",
        AccessError::TooManyTokens { .. } | AccessError::NoPassword(_) => "token-user",
        AccessError::ReservedName(_) => "user-name",
        AccessError::PolicySyntax(_) | AccessError::Policy(_) => "policy-text",
        _ => "",
    };
    match error {
        AccessError::Store(error) => Err(error.into()),
        error => Ok(FieldMistake { field: field.to_owned(), message: error.to_string() }),
    }
}

/// What an operator has to know of the lab, a sentence each.
fn conditions(lab: &Lab) -> Vec<String> {
    lab.health.active().into_iter().map(|(_, words)| ansi_stripper::line(&words)).collect()
}

/// What every page has around it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Frame {
    /// Who asks.
    pub(crate) user: Option<String>,
    /// What they may do.
    pub(crate) role: Option<Role>,
    /// What each form sends back, so that no other site can send it.
    pub(crate) csrf: String,
    /// The address of the page's entry in the navigation.
    pub(crate) here: &'static str,
}

impl Frame {
    /// Around a page for nobody in particular.
    pub(crate) fn bare() -> Self {
        Self::default()
    }

    /// Around a page for `principal`.
    pub(crate) fn of(principal: &Principal) -> Self {
        Self {
            user: Some(principal.name.clone()),
            role: Some(principal.role),
            csrf: principal.csrf.clone(),
            here: "",
        }
    }

    /// Around the page at `here`, or one below it.
    pub(crate) fn at(self, here: &'static str) -> Self {
        Self { here, ..self }
    }

    /// Whether who asks may do what a runner may.
    pub(crate) fn may_run(&self) -> bool {
        self.role >= Some(Role::Runner)
    }

    /// Whether who asks may do what an administrator may.
    pub(crate) fn is_admin(&self) -> bool {
        self.role >= Some(Role::Admin)
    }
}

/// A page whose middle was drawn before.
#[derive(Template)]
#[template(path = "drawn.html")]
struct Around<'a> {
    frame: Frame,
    title: &'a str,
    /// Whether it has charts.
    has_chart: bool,
    main: &'a str,
}

/// The middle of a page: `draw` reads the store and draws it, unless what was drawn before is still so.
async fn middle<T: Template + Send + 'static>(
    lab: &Lab,
    what: String,
    read: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
) -> Result<Arc<str>, WebError> {
    middle_of(lab, what, String::new(), read).await
}

/// The same where it is drawn from `inputs`, too, which were read before.
async fn middle_of<T: Template + Send + 'static>(
    lab: &Lab,
    what: String,
    inputs: String,
    read: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
) -> Result<Arc<str>, WebError> {
    Ok(lab.drawn.part(&lab.store, what, inputs, read).await?)
}

/// On a response that is the page of a problem: what went wrong. Where it is known who asks, the guard draws the page with
/// their navigation around it.
#[derive(Debug, Clone)]
pub(crate) struct ProblemWords(pub(crate) Arc<str>);

impl IntoResponse for WebError {
    fn into_response(self) -> Response {
        let words = self.to_string();
        let page = problem(&Frame::bare(), self.status(), &words);
        let mut response = (self.status(), Html(page)).into_response();
        response.extensions_mut().insert(ProblemWords(words.into()));
        add_headers(response.headers_mut(), self.status(), self.retry_after());
        response
    }
}

#[derive(Template)]
#[template(path = "problem.html")]
struct Problem<'a> {
    frame: &'a Frame,
    title: &'a str,
    words: &'a str,
}

/// The page that shows what went wrong.
pub(crate) fn problem(frame: &Frame, status: StatusCode, words: &str) -> String {
    let title = status.canonical_reason().unwrap_or("It went wrong");
    // Without its template there is still the reason.
    Problem { frame, title, words }.render().unwrap_or_else(|_| title.to_owned())
}
