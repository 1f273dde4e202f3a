//! Every run second by second: rate above, response times below, and what was found about it.

use prony_model::{LoadKind, Severity, StudyCell, Timeline, TimelinePoint};

use super::super::figure::Figure;
use super::super::format::{is_invalid, of_invalid, plain_tick};
use super::super::layout::Layout;
use super::super::table::{Content, Table, numbers, words};
use crate::number::{cell as number, count, or_dash, plural, seconds, significant};
use crate::svg::{Anchor, Area, Axis, Drawing, Plot, Scale, Shape, decimated};

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 170.0;
/// Lines of a timeline: rate, p50, p99.
const LINES: usize = 3;
/// A line is never drawn with less: 20 stretches still show where a run changed.
const LEAST_POINTS: usize = 40;
/// Runs whose findings are named in one chart.
const MARKED_MAX: usize = 3;

/// The chart, with at most about `points_max` points in all lines together; `None` where no run has a timeline.
pub(super) fn figure(layout: &Layout<'_>, points_max: usize) -> Option<Figure> {
    let cells = &layout.result().cells;
    let all: Vec<usize> =
        layout.of_kind(LoadKind::Run).filter(|index| has_timeline(&cells[*index])).collect();
    let timelines: usize = all.iter().map(|index| cells[*index].timelines.len()).sum();
    let title = title(&all.iter().map(|index| &cells[*index]).collect::<Vec<_>>())?;
    let points = (points_max / LINES / timelines.max(1)).max(LEAST_POINTS);
    let mut panels = Vec::new();
    for index in &all {
        let cell = &cells[*index];
        let marked = marked(layout, *index);
        for (upper, id) in [(true, "rate"), (false, "times")] {
            let name = format!("{} · {}", cell.name, if upper { "rate" } else { "response times" });
            let id = format!("chart-timeline-{index}-{id}");
            panels.push((name, drawing(layout, cell, upper, points, &marked, &id)));
        }
    }
    Some(Figure {
        id: "chart-timeline".to_owned(),
        title,
        caption: format!(
            "Good responses per second, and p50 (solid) and p99 (dotted) response time, along each run; \
             a line is a run, thick dashes a run with a warning, which is named, a cross a moment with failures. \
             Lines of many points keep the extremes of every stretch.{}",
            of_invalid(&all.iter().map(|index| &cells[*index]).collect::<Vec<_>>())
        ),
        legend: Vec::new(),
        panels,
        table: table(&all.iter().map(|index| (*index, &cells[*index])).collect::<Vec<_>>()),
        open: false,
    })
}

fn has_timeline(cell: &StudyCell) -> bool {
    cell.timelines.iter().any(|timeline| timeline.points.len() > 1)
}

/// The runs of a cell with a warning or worse, and its code.
fn marked(layout: &Layout<'_>, cell: usize) -> Vec<(u32, &'static str)> {
    let mut marked = Vec::new();
    for found in layout.result().findings.iter().filter(|found| found.finding.severity > Severity::Note) {
        for place in found.places.iter().filter(|place| place.cell as usize == cell) {
            for repeat in &place.repeats {
                if !marked.iter().any(|(known, _)| known == repeat) {
                    marked.push((*repeat, found.finding.code.name()));
                }
            }
        }
    }
    marked
}

fn rates(timeline: &Timeline) -> impl Iterator<Item = f64> {
    timeline.points.iter().map(|point| point.rate_per_s).filter(|rate| rate.is_finite())
}

/// Least and greatest of some values.
pub(super) fn extremes(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let (least, most) = values
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(value), most.max(value)));
    (least <= most).then_some((least, most))
}

/// The timeline that varies most.
fn title(cells: &[&StudyCell]) -> Option<String> {
    let mut worst: Option<(f64, String)> = None;
    for cell in cells {
        for timeline in cell.timelines.iter().filter(|timeline| !is_invalid(cell, timeline.repeat)) {
            let Some((least, most)) = extremes(rates(timeline)) else { continue };
            let swing = (most - least) / most.max(f64::MIN_POSITIVE);
            if worst.as_ref().is_none_or(|(known, _)| swing > *known) {
                let range = format!("{} to {} /s", significant(least), significant(most));
                worst = Some((swing, format!("{}, run {}: {range}", cell.name, timeline.repeat)));
            }
        }
    }
    let is_any = cells.iter().any(|cell| !cell.timelines.is_empty());
    worst
        .map(|(_, place)| format!("Second by second the rate varies most in {place}"))
        .or_else(|| is_any.then(|| "Second by second: no run is valid".to_owned()))
}

fn drawing(
    layout: &Layout<'_>,
    cell: &StudyCell,
    upper: bool,
    points: usize,
    marked: &[(u32, &str)],
    id: &str,
) -> String {
    let area = Area { left: 56.0, top: 24.0, right: WIDTH - 12.0, bottom: HEIGHT - 40.0 };
    let all = || cell.timelines.iter().flat_map(|timeline| &timeline.points);
    let end = all().map(|point| point.at_s).filter(|at| at.is_finite()).fold(1.0, f64::max);
    let x = Axis::new(Scale::exact(0.0, end, area.across()), "time, s", 6, plain_tick);
    let y = if upper {
        let most = all().map(|point| point.rate_per_s).filter(|rate| rate.is_finite()).fold(0.0, f64::max);
        Axis::new(Scale::linear(most, area.upwards()), "good responses, per second", 4, plain_tick)
    } else {
        let times = all().flat_map(|point| [point.p50_ms, point.p99_ms]).flatten();
        let (least, most) =
            extremes(times.filter(|time| time.is_normal() && *time > 0.0)).unwrap_or((1.0, 10.0));
        Axis::new(Scale::logarithmic(least, most, area.upwards()), "response time, ms", 4, plain_tick)
    };
    let mut plot = Plot::new(Drawing::new(WIDTH, HEIGHT), area, x, y);
    let colour = layout.colour(cell);
    for timeline in &cell.timelines {
        let has_warning = marked.iter().any(|(repeat, _)| *repeat == timeline.repeat);
        let is_unused = is_invalid(cell, timeline.repeat);
        let colour = if is_unused { "unused".to_owned() } else { format!("s{colour}") };
        let state = if has_warning { "marked" } else { "run" };
        if upper {
            let rates: Vec<(f64, f64)> =
                timeline.points.iter().map(|point| (point.at_s, point.rate_per_s)).collect();
            plot.line(&format!("l {state} {colour}"), &decimated(&rates, points));
            for point in timeline.points.iter().filter(|point| point.failed_per_s > 0.0) {
                cross(&mut plot, point.at_s, 0.0);
            }
        } else {
            for (class, of) in [("tail", p99 as fn(&TimelinePoint) -> Option<f64>), (state, p50)] {
                // A second without responses is a gap, not a line across it.
                for stretch in timeline.points.split(|point| of(point).is_none()) {
                    let times: Vec<(f64, f64)> =
                        stretch.iter().filter_map(|point| Some((point.at_s, of(point)?))).collect();
                    plot.line(&format!("l {class} {colour}"), &decimated(&times, points));
                }
            }
        }
    }
    if upper {
        name_marked(&mut plot, marked);
    }
    let what = if upper { "Good responses per second" } else { "p50 and p99 response time" };
    let description =
        format!("{what} along {} of {}.", plural(cell.timelines.len() as u64, "run"), cell.name);
    plot.drawing.finish(id, "half", what, &description)
}

fn p50(point: &TimelinePoint) -> Option<f64> {
    point.p50_ms
}

fn p99(point: &TimelinePoint) -> Option<f64> {
    point.p99_ms
}

/// A moment with failures, at the bottom; `any` is a value that the other axis has.
pub(super) fn cross(plot: &mut Plot, at_s: f64, any: f64) {
    let (x, y) = (plot.place((at_s, any)).0, plot.area.bottom - 4.0);
    plot.drawing.path("x", &[(x - 3.0, y - 3.0), (x + 3.0, y + 3.0)]);
    plot.drawing.path("x", &[(x - 3.0, y + 3.0), (x + 3.0, y - 3.0)]);
}

/// Names the runs with warnings below the lines, where rates have room.
fn name_marked(plot: &mut Plot, marked: &[(u32, &str)]) {
    let more = marked.len().saturating_sub(MARKED_MAX);
    let mut names: Vec<String> =
        marked.iter().take(MARKED_MAX).map(|(repeat, code)| format!("run {repeat}: {code}")).collect();
    if more > 0 {
        names.push(format!("{more} more"));
    }
    if !names.is_empty() {
        let place = (plot.area.left + 4.0, plot.area.bottom - 12.0);
        plot.drawing.point("mark-point", Shape::Triangle, (place.0 + 4.0, place.1 - 3.5), 4.0);
        plot.drawing.text(
            "label",
            (place.0 + 12.0, place.1),
            Anchor::Start,
            &names.join(" · "),
            plot.area.right - place.0,
        );
    }
}

fn table(cells: &[(usize, &StudyCell)]) -> Table {
    let columns = vec![
        numbers("run", "run"),
        numbers("length", "length"),
        numbers("rate-least", "least /s"),
        numbers("rate-most", "most /s"),
        numbers("p50-least", "least p50, ms"),
        numbers("p50-most", "most p50, ms"),
        numbers("p99-most", "most p99, ms"),
        numbers("failed", "seconds with failures"),
        words("findings", "findings"),
    ];
    let caption = "Extremes of the seconds of each run; each second stands in report.json";
    let mut table = Table::new("chart-timeline-data", caption, "cell", columns);
    for (index, cell) in cells {
        for timeline in &cell.timelines {
            let end = |value: Option<f64>, show: fn(f64) -> String| or_dash(value, show);
            let rate = extremes(rates(timeline));
            let p50 = extremes(timeline.points.iter().filter_map(p50));
            let p99 = extremes(timeline.points.iter().filter_map(p99));
            let failed = timeline.points.iter().filter(|point| point.failed_per_s > 0.0).count() as u64;
            let run = cell.runs.iter().find(|run| run.repeat == timeline.repeat);
            let codes: Vec<&str> =
                run.map_or_else(Vec::new, |run| run.findings.iter().map(|code| code.name()).collect());
            table.row(
                &format!("{index}-{}", timeline.repeat),
                cell.name.as_str(),
                [
                    timeline.repeat.to_string(),
                    or_dash(timeline.points.last(), |point| seconds(point.at_s)),
                    end(rate.map(|rate| rate.0), significant),
                    end(rate.map(|rate| rate.1), significant),
                    end(p50.map(|time| time.0), number),
                    end(p50.map(|time| time.1), number),
                    end(p99.map(|time| time.1), number),
                    count(failed),
                    codes.join(", "),
                ]
                .map(Content::from),
            );
        }
    }
    table
}
