//! What became of figures over time, and what somebody should look at.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::builds::{List, rows};
use super::call::{Answer, Answered, Call, Nothing};
use super::problem::Problem;
use super::projects::OneProject;
use prony_lab_core::actions::{self, Ctx};
use prony_lab_model::{Alert, AlertId, AlertState, Change, Definition, Point, Series, SeriesId};
use prony_lab_store::{StoreError, Tx, alerts, projects, series};

/// Series of one project in one answer: a study has some dozens, on some machines.
const SERIES_MAX: u32 = 10_000;
/// Points of one answer.
const POINTS_MAX: u32 = 10_000;

/// One series.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct OneSeries {
    /// Its number.
    id: SeriesId,
}

/// One alert.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct OneAlert {
    /// Its number.
    id: AlertId,
}

/// Which alerts.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Which {
    /// In this state only.
    state: Option<AlertState>,
    /// Those before this one: `next` of the page before.
    before: Option<AlertId>,
    /// At most so many, 500 at most.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
}

/// A series with its changes in builds of the project's branch.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct History {
    /// Which series.
    series: Series,
    /// Its points, the oldest first; the newest 10,000.
    points: Vec<Point>,
    /// Where it changed.
    changes: Vec<Change>,
}

/// What somebody says about an alert.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Reply {
    /// What it becomes: active, acknowledged, silenced or dismissed.
    state: AlertState,
    /// For how long it is silenced, in seconds.
    #[serde(default)]
    silence_s: Option<u64>,
    /// Why.
    #[serde(default)]
    note: Option<String>,
}

pub(super) async fn series(call: Call<OneProject, Nothing, Nothing>) -> Answered<List<Series>> {
    let name = call.path.name;
    let found = call
        .lab
        .store
        .read(move |tx| match projects::by_name(tx, &name)? {
            Some(project) => series::of_project(tx, project.id, SERIES_MAX).map(Some),
            None => Ok(None),
        })
        .await?;
    let items = found.ok_or_else(|| Problem::missing("project of that name"))?;
    Ok(List { items, next: None }.into())
}

pub(super) async fn points(call: Call<OneSeries, Nothing, Nothing>) -> Answered<History> {
    let id = call.path.id;
    let found = call
        .lab
        .store
        .read(move |tx| {
            let Some(series) = series::one(tx, id)? else { return Ok(None) };
            let Some(project) = projects::by_id(tx, series.project)? else { return Ok(None) };
            let definition = Definition::read(&project.definition)
                .map_err(|error| StoreError::Damaged(format!("project {}: {error}", project.name)))?;
            let points = series::points(tx, id, &definition.branch, POINTS_MAX)?;
            Ok(Some(History { series, points, changes: series::changes(tx, id)? }))
        })
        .await?;
    found.map(Answer::from).ok_or_else(|| Problem::missing(&format!("series {id}")))
}

pub(super) async fn alerts(call: Call<Nothing, Which, Nothing>) -> Answered<List<Alert>> {
    let Which { state, before, limit } = call.query;
    let limit = rows(limit)?;
    let items = call.lab.store.read(move |tx| alerts::list(tx, state, before, limit)).await?;
    let is_full = items.len() == limit as usize;
    let next = items.last().filter(|_| is_full).map(|alert| alert.id.0);
    Ok(List { items, next }.into())
}

pub(super) async fn alert(call: Call<OneAlert, Nothing, Nothing>) -> Answered<Alert> {
    let id = call.path.id;
    let found = call.lab.store.read(move |tx| alerts::one(tx, id)).await?;
    found.map(Answer::from).ok_or_else(|| Problem::missing(&format!("alert {id}")))
}

pub(super) async fn answer(call: Call<OneAlert, Nothing, Reply>) -> Answered<Alert> {
    let (id, Reply { state, silence_s, note }) = (call.path.id, call.body);
    let reply = actions::alerts::Reply { state, silence: silence_s.map(Duration::from_secs), note };
    let answer = move |tx: &mut Tx<'_>, ctx: &Ctx| actions::alerts::answer(tx, ctx, id, &reply);
    Ok(call.lab.act(call.who.actor(), answer).await?.into())
}
