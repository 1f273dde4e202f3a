//! The points of a series for scripts: column by column as JSON, row by row as CSV.

use std::fmt::Write as _;

use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::super::format;
use super::super::projects::find;
use super::{Whole, with_unit};
use crate::http::{Principal, WebError};
use crate::web::fields::PathParam;
use prony_lab_core::lab::Lab;
use prony_lab_model::{BuildId, ChangeState, Point, SeriesId};

/// The points that have a value, column by column: a chart of 100,000 takes them as they are.
#[derive(Serialize)]
struct Columns {
    unit: String,
    /// The name of the values, with the unit.
    label: String,
    /// Seconds since 1970-01-01 UTC.
    at: Vec<i64>,
    build: Vec<BuildId>,
    value: Vec<Option<f64>>,
    low: Vec<Option<f64>>,
    high: Vec<Option<f64>>,
    /// Places of the points that do not count.
    unused: Vec<usize>,
    changes: Vec<Mark>,
}

#[derive(Serialize)]
struct Mark {
    /// Of the first point after the change, in the columns.
    place: usize,
    before: f64,
    after: f64,
    confirmed: bool,
}

/// Sends them as JSON.
pub(crate) async fn points_json(
    State(lab): State<Lab>,
    _: Principal,
    PathParam((name, id)): PathParam<(String, SeriesId)>,
) -> Result<Response, WebError> {
    let project = find(&lab, name).await?;
    let whole = lab.store.read(move |tx| Whole::read(tx, &project, id)).await?;
    let points: Vec<&Point> = whole.points.iter().filter(|point| point.value.is_some()).collect();
    let changes = whole.changes.iter().filter_map(|change| {
        let place = Whole::place(&points, change.build)?;
        let confirmed = change.state == ChangeState::Confirmed;
        Some(Mark { place, before: change.before, after: change.after, confirmed })
    });
    let columns = Columns {
        unit: format::unit(&whole.series.unit),
        label: with_unit(&whole.series),
        at: points.iter().map(|point| point.at.0.div_euclid(1000)).collect(),
        build: points.iter().map(|point| point.build).collect(),
        value: points.iter().map(|point| drawn(point.value)).collect(),
        low: points.iter().map(|point| drawn(point.low)).collect(),
        high: points.iter().map(|point| drawn(point.high)).collect(),
        unused: points
            .iter()
            .enumerate()
            .filter(|(_, point)| !point.is_valid)
            .map(|(place, _)| place)
            .collect(),
        changes: changes.collect(),
    };
    Ok(Json(columns).into_response())
}

/// Six significant digits, to the nearest: a thousandth of a pixel, and half the bytes. The CSV has all digits.
fn drawn(value: Option<f64>) -> Option<f64> {
    value.map(|value| format!("{value:.5e}").parse().unwrap_or(value))
}

/// Sends them as CSV (RFC 4180).
pub(crate) async fn points_csv(
    State(lab): State<Lab>,
    _: Principal,
    PathParam((name, id)): PathParam<(String, SeriesId)>,
) -> Result<Response, WebError> {
    let project = find(&lab, name).await?;
    let whole = lab.store.read(move |tx| Whole::read(tx, &project, id)).await?;
    let mut text = "build,requested_at,commit,value,low,high,runs,samples,valid,unit\r\n".to_owned();
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    for point in &whole.points {
        // Writing to a `String` can't fail. No value here has a comma or a quote but, perhaps, the unit.
        let _ = write!(
            text,
            "{},{},{},{},{},{},{},{},{},\"{}\"\r\n",
            point.build,
            point.at.rfc3339(),
            point.commit.as_deref().unwrap_or_default(),
            number(point.value),
            number(point.low),
            number(point.high),
            point.runs,
            point.samples,
            point.is_valid,
            whole.series.unit.replace('"', "\"\"")
        );
    }
    Ok(([(CONTENT_TYPE, "text/csv; charset=utf-8")], text).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_is_as_exact_as_a_drawing() {
        assert_eq!(drawn(Some(17_934.123_456)), Some(17_934.1));
        assert_eq!(drawn(Some(0.001_234_567_89)), Some(0.001_234_57));
        assert_eq!((drawn(Some(0.0)), drawn(None)), (Some(0.0), None));
    }
}
