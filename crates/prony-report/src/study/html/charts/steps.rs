//! Each step of a scenario along the runs: its response times, and when it failed.

use prony_model::{LoadKind, StudyCell, StudyStep, Timeline, TimelinePoint};

use super::super::figure::Figure;
use super::super::format::{is_invalid, of_invalid, plain_tick};
use super::super::layout::Layout;
use super::super::table::{Content, Table, numbers};
use super::timeline::{cross, extremes};
use crate::number::{cell as number, count, or_dash, plural, significant};
use crate::svg::{Area, Axis, Drawing, Plot, Scale};

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 150.0;
/// Steps that are drawn and listed: more small charts than this are no overview.
const DRAWN_MAX: usize = 48;

/// A cell by its place, and one of its steps.
type Of<'a> = (usize, &'a StudyCell, &'a StudyStep);

/// The chart; `None` where no step has a timeline.
pub(super) fn figure(layout: &Layout<'_>) -> Option<Figure> {
    let cells = &layout.result().cells;
    let all: Vec<Of<'_>> = layout
        .of_kind(LoadKind::Run)
        .filter_map(|index| Some((index, &cells[index], cells[index].scenario.as_ref()?)))
        .flat_map(|(index, cell, found)| found.steps.iter().map(move |step| (index, cell, step)))
        .filter(|(.., step)| step.timelines.iter().any(|timeline| timeline.points.len() > 1))
        .collect();
    let drawn = &all[..all.len().min(DRAWN_MAX)];
    let several = drawn.iter().any(|(index, ..)| *index != drawn[0].0);
    let panels = drawn.iter().enumerate().map(|(place, of)| {
        let (_, cell, step) = of;
        let name = if several { format!("{} · {}", cell.name, step.name) } else { step.name.clone() };
        (name, drawing(layout, of, place))
    });
    let left_out = match all.len() - drawn.len() {
        0 => String::new(),
        more => format!(" {} more are in report.json.", plural(more as u64, "step")),
    };
    Some(Figure {
        id: "chart-steps".to_owned(),
        title: title(drawn)?,
        caption: format!(
            "p50 (solid) and p99 (dotted) response time of each step, by when it was due; a line is a run, a cross a moment \
             with failures. A 99th percentile needs 1000 in one part of the run.{left_out}{}",
            of_invalid(&drawn.iter().map(|(_, cell, _)| *cell).collect::<Vec<_>>())
        ),
        legend: Vec::new(),
        panels: panels.collect(),
        table: table(drawn),
        open: false,
    })
}

fn p50(point: &TimelinePoint) -> Option<f64> {
    point.p50_ms.filter(|time| time.is_normal() && *time > 0.0)
}

fn p99(point: &TimelinePoint) -> Option<f64> {
    point.p99_ms.filter(|time| time.is_normal() && *time > 0.0)
}

/// The step whose median changes most within a run.
fn title(steps: &[Of<'_>]) -> Option<String> {
    let mut most: Option<(f64, String)> = None;
    for (_, cell, step) in steps {
        for timeline in step.timelines.iter().filter(|timeline| !is_invalid(cell, timeline.repeat)) {
            let Some((least, greatest)) = extremes(timeline.points.iter().filter_map(p50)) else { continue };
            let change = greatest / least;
            if most.as_ref().is_none_or(|(known, _)| change > *known) {
                let range = format!("{} to {} ms", significant(least), significant(greatest));
                most = Some((
                    change,
                    format!("{}: p50 of {range} in {}, run {}", step.name, cell.name, timeline.repeat),
                ));
            }
        }
    }
    match most {
        Some((_, place)) => Some(format!("Of the steps, the one that changes most along a run is {place}")),
        None => (!steps.is_empty()).then(|| "Steps along the runs: no run is valid".to_owned()),
    }
}

fn drawing(layout: &Layout<'_>, (_, cell, step): &Of<'_>, place: usize) -> String {
    let area = Area { left: 56.0, top: 24.0, right: WIDTH - 12.0, bottom: HEIGHT - 40.0 };
    let all = || step.timelines.iter().flat_map(|timeline| &timeline.points);
    let end = all().map(|point| point.at_s).filter(|at| at.is_finite()).fold(1.0, f64::max);
    let (least, most) =
        extremes(all().flat_map(|point| [p50(point), p99(point)]).flatten()).unwrap_or((1.0, 10.0));
    let x = Axis::new(Scale::exact(0.0, end, area.across()), "time, s", 6, plain_tick);
    let y = Axis::new(Scale::logarithmic(least, most, area.upwards()), "response time, ms", 3, plain_tick);
    let mut plot = Plot::new(Drawing::new(WIDTH, HEIGHT), area, x, y);
    let colour = layout.colour(cell);
    for timeline in &step.timelines {
        let colour =
            if is_invalid(cell, timeline.repeat) { "unused".to_owned() } else { format!("s{colour}") };
        lines(&mut plot, timeline, &colour);
        for point in timeline.points.iter().filter(|point| point.failed_per_s > 0.0) {
            cross(&mut plot, point.at_s, least);
        }
    }
    let what = format!("p50 and p99 response time of {}", step.name);
    let runs = plural(step.timelines.len() as u64, "run");
    plot.drawing.finish(
        &format!("chart-steps-{place}"),
        "half",
        &what,
        &format!("{what} along {runs} of {}.", cell.name),
    )
}

fn lines(plot: &mut Plot, timeline: &Timeline, colour: &str) {
    for (class, of) in [("tail", p99 as fn(&TimelinePoint) -> Option<f64>), ("run", p50)] {
        // A moment without good ones is a gap, not a line across it.
        for stretch in timeline.points.split(|point| of(point).is_none()) {
            let times: Vec<(f64, f64)> =
                stretch.iter().filter_map(|point| Some((point.at_s, of(point)?))).collect();
            plot.line(&format!("l {class} {colour}"), &times);
        }
    }
}

fn table(steps: &[Of<'_>]) -> Table {
    let columns = vec![
        numbers("run", "run"),
        numbers("rate-most", "most /s"),
        numbers("p50-least", "least p50, ms"),
        numbers("p50-most", "most p50, ms"),
        numbers("p99-most", "most p99, ms"),
        numbers("max", "max, ms"),
        numbers("failed", "parts with failures"),
    ];
    let caption = "Extremes of the parts of each run; each part stands in report.json";
    let mut table = Table::new("chart-steps-data", caption, "step", columns);
    for (place, (_, cell, step)) in steps.iter().enumerate() {
        for timeline in &step.timelines {
            let times =
                |of: fn(&TimelinePoint) -> Option<f64>| extremes(timeline.points.iter().filter_map(of));
            let shown = |value: Option<f64>| or_dash(value, number);
            let rate = extremes(
                timeline.points.iter().map(|point| point.rate_per_s).filter(|rate| rate.is_finite()),
            );
            let failed = timeline.points.iter().filter(|point| point.failed_per_s > 0.0).count() as u64;
            table.row(
                &format!("{place}-{}", timeline.repeat),
                Content::noted(step.name.as_str(), cell.name.as_str()),
                [
                    timeline.repeat.to_string(),
                    or_dash(rate, |(_, most)| significant(most)),
                    shown(times(p50).map(|(least, _)| least)),
                    shown(times(p50).map(|(_, most)| most)),
                    shown(times(p99).map(|(_, most)| most)),
                    shown(times(|point| point.max_ms).map(|(_, most)| most)),
                    count(failed),
                ]
                .map(Content::from),
            );
        }
    }
    table
}
