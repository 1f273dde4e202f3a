//! The pages, each drawn from a template in `templates/`.

pub(super) mod add_job;
pub(super) mod build;
pub(super) mod home;

use askama::Template;
use axum::http::StatusCode;

use super::principal::Principal;

/// What every page has around it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Frame {
    /// Who has logged in.
    pub(crate) user: Option<String>,
    /// What the hidden field `csrf` of every form holds.
    pub(crate) csrf: String,
}

impl Frame {
    /// Around a page for nobody in particular.
    pub(crate) fn bare() -> Self {
        Self::default()
    }

    /// Around a page for `principal`.
    pub(crate) fn of(principal: &Principal) -> Self {
        Self { user: Some(principal.name.clone()), csrf: principal.csrf.clone() }
    }
}

#[derive(Template)]
#[template(path = "problem.html")]
struct Problem<'a> {
    frame: &'a Frame,
    title: &'a str,
    words: &'a str,
}

/// The page that says what went wrong.
pub(crate) fn problem(frame: &Frame, status: StatusCode, words: &str) -> String {
    let title = status.canonical_reason().unwrap_or("It went wrong");
    // Without its template there is still the reason.
    Problem { frame, title, words }.render().unwrap_or_else(|_| title.to_owned())
}
