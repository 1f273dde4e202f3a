//! `/bisect/{id}`: which commit was the first slow one, and how that was found.

use std::borrow::Borrow;

use askama::Template;
use axum::extract::State;
use axum::response::{Html, Redirect};

use super::commits::Address;
use super::{Frame, as_web_error, format};
use crate::http::{Principal, WebError};
use crate::web::fields::{Fields, PathParam};
use prony_lab_core::actions::{self, Ctx};
use prony_lab_core::ansi_stripper;
use prony_lab_core::lab::Lab;
use prony_lab_model::{
    Bisect, BisectId, BisectRequest, BisectState, BuildId, Candidate, EventId, Outcome, Role,
};
use prony_lab_store::{StoreError, Tx, bisects, events, projects};

#[derive(Template)]
#[template(path = "bisect.html")]
struct Page {
    frame: Frame,
    seen: EventId,
    bisect: Bisect,
    project: String,
    /// Commits that were measured, or are.
    rows: Vec<Line>,
    /// All commits.
    total: usize,
}

struct Line {
    short: String,
    commit: String,
    link: Option<String>,
    author: String,
    subject: String,
    build: Option<BuildId>,
    outcome: String,
    is_found: bool,
}

/// Shows it.
pub(crate) async fn show(
    State(lab): State<Lab>,
    principal: Principal,
    PathParam(id): PathParam<BisectId>,
) -> Result<Html<String>, WebError> {
    let definitions = lab.definitions.clone();
    let read = move |tx: &mut Tx<'_>| -> Result<_, StoreError> {
        let seen = events::last(tx)?;
        let Some(bisect) = bisects::one(tx, id)? else { return Ok(None) };
        let address = Address::of(tx, &definitions, Some(bisect.project))?;
        let name = projects::by_id(tx, bisect.project)?.map(|project| project.name).unwrap_or_default();
        Ok(Some((seen, bisect, address, name)))
    };
    let found = lab.store.read(read).await?;
    let (seen, bisect, address, project) = found.ok_or_else(|| WebError::Missing(format!("bisect {id}")))?;
    let frame = Frame::of(&principal).at("/");
    let (rows, total) = (rows(&bisect, &address), bisect.candidates.len());
    Ok(Html(Page { frame, seen, bisect, project, rows, total }.render()?))
}

/// What was measured, from the good commit to the bad one.
fn rows(bisect: &Bisect, address: &Address) -> Vec<Line> {
    let found = bisect.found().map(|found| found.commit.commit.as_str());
    let measured = bisect.candidates.iter().filter(|candidate| candidate.build.is_some());
    let line = |candidate: &Candidate| {
        let commit = &candidate.commit;
        Line {
            short: format::short_commit(&commit.commit),
            commit: commit.commit.clone(),
            link: address.page(&commit.commit),
            author: commit.author.clone(),
            subject: commit.subject.clone(),
            build: candidate.build,
            outcome: outcome(candidate.outcome),
            is_found: found == Some(commit.commit.as_str()),
        }
    };
    measured.map(line).collect()
}

/// What was measured, in a word: markup.
fn outcome(outcome: Option<Outcome>) -> String {
    match outcome {
        Some(Outcome::Fast) => format::word("good", "=", "fast"),
        Some(Outcome::Slow) => format::word("bad", "▼", "SLOW"),
        Some(Outcome::Skipped) => format::word("care", "~", "no clear result"),
        None => format::word("busy", "◐", "is measured"),
    }
}

/// How far it is: markup.
pub(super) fn state(state: impl Borrow<BisectState>) -> String {
    use BisectState as S;
    let state = *state.borrow();
    let (class, shape) = match state {
        S::Listing => ("calm", "○"),
        S::Running => ("busy", "◐"),
        S::Found => ("good", "✓"),
        S::Narrowed => ("care", "△"),
        S::Failed => ("bad", "✕"),
        S::Refuted | S::Cancelled => ("calm", "–"),
    };
    format::word(class, shape, state.name())
}

/// Requests one.
pub(crate) async fn request(
    State(lab): State<Lab>,
    principal: Principal,
    fields: Fields,
) -> Result<Redirect, WebError> {
    principal.require(Role::Runner)?;
    let build = |name: &str| {
        let found = fields.parsed::<BuildId>(name)?;
        found.ok_or_else(|| WebError::Query(format!("name the {name} build by its number")))
    };
    let request = BisectRequest { good: build("good")?, bad: build("bad")? };
    let act = move |tx: &mut Tx<'_>, ctx: &Ctx| actions::bisects::request(tx, ctx, None, &request);
    let made = lab.act(principal.actor(), act).await.map_err(as_web_error)?;
    Ok(Redirect::to(&format!("/bisect/{}", made.id)))
}

/// Cancels it.
pub(crate) async fn cancel(
    State(lab): State<Lab>,
    principal: Principal,
    PathParam(id): PathParam<BisectId>,
) -> Result<Redirect, WebError> {
    principal.require(Role::Runner)?;
    lab.act(principal.actor(), move |tx, ctx| actions::bisects::cancel(tx, ctx, id)).await?;
    Ok(Redirect::to(&format!("/bisect/{id}")))
}
