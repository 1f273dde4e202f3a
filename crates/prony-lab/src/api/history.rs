//! Series, their points and changes, and alerts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::builds::{List, rows};
use super::call::{Answered, Call, Nothing};
use super::problem::Problem;
use super::projects::OneProject;
use crate::clock::Moment;
use crate::model::{Alert, AlertId, AlertState, Change, Definition, Point, Series, SeriesId};
use crate::store::{StoreError, alerts, projects, series};

/// Series of one project: a study of 100 cells with 20 metrics each, on one machine.
const SERIES_MAX: u32 = 2_000;
/// Points where nothing else is asked for.
const POINTS: u32 = 1_000;
/// Points at most: a build a day for thirty years.
const POINTS_MAX: u32 = 10_000;

/// One series.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct OneSeries {
    /// Its number.
    id: SeriesId,
}

/// How much of a series.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct HowMuch {
    /// At most so many of the newest points, 10000 at most.
    #[schemars(range(min = 1, max = 10000))]
    limit: Option<u32>,
}

/// A series with its points.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct History {
    /// What it is.
    series: Series,
    /// The branch whose builds make it.
    branch: String,
    /// Its newest points, the oldest of them first.
    points: Vec<Point>,
    /// Where it changed, the oldest first.
    changes: Vec<Change>,
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
    /// Those before this alert: `next` of the page before.
    before: Option<AlertId>,
    /// At most so many, 500 at most.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
}

/// What somebody says about an alert.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Reply {
    /// What it is to be: active, acknowledged, silenced or dismissed.
    state: AlertState,
    /// When a silenced one is to be heard of again, milliseconds since 1970; absent: a day later.
    until: Option<Moment>,
    /// A remark.
    note: Option<String>,
}

pub(super) async fn of_project(call: Call<OneProject, Nothing, Nothing>) -> Answered<List<Series>> {
    let name = call.path.name;
    let found = call
        .lab
        .store
        .read(move |tx| {
            let Some(project) = projects::by_name(tx, &name)? else { return Ok(None) };
            series::of_project(tx, project.id, SERIES_MAX).map(Some)
        })
        .await?;
    let items = found.ok_or_else(|| Problem::missing("project of that name"))?;
    Ok(List { items, next: None }.into())
}

pub(super) async fn one(call: Call<OneSeries, HowMuch, Nothing>) -> Answered<History> {
    let (id, most) = (call.path.id, limit(call.query.limit)?);
    let found = call
        .lab
        .store
        .read(move |tx| {
            let Some(of) = series::one(tx, id)? else { return Ok(None) };
            let Some(project) = projects::by_id(tx, of.project)? else { return Ok(None) };
            let definition = Definition::read(&project.definition)
                .map_err(|error| StoreError::Damaged(format!("project {}: {error}", project.name)))?;
            let points = series::points(tx, id, &definition.branch, most)?;
            let changes = series::changes(tx, id)?;
            Ok(Some(History { series: of, branch: definition.branch, points, changes }))
        })
        .await?;
    found.map(Into::into).ok_or_else(|| Problem::missing(&format!("series {id}")))
}

pub(super) async fn alerts(call: Call<Nothing, Which, Nothing>) -> Answered<List<Alert>> {
    let Which { state, before, limit } = call.query;
    let most = rows(limit)?;
    let items = call.lab.store.read(move |tx| alerts::list(tx, state, before, most)).await?;
    let is_full = items.len() == most as usize;
    let next = items.last().filter(|_| is_full).map(|alert| alert.id.0);
    Ok(List { items, next }.into())
}

pub(super) async fn alert(call: Call<OneAlert, Nothing, Nothing>) -> Answered<Alert> {
    let id = call.path.id;
    let found = call.lab.store.read(move |tx| alerts::one(tx, id)).await?;
    found.map(Into::into).ok_or_else(|| Problem::missing(&format!("alert {id}")))
}

pub(super) async fn answer(call: Call<OneAlert, Nothing, Reply>) -> Answered<Alert> {
    let Reply { state, until, note } = call.body;
    let answered = call.lab.answer_alert(call.path.id, state, until, note, &call.who.name).await?;
    Ok(answered.into())
}

fn limit(asked: Option<u32>) -> Result<u32, Problem> {
    match asked {
        None => Ok(POINTS),
        Some(asked) if (1..=POINTS_MAX).contains(&asked) => Ok(asked),
        Some(_) => Err(Problem::bad(format!("limit: 1 to {POINTS_MAX}"))),
    }
}
