//! Response times by quantile, each variant a line: the tail has as much room as the rest.

use prony_model::{CurvePoint, LoadKind, StudyCell, StudyMetric};

use super::super::figure::Figure;
use super::super::format::plain_tick;
use super::super::labels::{self, End};
use super::super::layout::Layout;
use super::super::table::{Content, Table, numbers};
use super::lead;
use crate::number::cell as number;
use crate::svg::{Area, Axis, Drawing, Plot, Scale, decimated};

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 280.0;
/// Points of a line: two for every unit of its width.
const POINTS: usize = 600;
/// Service time is drawn where it is this far from response time, in units of the drawing: the width of a line.
const APART: f64 = 1.8;
/// The slowest request is drawn where the quantile of all but it would be.
const RATIO_MAX: f64 = 1e9;

/// Quantiles that are named below the axis and in the table; the last has ten requests of a million beyond it.
const NAMED: [(f64, &str); 8] = [
    (0.0, "0"),
    (0.5, "50 %"),
    (0.9, "90 %"),
    (0.99, "99 %"),
    (0.999, "99.9 %"),
    (0.9999, "99.99 %"),
    (0.99999, "99.999 %"),
    (0.999_999, "99.9999 %"),
];

/// The chart; `None` where no run has a curve.
pub(super) fn figure(layout: &Layout<'_>) -> Option<Figure> {
    let cells = &layout.result().cells;
    let has_curve = |cell: &&StudyCell| cell.curve.iter().filter(|point| is_good(point)).count() > 1;
    let all: Vec<&StudyCell> = cells.iter().filter(has_curve).collect();
    let title = match all.as_slice() {
        [] => return None,
        [cell] => format!("Response times of {} by quantile", cell.name),
        _ => format!("Response times of {} cells by quantile", all.len()),
    };
    let title = [StudyMetric::P999, StudyMetric::P99, StudyMetric::P50]
        .into_iter()
        .find_map(|metric| lead::sentence(layout, metric))
        .unwrap_or(title);
    let upwards = domain(&all);
    let along = all
        .iter()
        .flat_map(|cell| &cell.curve)
        .map(|point| ratio(point.quantile))
        .filter(|ratio| *ratio < RATIO_MAX)
        .fold(10.0, f64::max);
    let mut panels = Vec::new();
    let mut legend = Vec::new();
    for (index, panel) in layout.panels(LoadKind::Run).iter().enumerate() {
        let shown: Vec<&StudyCell> =
            panel.cells.iter().map(|index| &cells[*index]).filter(has_curve).collect();
        if shown.is_empty() {
            continue;
        }
        let names: Vec<String> = shown.iter().map(|cell| layout.label(cell)).collect();
        let direct = labels::fit(&names, HEIGHT - 90.0);
        if !direct {
            legend.extend(shown.iter().map(|cell| (layout.colour(cell), layout.label(cell))));
        }
        let id = format!("chart-quantiles-{index}");
        panels.push((panel.name.clone(), drawing(layout, &shown, upwards, along, direct, &id)));
    }
    legend.sort_unstable();
    legend.dedup();
    Some(Figure {
        id: "chart-quantiles".to_owned(),
        title,
        caption: "Response times of all good responses of all valid runs, by the share of responses that were at least as \
                  fast. Where service time, from the actual sending, differs from response time, from the moment the \
                  request was due, it is dashed."
            .to_owned(),
        legend,
        panels,
        table: table(&all),
        open: false,
    })
}

fn is_good(point: &CurvePoint) -> bool {
    (0.0..=1.0).contains(&point.quantile) && point.response_ms.is_normal() && point.response_ms > 0.0
}

/// 1/(1 − q): the axis is logarithmic in it.
fn ratio(quantile: f64) -> f64 {
    1.0 / (1.0 - quantile).max(1.0 / RATIO_MAX)
}

/// The least and the greatest time of all curves, of both clocks.
fn domain(cells: &[&StudyCell]) -> (f64, f64) {
    let times =
        cells.iter().flat_map(|cell| &cell.curve).flat_map(|point| [point.response_ms, point.service_ms]);
    let good = times.filter(|time| time.is_normal() && *time > 0.0);
    good.fold((f64::INFINITY, 0.0), |(least, most), time| (least.min(time), most.max(time)))
}

fn drawing(
    layout: &Layout<'_>,
    cells: &[&StudyCell],
    (least, most): (f64, f64),
    along: f64,
    direct: bool,
    id: &str,
) -> String {
    let names: Vec<String> = cells.iter().map(|cell| layout.label(cell)).collect();
    let right = if direct { labels::room(&names) } else { 16.0 };
    let area = Area { left: 52.0, top: 26.0, right: WIDTH - right, bottom: HEIGHT - 44.0 };
    let x = Axis {
        scale: Scale::ratios(1.0, along, area.across()),
        label: "share of responses that were at least as fast".to_owned(),
        ticks: NAMED
            .iter()
            .map(|(quantile, name)| (ratio(*quantile), (*name).to_owned()))
            .filter(|(ratio, _)| *ratio <= along)
            .collect(),
    };
    let y = Axis::new(Scale::logarithmic(least, most, area.upwards()), "response time, ms", 5, plain_tick);
    let mut plot = Plot::new(Drawing::new(WIDTH, HEIGHT), area, x, y);
    let mut ends = Vec::new();
    for cell in cells {
        let colour = layout.colour(cell);
        let good = || cell.curve.iter().filter(|point| is_good(point));
        let response: Vec<(f64, f64)> =
            good().map(|point| (ratio(point.quantile), point.response_ms)).collect();
        let service: Vec<(f64, f64)> = good()
            .filter(|point| point.service_ms.is_normal() && point.service_ms > 0.0)
            .map(|point| (ratio(point.quantile), point.service_ms))
            .collect();
        let differ = response
            .iter()
            .zip(&service)
            .any(|(response, service)| (plot.place(*response).1 - plot.place(*service).1).abs() > APART);
        if differ {
            plot.line(&format!("l service s{colour}"), &decimated(&service, POINTS));
        }
        let response = decimated(&response, POINTS);
        plot.line(&format!("l s{colour}"), &response);
        ends.extend(response.last().filter(|_| direct).map(|last| End {
            colour,
            name: layout.label(cell),
            value: *last,
        }));
    }
    labels::draw(&mut plot, &ends);
    let description = format!("Quantile curves of {}, both axes in ratios.", names.join(", "));
    plot.drawing.finish(id, "half", "Response time by quantile", &description)
}

fn table(cells: &[&StudyCell]) -> Table {
    let mut columns = Vec::new();
    for (_, name) in &NAMED[1..] {
        columns.push(numbers(name, name));
    }
    columns.push(numbers("last", "last"));
    let caption = "Response time in ms by quantile, below it service time where that is another number; a dash: the \
                   runs don't support it";
    let mut table = Table::new("chart-quantiles-data", caption, "cell", columns);
    for (index, cell) in cells.iter().enumerate() {
        let figure_cell = |point: Option<&CurvePoint>| {
            let Some(point) = point else { return Content::dash() };
            let (response, service) = (number(point.response_ms), number(point.service_ms));
            if response == service { response.into() } else { Content::noted(response, service) }
        };
        // The first point that is not below the quantile: at least that many were as fast.
        let at = |quantile: f64| {
            cell.curve.iter().filter(|point| is_good(point)).find(|point| point.quantile >= quantile - 1e-9)
        };
        let mut row: Vec<Content> =
            NAMED[1..].iter().map(|(quantile, _)| figure_cell(at(*quantile))).collect();
        row.push(figure_cell(cell.curve.iter().rfind(|point| is_good(point))));
        table.row(&index.to_string(), cell.name.as_str(), row);
    }
    table
}
