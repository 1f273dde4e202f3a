//! The series of a project, each with its latest value and a small picture of the last ones.

use askama::Template;
use axum::extract::State;
use axum::response::Html;

use super::super::build::figure::{interval, shown};
use super::super::projects::find;
use super::super::{Around, Frame, format, middle};
use super::{branch, cell_name, change_word};
use crate::http::{Principal, WebError};
use crate::web::fields::PathParam;
use prony_lab_core::ansi_stripper;
use prony_lab_core::lab::Lab;
use prony_lab_model::{Point, Series, SeriesId};
use prony_lab_store::projects::Project;
use prony_lab_store::{StoreError, Tx, series as stored};

/// Series on the page: each is a read of the store.
const MOST: u32 = 400;
/// Points of a small picture.
const SPARK_POINTS: u32 = 60;

#[derive(Template)]
#[template(path = "history.html")]
struct Page {
    project: String,
    branch: String,
    groups: Vec<Group>,
    spark_points: u32,
    is_cut: bool,
    most: u32,
}

/// The series of one cell of one variant on one kind of machine.
struct Group {
    cell: String,
    variant: String,
    has_variant: bool,
    machine: String,
    rows: Vec<Line>,
}

struct Line {
    id: SeriesId,
    metric: String,
    unit: String,
    latest: String,
    interval: String,
    spark: String,
    changes: String,
}

/// Shows them.
pub(crate) async fn project(
    State(lab): State<Lab>,
    principal: Principal,
    PathParam(name): PathParam<String>,
) -> Result<Html<String>, WebError> {
    let project = find(&lab, name).await?;
    let title = format!("History of {}", project.name);
    let key = format!("history {}", project.id);
    let main = middle(&lab, key, move |tx| Page::read(tx, &project)).await?;
    let frame = Frame::of(&principal).at("/projects");
    Ok(Html(Around { frame, title: &title, has_chart: false, main: &main }.render()?))
}

impl Page {
    fn read(tx: &mut Tx<'_>, project: &Project) -> Result<Self, StoreError> {
        let branch = branch(project);
        let mut all = stored::of_project(tx, project.id, MOST + 1)?;
        let is_cut = all.len() > MOST as usize;
        all.truncate(MOST as usize);
        let has_variant = all.windows(2).any(|pair| pair[0].variant != pair[1].variant);
        let mut groups: Vec<(Key, Group)> = Vec::new();
        for series in all {
            let points = stored::points(tx, series.id, &branch, SPARK_POINTS)?;
            if points.is_empty() {
                continue;
            }
            let row = Line::read(tx, &series, &points)?;
            let key = (series.variant.clone(), series.cell.clone(), series.fingerprint.clone());
            if groups.last().is_none_or(|(last, _)| *last != key) {
                let (cell, variant) = (cell_name(&series), ansi_stripper::line(&series.variant));
                let machine = ansi_stripper::line(&series.fingerprint);
                groups.push((key, Group { cell, variant, has_variant, machine, rows: Vec::new() }));
            }
            if let Some((_, group)) = groups.last_mut() {
                group.rows.push(row);
            }
        }
        let groups = groups.into_iter().map(|(_, group)| group).collect();
        let branch = ansi_stripper::line(&branch);
        let project = project.name.clone();
        Ok(Self { project, branch, groups, spark_points: SPARK_POINTS, is_cut, most: MOST })
    }
}

/// What makes a group: variant, cell and machine.
type Key = (String, String, String);

impl Line {
    fn read(tx: &mut Tx<'_>, series: &Series, points: &[Point]) -> Result<Self, StoreError> {
        let changes = stored::changes(tx, series.id)?;
        let last_change = changes.last().map_or_else(
            || "<span class=\"soft\">none</span>".to_owned(),
            |last| {
                format!(
                    "{} with <a href=\"/build/{}\">build {}</a>",
                    change_word(series, last),
                    last.build,
                    last.build
                )
            },
        );
        let values: Vec<f64> =
            points.iter().filter(|point| point.is_valid).filter_map(|point| point.value).collect();
        let latest = points.iter().rev().find(|point| point.is_valid && point.value.is_some());
        Ok(Self {
            id: series.id,
            metric: ansi_stripper::line(&series.metric),
            unit: format::unit(&series.unit),
            latest: latest.map_or_else(|| "–".to_owned(), |point| shown(point.value)),
            interval: latest.map_or_else(|| "–".to_owned(), |point| interval(point.low, point.high)),
            spark: prony_report::series::spark(&values),
            changes: last_change,
        })
    }
}
