//! How response and service times are distributed: the share of requests that took longer than a time, both in ratios.

use prony_model::{Clock, RunResult};
use prony_stats::{Histogram, curve_places};

use crate::number::{cell, count, or_dash, plain_tick, significant};
use crate::study::{Figure, Table, numbers};
use crate::svg::{Anchor, Area, Axis, Drawing, Plot, Scale, apart};

const WIDTH: f64 = 832.0;
const HEIGHT: f64 = 340.0;
const AREA: Area = Area { left: 56.0, top: 34.0, right: 740.0, bottom: 296.0 };
/// Points of a line for every tenfold of the share.
const PER_DECADE: u32 = 40;
const NANOS_PER_MS: f64 = 1e6;
/// Shares that are named on the axis and in the table: each with the quantile that it belongs to.
const NAMED: [(f64, &str); 7] = [
    (1.0, "100 %"),
    (0.5, "50 % (p50)"),
    (0.1, "10 % (p90)"),
    (0.01, "1 % (p99)"),
    (0.001, "0.1 % (p99.9)"),
    (0.000_1, "0.01 %"),
    (0.000_01, "0.001 %"),
];

/// A clock's curve: the share that took longer, and the time, milliseconds.
struct Curve {
    colour: usize,
    style: &'static str,
    name: &'static str,
    count: u64,
    points: Vec<(f64, f64)>,
}

/// The chart; `None` where fewer than ten good responses were recorded.
pub(super) fn figure(result: &RunResult) -> Option<Figure> {
    let figures = result.figures();
    let requests = figures.requests;
    // Requests without a good response may have been slower than all.
    let failed = requests.intended.saturating_sub(requests.done);
    let curves: Vec<Curve> = [
        (1, "service", Clock::Service, figures.service_histogram),
        (0, "", Clock::Response, figures.response_histogram),
    ]
    .into_iter()
    .filter_map(|(colour, style, clock, stored)| {
        let values = Histogram::from_base64_v2(&stored.data).ok()?;
        let points = points(&values, failed);
        let name = clock.name();
        (points.len() > 1).then_some(Curve { colour, style, name, count: values.count(), points })
    })
    .collect();
    let drawing = drawing(&curves)?;
    Some(Figure {
        id: "chart-distribution".to_owned(),
        title: title(&curves, failed),
        caption: caption(&curves, failed),
        legend: Vec::new(),
        panels: vec![(String::new(), drawing)],
        table: table(&curves),
        open: false,
    })
}

fn points(values: &Histogram, failed: u64) -> Vec<(f64, f64)> {
    let places = curve_places(values.count(), failed, PER_DECADE);
    let point = |place: prony_stats::CurvePlace| {
        let ms = values.value_at_quantile(place.quantile.min(1.0))? as f64 / NANOS_PER_MS;
        (ms.is_normal() && ms > 0.0).then_some((place.slower, ms))
    };
    places.filter_map(point).collect()
}

/// The last point of the response time, or of the only clock.
fn title(curves: &[Curve], failed: u64) -> String {
    let last = curves.last().and_then(|curve| Some((curve, *curve.points.last()?)));
    let Some((curve, (slower, ms))) = last else { return String::new() };
    let among = if failed > 0 { ", or failed" } else { "" };
    format!(
        "1 of {} requests took longer than {} ms{among} ({} time)",
        significant(1.0 / slower),
        significant(ms),
        curve.name
    )
}

fn caption(curves: &[Curve], failed: u64) -> String {
    let counts: Vec<String> =
        curves.iter().rev().map(|curve| format!("{} n = {}", curve.name, count(curve.count))).collect();
    let others = match failed {
        0 => String::new(),
        failed => format!(
            " {} requests without a good response may have been slower than all: they stand above every time.",
            count(failed)
        ),
    };
    format!(
        "How many requests took longer than a time; {}. A line ends where ten requests are left beyond it: fewer are no \
         quantile. The greatest times are in the table of both clocks.{others}",
        counts.join(", ")
    )
}

fn drawing(curves: &[Curve]) -> Option<String> {
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let ms = || all().map(|(_, ms)| *ms);
    let (least, most) = (ms().reduce(f64::min)?, ms().reduce(f64::max)?);
    let rarest = all().map(|(slower, _)| *slower).fold(0.1, f64::min);
    let x = Axis::new(Scale::logarithmic(least, most, AREA.across()), "time, ms", 8, plain_tick);
    let scale = Scale::ratios(rarest, 1.0, AREA.upwards());
    let ticks = NAMED.iter().filter(|(slower, _)| *slower >= rarest * (1.0 - 1e-9));
    let y = Axis {
        scale,
        label: "share of requests that took longer (log scale)".to_owned(),
        ticks: ticks
            .map(|(slower, name)| (*slower, name.split(" (").next().unwrap_or(name).to_owned()))
            .collect(),
    };
    let mut plot = Plot::new(Drawing::new(WIDTH, HEIGHT), AREA, x, y);
    for curve in curves {
        let values: Vec<(f64, f64)> = curve.points.iter().map(|(slower, ms)| (*ms, *slower)).collect();
        plot.line(format!("l {} s{}", curve.style, curve.colour).trim(), &values);
    }
    let ends: Vec<(f64, f64)> = curves
        .iter()
        .filter_map(|curve| curve.points.last())
        .map(|(slower, ms)| plot.place((*ms, *slower)))
        .collect();
    let places =
        apart(&ends.iter().map(|(_, y)| *y - 8.0).collect::<Vec<_>>(), 14.0, AREA.top, AREA.bottom - 4.0);
    for ((curve, (x, _)), y) in curves.iter().zip(ends).zip(places) {
        plot.drawing.text(
            &format!("c s{}", curve.colour),
            (x + 6.0, y),
            Anchor::Start,
            curve.name,
            WIDTH - x,
        );
    }
    let names: Vec<&str> = curves.iter().map(|curve| curve.name).collect();
    let title = "Share of requests that took longer than a time";
    let description = format!("{title}, by {} time; both axes in ratios.", names.join(" and "));
    Some(plot.drawing.finish("chart-distribution-drawing", "run", title, &description))
}

fn table(curves: &[Curve]) -> Table {
    let columns = curves.iter().rev().map(|curve| numbers(curve.name, &format!("{}, ms", curve.name)));
    let mut table =
        Table::new("distribution", "Times that so many requests exceeded", "share", columns.collect());
    for (slower, name) in &NAMED[1..] {
        let at = |curve: &Curve| {
            // Points are in steps of 6 %: the one nearest to the share.
            let found = curve.points.iter().find(|point| (point.0 / slower - 1.0).abs() < 0.02);
            or_dash(found, |(_, ms)| cell(*ms))
        };
        let cells: Vec<String> = curves.iter().rev().map(at).collect();
        if cells.iter().any(|cell| cell != "–") {
            table.row(name, *name, cells.into_iter().map(Into::into));
        }
    }
    table
}
