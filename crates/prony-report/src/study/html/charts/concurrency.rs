//! Rate and response time against the number of connections, where the study tries several.

use prony_model::{LoadKind, StudyCell, StudyMetric};

use super::super::super::facts::{figure as of_cell, value};
use super::super::figure::Figure;
use super::super::format::{across, axis as axis_of, figure_cell, known, plain_tick, tick};
use super::super::labels::{self, End};
use super::super::layout::{Layout, Panel, SERIES_MAX};
use super::super::table::{Table, numbers};
use crate::number::count;
use crate::svg::{Area, Axis, Drawing, Plot, Scale, Shape};

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 270.0;

/// Lines that the title speaks of.
const SENTENCES_MAX: usize = 3;

/// A rise below this is none: identical code differs by as much from one run to the next.
const FLAT: f64 = 1.1;

/// One line: a variant, with its cells from few connections to many.
struct Line<'a> {
    colour: usize,
    name: String,
    points: Vec<(f64, &'a StudyCell)>,
}

/// The chart; `None` where the study has no such axis.
pub(super) fn figure(layout: &Layout<'_>) -> Option<Figure> {
    let axis = layout.concurrency()?;
    let panels = layout.panels_along(LoadKind::Run, axis);
    let mut drawn = Vec::new();
    let mut table = table_head(axis);
    let mut title = None;
    let mut legend = Vec::new();
    for (index, panel) in panels.iter().enumerate() {
        let lines = lines(layout, panel, axis);
        if !lines.iter().any(|line| line.points.len() > 1) {
            continue;
        }
        title = title.or_else(|| sentence(&lines, axis));
        let names: Vec<String> = lines.iter().map(|line| line.name.clone()).collect();
        let direct = labels::fit(&names, HEIGHT - 90.0);
        if !direct {
            legend.extend(lines.iter().map(|line| (line.colour, line.name.clone())));
        }
        for metric in [StudyMetric::Rate, StudyMetric::P50] {
            let id = format!("chart-connections-{index}-{}", metric.name());
            let unit = axis_of(metric);
            let name = if panel.name.is_empty() {
                String::new()
            } else {
                format!("{} · {}", panel.name, metric.name())
            };
            drawn.push((name, drawing(&lines, metric, axis, &unit, &id, direct)));
        }
        rows(&mut table, index, &lines);
    }
    legend.sort_unstable();
    legend.dedup();
    Some(Figure {
        id: "chart-connections".to_owned(),
        title: title?,
        caption: format!(
            "Good responses per second and p50 response time against {axis}; medians over the runs, bars are 95 % \
             intervals. A server that does one thing at a time doesn't rise: its rate is one over its service time."
        ),
        legend,
        panels: drawn,
        table,
        open: false,
    })
}

fn lines<'a>(layout: &Layout<'a>, panel: &Panel, axis: &str) -> Vec<Line<'a>> {
    let mut lines: Vec<Line<'a>> = Vec::new();
    for index in &panel.cells {
        let cell = &layout.result().cells[*index];
        let Some(number) = layout.number(*index, axis) else { continue };
        // Where the variants are the connections themselves, all cells are one line.
        let is_variant = layout.label(cell).starts_with(axis);
        let (name, colour) =
            if is_variant { (String::new(), 0) } else { (layout.label(cell), layout.colour(cell)) };
        match lines.iter().position(|line| line.name == name) {
            Some(place) => lines[place].points.push((number, cell)),
            None if lines.len() < SERIES_MAX => {
                lines.push(Line { colour, name, points: vec![(number, cell)] });
            }
            None => {}
        }
    }
    for line in &mut lines {
        line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    lines
}

/// Where each line peaks, or that it doesn't rise.
fn sentence(lines: &[Line<'_>], axis: &str) -> Option<String> {
    let mut sentences = Vec::new();
    for line in lines {
        let rates: Vec<(f64, f64)> = line
            .points
            .iter()
            .filter_map(|(at, cell)| Some((*at, known(cell, StudyMetric::Rate)?)))
            .collect();
        let Some((first, (at, most))) = rates.first().zip(rates.iter().max_by(|a, b| a.1.total_cmp(&b.1)))
        else {
            continue;
        };
        let name = if line.name.is_empty() { "The rate" } else { &line.name };
        sentences.push(if *most < first.1 * FLAT {
            format!("{name} does not rise with {axis}")
        } else {
            let (rate, last) = (value(StudyMetric::Rate, *most), rates.last().map(|rate| rate.0));
            let manner = if last == Some(*at) { "still rises at" } else { "peaks at" };
            format!("{name} {manner} {} {axis}, with {rate}", plain_tick(*at))
        });
    }
    let more = sentences.len().saturating_sub(SENTENCES_MAX);
    sentences.truncate(SENTENCES_MAX);
    if more > 0 {
        sentences.push(format!("{more} more below"));
    }
    (!sentences.is_empty()).then(|| sentences.join("; "))
}

fn drawing(
    lines: &[Line<'_>],
    metric: StudyMetric,
    axis: &str,
    unit: &str,
    id: &str,
    direct: bool,
) -> String {
    let names: Vec<String> = lines.iter().map(|line| line.name.clone()).collect();
    let right = if direct { labels::room(&names) } else { 16.0 };
    let area = Area { left: 56.0, top: 26.0, right: WIDTH - right, bottom: HEIGHT - 44.0 };
    let points = || lines.iter().flat_map(|line| &line.points);
    let (least, most) =
        points().fold((f64::INFINITY, 0.0_f64), |(least, most), (at, _)| (least.min(*at), most.max(*at)));
    let along = if most / least > 8.0 {
        Scale::logarithmic(least, most, area.across())
    } else {
        Scale::linear(most, area.across())
    };
    let mut values: Vec<f64> = points().filter_map(|(_, cell)| known(cell, metric)).collect();
    values.extend(
        points()
            .filter_map(|(_, cell)| across(cell, metric))
            .flat_map(|interval| [interval.low, interval.high]),
    );
    // A rate is drawn from zero, so that "does not rise" looks like it.
    let upwards = if metric == StudyMetric::Rate {
        Scale::linear(values.iter().copied().fold(0.0, f64::max), area.upwards())
    } else {
        Scale::fitting(&values, area.upwards())
    };
    // The ticks are the numbers that were tried.
    let mut tried: Vec<f64> = points().map(|(at, _)| *at).collect();
    tried.sort_by(f64::total_cmp);
    tried.dedup();
    let mut x = Axis::new(along, axis, 5, plain_tick);
    x.ticks = tried.into_iter().map(|at| (at, at.to_string())).collect();
    let y = Axis::new(upwards, unit, 5, |number| tick(metric, number));
    let mut plot = Plot::new(Drawing::new(WIDTH, HEIGHT), area, x, y);
    let mut ends = Vec::new();
    for line in lines {
        let known: Vec<(f64, f64)> =
            line.points.iter().filter_map(|(at, cell)| Some((*at, known(cell, metric)?))).collect();
        let colour = line.colour;
        plot.line(&format!("l s{colour}"), &known);
        for (at, cell) in &line.points {
            if let Some(interval) = across(cell, metric) {
                plot.interval(&format!("l s{colour}"), *at, interval.low, interval.high);
            }
        }
        for point in &known {
            plot.point(&format!("d s{colour}"), Shape::of(colour), *point, 4.5);
        }
        ends.extend(known.last().filter(|_| direct && !line.name.is_empty()).map(|last| End {
            colour,
            name: line.name.clone(),
            value: *last,
        }));
    }
    labels::draw(&mut plot, &ends);
    let description = format!("{unit} against {axis}, {} lines.", lines.len());
    plot.drawing.finish(id, "half", unit, &description)
}

fn table_head(axis: &str) -> Table {
    let columns =
        vec![numbers("at", axis), numbers("rate", "good /s"), numbers("p50", "p50, ms"), numbers("n", "n")];
    Table::new("chart-connections-data", &format!("Rate and p50 response time by {axis}"), "cell", columns)
}

fn rows(table: &mut Table, panel: usize, lines: &[Line<'_>]) {
    for (number, line) in lines.iter().enumerate() {
        for (place, (at, cell)) in line.points.iter().enumerate() {
            let samples = of_cell(cell, StudyMetric::Rate).map_or(0, |figure| figure.samples);
            let shown = |metric| figure_cell(of_cell(cell, metric));
            table.row(
                &format!("{panel}-{number}-{place}"),
                cell.name.as_str(),
                [
                    at.to_string().into(),
                    shown(StudyMetric::Rate),
                    shown(StudyMetric::P50),
                    count(samples).into(),
                ],
            );
        }
    }
}
