//! `/history/{project}` and `/history/{project}/{series}`: what became of figures, with the changes that were found.

mod list;
mod points;

use askama::Template;
use axum::extract::State;
use axum::response::Html;
use prony_report::series::{SeriesChange, SeriesPoint, SeriesWords, chart};

pub(crate) use list::project;
pub(crate) use points::{points_csv, points_json};

use super::build::figure::{interval, shown};
use super::projects::find;
use super::{Around, Frame, format, middle};
use crate::http::{Principal, WebError};
use crate::web::fields::PathParam;
use prony_lab_core::ansi_stripper;
use prony_lab_core::lab::Lab;
use prony_lab_model::clock::Moment;
use prony_lab_model::{BuildId, Change, ChangeState, Definition, Point, Series, SeriesId};
use prony_lab_store::projects::Project;
use prony_lab_store::{StoreError, Tx, series as stored};

/// Points of one series: a build each hour for eleven years.
const POINTS_MAX: u32 = 100_000;
/// Rows of the table on the page, the newest; the rest is a file away.
const ROWS: usize = 100;

#[derive(Template)]
#[template(path = "series.html")]
struct Page {
    project: String,
    id: SeriesId,
    title: String,
    variant: String,
    branch: String,
    machine: String,
    verdict: String,
    label: String,
    chart: Option<String>,
    caption: String,
    changes: Vec<ChangeRow>,
    rows: Vec<PointRow>,
    total: usize,
    is_cut: bool,
}

struct ChangeRow {
    id: i64,
    word: String,
    build: BuildId,
    last_before: BuildId,
    before: String,
    after: String,
    state: &'static str,
    p: String,
    found_at: Moment,
}

struct PointRow {
    build: BuildId,
    at: Moment,
    commit: String,
    value: String,
    interval: String,
    runs: u32,
    samples: String,
    is_valid: bool,
    note: String,
}

/// Shows one series.
pub(crate) async fn series(
    State(lab): State<Lab>,
    principal: Principal,
    PathParam((name, id)): PathParam<(String, SeriesId)>,
) -> Result<Html<String>, WebError> {
    let project = find(&lab, name).await?;
    let title = format!("Series {id} of {}", project.name);
    let key = format!("series {id}");
    let main = middle(&lab, key, move |tx| Page::read(tx, &project, id)).await?;
    let frame = Frame::of(&principal).at("/projects");
    Ok(Html(Around { frame, title: &title, has_chart: true, main: &main }.render()?))
}

/// A series with its points and changes.
struct Whole {
    series: Series,
    branch: String,
    points: Vec<Point>,
    changes: Vec<Change>,
}

impl Whole {
    fn read(tx: &mut Tx<'_>, project: &Project, id: SeriesId) -> Result<Self, StoreError> {
        let found = stored::one(tx, id)?.filter(|series| series.project == project.id);
        let series =
            found.ok_or_else(|| StoreError::Missing(format!("series {id} of project {}", project.name)))?;
        let branch = branch(project);
        let points = stored::points(tx, id, &branch, POINTS_MAX)?;
        let changes = stored::changes(tx, id)?;
        Ok(Self { series, branch, points, changes })
    }

    /// Where among the points that have a value a build's stands.
    fn place(points: &[&Point], build: BuildId) -> Option<usize> {
        points.binary_search_by_key(&build, |point| point.build).ok()
    }
}

/// The branch of whose builds a project's history is made.
fn branch(project: &Project) -> String {
    Definition::read(&project.definition).map_or_else(|_| "main".to_owned(), |definition| definition.branch)
}

impl Page {
    fn read(tx: &mut Tx<'_>, project: &Project, id: SeriesId) -> Result<Self, StoreError> {
        let whole = Whole::read(tx, project, id)?;
        let Whole { series, branch, points, changes } = &whole;
        let label = with_unit(series);
        let title = format!("{} of {}", ansi_stripper::line(&series.metric), cell_name(series));
        let (verdict, headline) = sentence(series, changes);
        let rows: Vec<PointRow> = points.iter().rev().take(ROWS).map(PointRow::of).collect();
        Ok(Self {
            project: project.name.clone(),
            id,
            chart: draw(&whole, &format!("{title}: {headline}"), &label),
            caption: caption(&label, points),
            title,
            variant: ansi_stripper::line(&series.variant),
            branch: ansi_stripper::line(branch),
            machine: ansi_stripper::line(&series.fingerprint),
            verdict,
            label,
            changes: changes.iter().rev().map(|change| ChangeRow::of(series, change)).collect(),
            total: points.len(),
            is_cut: points.len() > rows.len(),
            rows,
        })
    }
}

fn with_unit(series: &Series) -> String {
    let metric = ansi_stripper::line(&series.metric);
    if series.unit.is_empty() { metric } else { format!("{metric}, {}", format::unit(&series.unit)) }
}

fn cell_name(series: &Series) -> String {
    if series.cell.is_empty() { "all".to_owned() } else { ansi_stripper::line(&series.cell) }
}

/// The newest change as markup, and as the title of the chart.
fn sentence(series: &Series, changes: &[Change]) -> (String, String) {
    let Some(last) = changes.last() else {
        return (format::word("good", "=", "no change found"), "no change found".to_owned());
    };
    let plain =
        format!("changed by {} with build {}", prony_report::signed_percent(last.ratio()), last.build);
    let markup =
        format!("{} with build {}, {}", change_word(series, last), last.build, certainty(last.state));
    (markup, plain)
}

/// Better or worse: markup.
fn change_word(series: &Series, change: &Change) -> String {
    let size = prony_report::signed_percent(change.ratio());
    if series.is_worse(change.before, change.after) {
        format::word("bad", "▼", &format!("worse {size}"))
    } else {
        format::word("good", "▲", &format!("better {size}"))
    }
}

fn certainty(state: ChangeState) -> &'static str {
    match state {
        ChangeState::Suspected => "suspected: a comparison of the two commits will tell",
        ChangeState::Found => "very improbable by chance; ten points on each side will confirm it",
        ChangeState::Confirmed => "confirmed by ten points on each side",
    }
}

fn caption(label: &str, points: &[Point]) -> String {
    let is_dense = points.len() > 300;
    let marks = if is_dense {
        "Many points are reduced to the minimum and maximum of each stretch."
    } else {
        "Upright lines, or the band, are the intervals; hollow points are not used."
    };
    format!(
        "{label} of each build, the newest on the right. {marks} A dashed upright line is a change, a solid one a confirmed change. \
         The axis of the values need not begin at zero."
    )
}

fn draw(whole: &Whole, title: &str, label: &str) -> Option<String> {
    let valued: Vec<&Point> = whole.points.iter().filter(|point| point.value.is_some()).collect();
    let drawn: Vec<SeriesPoint> = valued
        .iter()
        .filter_map(|point| {
            Some(SeriesPoint {
                at_s: point.at.0 as f64 / 1000.0,
                value: point.value?,
                interval: point.low.zip(point.high),
                is_valid: point.is_valid,
            })
        })
        .collect();
    let changes: Vec<SeriesChange> = whole
        .changes
        .iter()
        .filter_map(|change| {
            Some(SeriesChange {
                place: Whole::place(&valued, change.build)?,
                name: prony_report::signed_percent(change.ratio()),
                is_confirmed: change.state == ChangeState::Confirmed,
                levels: (change.before, change.after),
            })
        })
        .collect();
    let name =
        |place: usize| valued.get(place).map_or_else(String::new, |point| format!("build {}", point.build));
    let words = SeriesWords { title, values: label, time: "requested, UTC", point: &name };
    chart("series", &words, &drawn, &changes)
}

impl ChangeRow {
    fn of(series: &Series, change: &Change) -> Self {
        Self {
            id: change.id,
            word: change_word(series, change),
            build: change.build,
            last_before: change.last_before,
            before: shown(Some(change.before)),
            after: shown(Some(change.after)),
            state: change.state.name(),
            p: if change.p < 0.000_1 { "< 0.0001".to_owned() } else { format!("{:.4}", change.p) },
            found_at: change.found_at,
        }
    }
}

impl PointRow {
    fn of(point: &Point) -> Self {
        Self {
            build: point.build,
            at: point.at,
            commit: point.commit.clone().unwrap_or_default(),
            value: shown(point.value),
            interval: interval(point.low, point.high),
            runs: point.runs,
            samples: prony_report::count(point.samples),
            is_valid: point.is_valid,
            note: point.note.as_deref().map_or_else(String::new, ansi_stripper::line),
        }
    }
}
