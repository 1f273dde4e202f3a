//! The course of a run: what was offered and what was good, and how long responses took; the pulse is shaded.

use prony_model::{OverloadOutcome, OverloadPart, OverloadResult, OverloadRun};

use crate::number::plain_tick;
use crate::svg::{Anchor, Area, Axis, Drawing, Plot, Scale, decimated};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 260.0;
const AREA: Area = Area { left: 64.0, top: 34.0, right: 850.0, bottom: 216.0 };
/// Points of a line at most: one for each pixel.
const POINTS_MAX: usize = 780;

/// A line: the number of its colour, its name, and its points.
type Line = (usize, &'static str, Vec<(f64, f64)>);

/// Colour and name of each line.
pub(super) fn legend() -> Vec<(usize, String)> {
    [(4, "offered"), (2, "good"), (0, "median response"), (1, "longest response")]
        .map(|(colour, name)| (colour, name.to_owned()))
        .to_vec()
}

/// The drawings of a run, each with its title; none where nothing can be drawn.
pub(super) fn charts(result: &OverloadResult, run: &OverloadRun, number: usize) -> Vec<(String, String)> {
    let parts = &run.course;
    let lengths = part_lengths(result, parts);
    let rate = |of: fn(&OverloadPart) -> u64| -> Vec<(f64, f64)> {
        parts.iter().zip(&lengths).map(|(part, length)| (part.from_s, of(part) as f64 / length)).collect()
    };
    let rates = vec![(4, "offered", rate(|part| part.offered)), (2, "good", rate(|part| part.good))];
    let time = |of: fn(&OverloadPart) -> Option<f64>| -> Vec<(f64, f64)> {
        let times = parts.iter().filter_map(|part| Some((part.from_s, of(part)?)));
        times.filter(|(_, time)| time.is_normal() && *time > 0.0).collect()
    };
    let times = vec![
        (0, "median response", time(|part| part.p50_ms)),
        (1, "longest response", time(|part| part.max_ms)),
    ];
    let drawings = [
        ("Requests per second, by when they were due", "rate", "requests per second", rates, false),
        ("Response times, by when the request was due", "time", "response time, ms", times, true),
    ];
    let drawn = drawings.into_iter().filter_map(|(title, name, axis, lines, is_logarithmic)| {
        let plot = plot(result, axis, &lines, is_logarithmic)?;
        Some((title.to_owned(), finish(result, run, plot, &format!("chart-overload-{number}-{name}"), title)))
    });
    drawn.collect()
}

/// Seconds of each part; those of one phase are equally long.
fn part_lengths(result: &OverloadResult, parts: &[OverloadPart]) -> Vec<f64> {
    let lengths = parts.windows(2).map(|two| two[1].from_s - two[0].from_s);
    let mut lengths: Vec<f64> = lengths.collect();
    lengths.push(lengths.last().copied().unwrap_or(result.method.part_s));
    lengths.iter().map(|length| length.max(1e-9)).collect()
}

/// Axes, the pulse, and the lines.
fn plot(result: &OverloadResult, axis: &str, lines: &[Line], is_logarithmic: bool) -> Option<Plot> {
    let all = || lines.iter().flat_map(|(_, _, points)| points.iter());
    let most = all().map(|(_, value)| *value).max_by(f64::total_cmp)?;
    let least = all().map(|(_, value)| *value).min_by(f64::total_cmp)?;
    let method = &result.method;
    let end_s = method.before_s + method.pulse_s + method.after_s;
    let scale = if is_logarithmic {
        Scale::logarithmic(least, most, AREA.upwards())
    } else {
        Scale::linear(most, AREA.upwards())
    };
    let x = Axis::new(Scale::linear(end_s, AREA.across()), "seconds", 8, plain_tick);
    let y = Axis::new(scale, axis, 5, plain_tick);
    let mut plot = Plot::new(Drawing::new(WIDTH, HEIGHT), AREA, x, y);
    let place = |plot: &Plot, at_s: f64| plot.place((at_s, most)).0;
    let (left, right) = (place(&plot, method.before_s), place(&plot, method.before_s + method.pulse_s));
    plot.drawing.rectangle("h s4 rest", (left, AREA.top), (right.max(left + 1.0), AREA.bottom));
    plot.drawing.text("label", (left, AREA.top - 4.0), Anchor::Start, "pulse", 120.0);
    for (colour, _, points) in lines {
        plot.line(&format!("l s{colour}"), &decimated(points, POINTS_MAX));
    }
    Some(plot)
}

/// With the recovery marked, if there was one.
fn finish(result: &OverloadResult, run: &OverloadRun, mut plot: Plot, id: &str, title: &str) -> String {
    let (word, sentence) = super::facts::answer(result, run);
    if let OverloadOutcome::Recovered { after_s, .. } = run.outcome {
        let method = &result.method;
        let x = plot.place((method.before_s + method.pulse_s + after_s, 1.0)).0;
        plot.drawing.line("mark", (x, AREA.top), (x, AREA.bottom));
        plot.drawing.text("label", (x + 4.0, AREA.top + 12.0), Anchor::Start, "good again", 120.0);
    }
    plot.drawing.finish(id, "wide", title, &format!("{title}. {word}: {sentence}"))
}
