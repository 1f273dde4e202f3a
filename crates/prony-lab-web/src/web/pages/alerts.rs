//! `/alerts`: what needs attention, and how people answered.

use std::borrow::Borrow;
use std::time::Duration;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Redirect, Response};

use super::{Frame, format, mistakes};
use crate::http::{Principal, WebError};
use crate::web::fields::{Fields, PathParam, QueryParams};
use prony_lab_core::actions::alerts::Reply;
use prony_lab_core::actions::{self, Ctx};
use prony_lab_core::ansi_stripper;
use prony_lab_core::lab::Lab;
use prony_lab_model::{Alert, AlertId, AlertState, FieldMistake, Role};
use prony_lab_store::{Tx, alerts};

/// On one page.
const ALERTS: u32 = 50;

#[derive(Template)]
#[template(path = "alerts.html")]
struct Page {
    frame: Frame,
    active: usize,
    state: &'static str,
    alerts: Vec<Alert>,
    older: Option<AlertId>,
    /// The answer that could not be taken, if there is one.
    refused: Vec<RefusedAnswer>,
}

/// An answer that could not be taken: what was typed, and what is wrong with it.
struct RefusedAnswer {
    alert: AlertId,
    note: String,
    days: String,
    mistake: FieldMistake,
}

/// Shows them, the newest first.
pub(crate) async fn list(
    State(lab): State<Lab>,
    principal: Principal,
    QueryParams(query): QueryParams,
) -> Result<Html<String>, WebError> {
    let state: Option<AlertState> = query.parsed("state")?;
    let before: Option<AlertId> = query.parsed("before")?;
    Ok(Html(page(&lab, &principal, state, before, Vec::new()).await?))
}

async fn page(
    lab: &Lab,
    principal: &Principal,
    state: Option<AlertState>,
    before: Option<AlertId>,
    refused: Vec<RefusedAnswer>,
) -> Result<String, WebError> {
    let (active, mut alerts) = lab
        .store
        .read(move |tx| {
            let active = alerts::list(tx, Some(AlertState::Active), None, ALERTS)?.len();
            Ok((active, alerts::list(tx, state, before, ALERTS + 1)?))
        })
        .await?;
    let is_more = alerts.len() > ALERTS as usize;
    alerts.truncate(ALERTS as usize);
    let older = alerts.last().filter(|_| is_more).map(|alert| alert.id);
    let frame = Frame::of(principal).at("/alerts");
    Ok(Page { frame, active, state: state.map_or("", AlertState::name), alerts, older, refused }.render()?)
}

/// Applies somebody's answer to one; where that can't be, shows the page from that alert on, with what is wrong.
pub(crate) async fn answer(
    State(lab): State<Lab>,
    principal: Principal,
    PathParam(id): PathParam<AlertId>,
    fields: Fields,
) -> Result<Response, WebError> {
    principal.require(Role::Runner)?;
    let to: AlertState = fields
        .parsed("state")?
        .ok_or_else(|| WebError::Query("choose what becomes of the alert".to_owned()))?;
    let note = Some(fields.one("note").to_owned()).filter(|note| !note.trim().is_empty());
    let mistake = match silence(&fields, to, note.is_some()) {
        Ok(silence) => {
            let reply = Reply { state: to, silence, note };
            let answer = move |tx: &mut Tx<'_>, ctx: &Ctx| actions::alerts::answer(tx, ctx, id, &reply);
            match lab.act(principal.actor(), answer).await {
                Ok(_) => return Ok(Redirect::to(&format!("/alerts#alert-{id}")).into_response()),
                Err(error) => mistakes(error, "note")?.pop().ok_or(WebError::BrokenBody)?,
            }
        }
        Err(mistake) => mistake,
    };
    // The API names a silence by its seconds.
    let field = if mistake.field == "silence_s" { "days".to_owned() } else { mistake.field };
    let mistake = FieldMistake { field, ..mistake };
    let (note, days) = (fields.one("note").to_owned(), fields.one("days").to_owned());
    let before = Some(AlertId(id.0.saturating_add(1)));
    let refused = vec![RefusedAnswer { alert: id, note, days, mistake }];
    let page = page(&lab, &principal, None, before, refused).await?;
    Ok((StatusCode::UNPROCESSABLE_ENTITY, Html(page)).into_response())
}

/// For how long an alert is to be silent, where it is to be.
fn silence(fields: &Fields, to: AlertState, has_note: bool) -> Result<Option<Duration>, FieldMistake> {
    let mistake =
        |field: &str, message: &str| FieldMistake { field: field.to_owned(), message: message.to_owned() };
    if to != AlertState::Silenced {
        return Ok(None);
    }
    if !has_note {
        return Err(mistake("note", "write why it is to be silent"));
    }
    let days: u64 =
        fields.one("days").parse().map_err(|_| mistake("days", "write a number of days, such as 7"))?;
    Ok(Some(Duration::from_secs(days.saturating_mul(24 * 3600))))
}

/// What was typed about `alert`, where it could not be taken.
fn refused_of(refused: &[RefusedAnswer], alert: impl Borrow<AlertId>) -> Option<&RefusedAnswer> {
    refused.iter().find(|answer| answer.alert == *alert.borrow())
}

/// What became of an alert: markup.
fn state_word(state: impl Borrow<AlertState>) -> String {
    let state = *state.borrow();
    let (class, shape) = match state {
        AlertState::Active => ("bad", "▲"),
        AlertState::Acknowledged => ("care", "◐"),
        AlertState::Silenced | AlertState::Dismissed => ("calm", "–"),
        AlertState::Closed => ("good", "✓"),
    };
    format::word(class, shape, state.name())
}

/// Before when and by whom.
fn answered(state: impl Borrow<AlertState>) -> &'static str {
    match *state.borrow() {
        AlertState::Active => "Made active",
        AlertState::Acknowledged => "Acknowledged",
        AlertState::Silenced => "Silenced",
        AlertState::Dismissed => "Dismissed",
        AlertState::Closed => "Closed",
    }
}
