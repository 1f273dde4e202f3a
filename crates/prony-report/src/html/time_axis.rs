//! What charts along the measured part share: the axis of time, the stages behind it, and lines with their names.

use prony_model::RunResult;

use crate::number::plain_tick;
use crate::svg::{Anchor, Area, Axis, Drawing, Plot, Scale, Shape, apart, decimated};

/// As wide as it is shown on a wide screen: letters have their own size.
const WIDTH: f64 = 832.0;
const HEIGHT: f64 = 250.0;
const AREA: Area = Area { left: 56.0, top: 30.0, right: 720.0, bottom: 206.0 };
/// Points of a line at most: one for each pixel.
const POINTS_MAX: usize = 660;
/// Up to so many points of a line are dots, too, so that a short run is seen.
const DOTS_MAX: usize = 12;
/// From one name of a line to the next.
const LABEL_GAP: f64 = 14.0;
/// A stage that is narrower has no name on the chart.
const NAME_WIDTH_MIN: f64 = 26.0;

/// A line of a chart: its class (`s0`, `service s1`), its name, and its stretches; between them nothing is known.
pub(super) struct Line {
    pub(super) colour: usize,
    pub(super) style: &'static str,
    pub(super) name: &'static str,
    pub(super) stretches: Vec<Vec<(f64, f64)>>,
}

impl Line {
    /// A line without gaps.
    pub(super) fn whole(
        colour: usize,
        style: &'static str,
        name: &'static str,
        points: Vec<(f64, f64)>,
    ) -> Self {
        Self { colour, style, name, stretches: vec![points] }
    }

    pub(super) fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        self.stretches.iter().flatten().copied().filter(|(x, y)| x.is_finite() && y.is_finite())
    }
}

/// A drawing of `lines` over the measured part of `result`, its stages shaded; `None` where there is no point.
pub(super) fn drawing(
    result: &RunResult,
    lines: &[Line],
    y: impl FnOnce(Area) -> Axis,
    id: &str,
    title: &str,
) -> Option<String> {
    lines.iter().flat_map(Line::points).next()?;
    let x = Axis::new(Scale::exact(0.0, end_s(result, lines), AREA.across()), "time, s", 10, plain_tick);
    let mut plot = Plot::new(Drawing::new(WIDTH, HEIGHT), AREA, x, y(AREA));
    stages(&mut plot, result);
    let mut ends = Vec::new();
    for line in lines {
        let class = format!("l {} s{}", line.style, line.colour);
        let count = line.points().count();
        for stretch in &line.stretches {
            plot.line(class.trim(), &decimated(stretch, POINTS_MAX));
            // A lone second between two gaps is no line.
            if stretch.len() == 1 || count <= DOTS_MAX && line.style.is_empty() {
                for point in stretch.iter().filter(|(x, y)| x.is_finite() && y.is_finite()) {
                    plot.point(&format!("d s{}", line.colour), Shape::Circle, *point, 2.6);
                }
            }
        }
        ends.extend(line.points().last().map(|last| (line, plot.place(last))));
    }
    let wanted: Vec<f64> = ends.iter().map(|(_, (_, y))| *y).collect();
    let places = apart(&wanted, LABEL_GAP, AREA.top, AREA.bottom);
    for ((line, _), y) in ends.into_iter().zip(places) {
        let class = format!("c s{}", line.colour);
        plot.drawing.text(
            &class,
            (AREA.right + 8.0, y + 4.0),
            Anchor::Start,
            line.name,
            WIDTH - AREA.right - 8.0,
        );
    }
    let names: Vec<&str> = lines.iter().map(|line| line.name).collect();
    Some(plot.drawing.finish(
        id,
        "run",
        title,
        &format!("{title}: {} over the measured part.", names.join(", ")),
    ))
}

/// The end of the axis, seconds.
fn end_s(result: &RunResult, lines: &[Line]) -> f64 {
    let last = lines.iter().flat_map(Line::points).map(|(x, _)| x).fold(0.0, f64::max);
    let measured = Some(result.timing.measured_s).filter(|time| time.is_finite()).unwrap_or_default();
    measured.max(last).max(1e-3)
}

/// Every other stage shaded, and the names of those that are wide enough.
fn stages(plot: &mut Plot, result: &RunResult) {
    let end_s = result.timing.measured_s;
    for (number, stage) in result.stages.iter().enumerate() {
        let next = result.stages.get(number + 1).map_or(end_s, |next| next.from_s);
        let (left, right) = (plot.place((stage.from_s, 0.0)).0, plot.place((next, 0.0)).0);
        if number.is_multiple_of(2) {
            plot.drawing.rectangle("band", (left, AREA.top), (right, AREA.bottom));
        }
        plot.drawing.line("edge", (left, AREA.top), (left, AREA.bottom));
        let room = right - left - 6.0;
        if room >= NAME_WIDTH_MIN {
            plot.drawing.text("tick", (left + 3.0, AREA.top + 11.0), Anchor::Start, &stage.name, room);
        }
    }
}
