//! `/alerts`: what needs attention, and how people answered.

use std::borrow::Borrow;
use std::time::Duration;

use askama::Template;
use axum::extract::State;
use axum::response::{Html, Redirect};

use super::{Frame, as_web_error, format};
use crate::http::{Principal, WebError};
use crate::web::fields::{Fields, PathParam, QueryParams};
use prony_lab_core::actions::alerts::Reply;
use prony_lab_core::actions::{self, Ctx};
use prony_lab_core::ansi_stripper;
use prony_lab_core::lab::Lab;
use prony_lab_model::{Alert, AlertId, AlertState, Role};
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
}

/// Shows them, the newest first.
pub(crate) async fn list(
    State(lab): State<Lab>,
    principal: Principal,
    QueryParams(query): QueryParams,
) -> Result<Html<String>, WebError> {
    let state: Option<AlertState> = query.parsed("state")?;
    let before: Option<AlertId> = query.parsed("before")?;
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
    let frame = Frame::of(&principal).at("/alerts");
    Ok(Html(Page { frame, active, state: state.map_or("", AlertState::name), alerts, older }.render()?))
}

/// Applies somebody's answer to one.
pub(crate) async fn answer(
    State(lab): State<Lab>,
    principal: Principal,
    PathParam(id): PathParam<AlertId>,
    fields: Fields,
) -> Result<Redirect, WebError> {
    principal.require(Role::Runner)?;
    let to: AlertState = fields
        .parsed("state")?
        .ok_or_else(|| WebError::Query("choose what becomes of the alert".to_owned()))?;
    let note = Some(fields.one("note").to_owned()).filter(|note| !note.trim().is_empty());
    let is_silenced = to == AlertState::Silenced;
    if is_silenced && note.is_none() {
        return Err(WebError::Query("say why it is to be silent".to_owned()));
    }
    let days: Option<u64> = if is_silenced { fields.parsed("days")? } else { None };
    let silence = days.map(|days| Duration::from_secs(days.saturating_mul(24 * 3600)));
    let reply = Reply { state: to, silence, note };
    let answer = move |tx: &mut Tx<'_>, ctx: &Ctx| actions::alerts::answer(tx, ctx, id, &reply);
    lab.act(principal.actor(), answer).await.map_err(as_web_error)?;
    Ok(Redirect::to(&format!("/alerts#alert-{id}")))
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
