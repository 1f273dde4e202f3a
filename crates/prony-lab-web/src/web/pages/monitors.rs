//! `/monitors`: whether URLs answer, and how fast; `/monitor/{id}`: one of them over time.

use std::time::Duration;

use askama::Template;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Redirect, Response};
use prony_report::series::{SeriesPoint, SeriesWords, chart, spark};

use super::{Frame, format, mistakes};
use crate::http::{Principal, WebError};
use crate::web::fields::{Fields, PathParam};
use prony_lab_core::actions::watches;
use prony_lab_core::ansi_stripper;
use prony_lab_core::egress;
use prony_lab_core::lab::Lab;
use prony_lab_model::clock::{self, Moment};
use prony_lab_model::{Check, FieldMistake, Monitor, MonitorId, MonitorRequest, Role};
use prony_lab_store::{StoreError, Tx, monitors};

/// Looks in the small picture of each.
const SPARK: u32 = 60;
/// What "lately" is.
const LATELY: Duration = Duration::from_hours(24);
/// Looks of a day, at the most often that there is.
const LOOKS_MAX: u32 = 20_000;
/// Rows of the table of one.
const ROWS: usize = 100;

#[derive(Template)]
#[template(path = "monitors.html")]
struct List {
    frame: Frame,
    rows: Vec<Line>,
    failing: usize,
    spark: u32,
    request: MonitorRequest,
    /// The names that can be trusted.
    authorities: Vec<String>,
    mistakes: Vec<FieldMistake>,
}

struct Line {
    monitor: Monitor,
    state: String,
    latency: String,
    spark: String,
    share: String,
    at: Option<Moment>,
    is_failing: bool,
}

#[derive(Template)]
#[template(path = "monitor.html")]
struct One {
    frame: Frame,
    monitor: Monitor,
    state: String,
    chart: Option<String>,
    checks: Vec<Check>,
    may_remove: bool,
}

/// Shows all of them.
pub(crate) async fn list(State(lab): State<Lab>, principal: Principal) -> Result<Html<String>, WebError> {
    Ok(Html(draw(&lab, &principal, MonitorRequest::default(), Vec::new()).await?))
}

/// Adds one.
pub(crate) async fn add(
    State(lab): State<Lab>,
    principal: Principal,
    fields: Fields,
) -> Result<Response, WebError> {
    principal.require(Role::Runner)?;
    let one = |name| fields.one(name).to_owned();
    let request = MonitorRequest {
        name: one("name"),
        url: one("url"),
        every: one("every"),
        timeout: one("timeout"),
        fail_after: one("fail_after"),
        expected_status: one("expected_status"),
        email: one("email"),
        cacert: one("cacert"),
        insecure: !one("insecure").is_empty(),
        sni: one("sni"),
    };
    let added = lab.add_monitor(request.clone(), &principal.name, principal.role).await;
    let Err(refused) = added else { return Ok(Redirect::to("/monitors").into_response()) };
    let mistakes = mistakes(refused, "url")?;
    let page = draw(&lab, &principal, request, mistakes).await?;
    Ok((StatusCode::UNPROCESSABLE_ENTITY, Html(page)).into_response())
}

/// Shows one.
pub(crate) async fn show(
    State(lab): State<Lab>,
    principal: Principal,
    PathParam(id): PathParam<MonitorId>,
) -> Result<Html<String>, WebError> {
    let (monitor, mut checks) = find(&lab, id).await?;
    let chart = latencies(&monitor.name, &checks);
    let state = checks.last().map_or_else(String::new, answer);
    checks.reverse();
    checks.truncate(ROWS);
    let (name, role, looked_at) = (principal.name.clone(), principal.role, monitor.clone());
    let may = move |tx: &mut Tx<'_>| watches::may_remove_monitor(tx, &looked_at, &name, role);
    let may_remove = lab.store.read(may).await?;
    let frame = Frame::of(&principal).at("/monitors");
    Ok(Html(One { frame, monitor, state, chart, checks, may_remove }.render()?))
}

/// Sends the checks of the last day.
pub(crate) async fn checks_json(
    State(lab): State<Lab>,
    _: Principal,
    PathParam(id): PathParam<MonitorId>,
) -> Result<Response, WebError> {
    let (monitor, checks) = find(&lab, id).await?;
    Ok(Json(serde_json::json!({ "monitor": monitor.name, "url": monitor.url, "checks": checks }))
        .into_response())
}

/// Takes one out.
pub(crate) async fn remove(
    State(lab): State<Lab>,
    principal: Principal,
    PathParam(id): PathParam<MonitorId>,
) -> Result<Redirect, WebError> {
    principal.require(Role::Runner)?;
    lab.remove_monitor(id, &principal.name, principal.role).await?;
    Ok(Redirect::to("/monitors"))
}

async fn find(lab: &Lab, id: MonitorId) -> Result<(Monitor, Vec<Check>), WebError> {
    let since = clock::wall().before(LATELY);
    let found = lab
        .store
        .read(move |tx| {
            let monitor = monitors::all(tx)?.into_iter().find(|monitor| monitor.id == id);
            Ok((monitor, monitors::checks(tx, id, since, LOOKS_MAX)?))
        })
        .await?;
    let monitor = found.0.ok_or_else(|| WebError::Missing(format!("monitor {id}")))?;
    Ok((monitor, found.1))
}

async fn draw(
    lab: &Lab,
    principal: &Principal,
    request: MonitorRequest,
    mistakes: Vec<FieldMistake>,
) -> Result<String, WebError> {
    let since = clock::wall().before(LATELY);
    let (rows, authorities) = lab
        .store
        .read(move |tx| {
            let all = monitors::all(tx)?.into_iter();
            let rows: Vec<Line> =
                all.map(|monitor| Line::read(tx, monitor, since)).collect::<Result<_, _>>()?;
            Ok((rows, egress::policy(tx)?.authorities().map(str::to_owned).collect()))
        })
        .await?;
    let failing = rows.iter().filter(|row| row.is_failing).count();
    let frame = Frame::of(principal).at("/monitors");
    Ok(List { frame, rows, failing, spark: SPARK, request, authorities, mistakes }.render()?)
}

impl Line {
    fn read(tx: &mut Tx<'_>, monitor: Monitor, since: Moment) -> Result<Self, StoreError> {
        let summary = monitors::summary(tx, monitor.id, since, SPARK)?;
        let last = summary.last.last();
        let latencies: Vec<f64> =
            summary.last.iter().filter_map(|check| check.latency_us).map(|us| us as f64 / 1000.0).collect();
        Ok(Self {
            state: last.map_or_else(|| "not looked at yet".to_owned(), answer),
            latency: last.map_or_else(|| "–".to_owned(), latency),
            spark: spark(&latencies),
            share: if summary.checks == 0 {
                "–".to_owned()
            } else {
                prony_report::percent(summary.good, summary.checks)
            },
            at: last.map(|check| check.at),
            is_failing: last.is_some_and(|check| !check.is_good),
            monitor,
        })
    }
}

/// What came: markup.
fn answer(check: &Check) -> String {
    let (class, shape, word) = if check.is_good { ("good", "✓", "good") } else { ("bad", "✕", "bad") };
    let escaped = askama::filters::escape(ansi_stripper::line(&check.words()), askama::filters::Html);
    format!(
        "{} {}",
        format::word(class, shape, word),
        escaped.map_or_else(|_| String::new(), |safe| safe.to_string())
    )
}

fn latency(check: &Check) -> String {
    check.latency_us.map_or_else(|| "–".to_owned(), |us| prony_report::rate(us as f64 / 1000.0))
}

/// The latencies of `checks` over time.
fn latencies(name: &str, checks: &[Check]) -> Option<String> {
    let valued: Vec<&Check> = checks.iter().filter(|check| check.latency_us.is_some()).collect();
    let points: Vec<SeriesPoint> = valued.iter().filter_map(|check| point(check)).collect();
    let title = format!("latency of {name}");
    let point = |place: usize| valued.get(place).map_or_else(String::new, |check| check.at.utc());
    let words = SeriesWords { title: &title, values: "latency, ms", time: "checked, UTC", point: &point };
    chart("latency", &words, &points, &[])
}

fn point(check: &Check) -> Option<SeriesPoint> {
    Some(SeriesPoint {
        at_s: check.at.0 as f64 / 1000.0,
        value: check.latency_us? as f64 / 1000.0,
        interval: None,
        is_valid: check.is_good,
    })
}
