//! `/search`: builds, and whatever else has a name, by words and operators.

use std::borrow::Borrow;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Redirect, Response};

use super::{Frame, format};
use crate::http::{Principal, WebError};
use crate::web::fields::QueryParams;
use prony_lab_core::ansi_stripper;
use prony_lab_core::lab::Lab;
use prony_lab_core::search::{self, Part};
use prony_lab_model::{BuildId, Operator, QUERY_CHARS_MAX, SearchQuery, SearchResults};

/// Builds of a page, as on the page of all builds.
const BUILDS: u32 = 50;

#[derive(Template)]
#[template(path = "search.html")]
struct Search {
    frame: Frame,
    /// As it was written.
    written: String,
    mistake: Option<String>,
    /// Nothing was searched for yet, or it can't be read.
    results: Option<SearchResults>,
    /// The way to older builds.
    older: Option<String>,
    /// The way back to the newest, from a later page.
    newest: Option<String>,
}

/// Shows what is found; a number leads straight to its build.
pub(crate) async fn show(
    State(lab): State<Lab>,
    principal: Principal,
    QueryParams(fields): QueryParams,
) -> Result<Response, WebError> {
    let written = fields.one("q").to_owned();
    let before: Option<BuildId> = fields.parsed("before")?;
    let mut page = Search {
        frame: Frame::of(&principal).at("/search"),
        newest: before.map(|_| link(&written, None)),
        written,
        mistake: None,
        results: None,
        older: None,
    };
    if page.written.is_empty() {
        return Ok(Html(page.render()?).into_response());
    }
    let query: SearchQuery = match page.written.parse() {
        Ok(query) => query,
        Err(mistake) => {
            page.mistake = Some(ansi_stripper::line(&mistake.to_string()));
            return Ok((StatusCode::BAD_REQUEST, Html(page.render()?)).into_response());
        }
    };
    let part = Part { before, limit: BUILDS, role: principal.role };
    let definitions = lab.definitions.clone();
    let results = lab.store.read(move |tx| search::find(tx, &definitions, query, part)).await?;
    if let Some(number) = results.number {
        return Ok(Redirect::to(&format!("/build/{number}")).into_response());
    }
    page.older = results.next.map(|next| link(&page.written, Some(next)));
    page.results = Some(results);
    Ok(Html(page.render()?).into_response())
}

fn link(written: &str, before: Option<BuildId>) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("q", written);
    if let Some(before) = before {
        query.append_pair("before", &before.to_string());
    }
    format!("/search?{}", query.finish())
}

/// The address of the builds of a branch.
fn branch_link(branch: &str) -> String {
    link(&format!("branch:\"{branch}\""), None)
}

/// What an operator is about, for people.
fn meaning(operator: impl Borrow<Operator>) -> &'static str {
    match operator.borrow() {
        Operator::Author => "part of the name of the commit's author",
        Operator::Branch => "a branch; with * at its end all that begin so",
        Operator::Commit => "the first digits of a commit, at least 4",
        Operator::Project => "the name of a project",
        Operator::State => "a state, such as failed or queued",
        Operator::Verdict => "a verdict, such as slower or threshold-missed",
        Operator::After => "requested on this day or later, in UTC: 2026-01-31",
        Operator::Before => "requested before this day",
    }
}
