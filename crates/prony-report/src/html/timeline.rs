//! The run second by second: rates, and the response and service times on one scale.

use prony_model::{Rate, RunResult, SecondPoint};

use super::time_axis::{Line, drawing};
use crate::number::{cell, count, or_dash, plain_tick, plural, rate, significant};
use crate::study::{Figure, Table, numbers};
use crate::svg::{Area, Axis, Scale};

/// Less of a second than this is no rate.
const COVERED_MIN_S: f64 = 0.2;
/// Rows of the table at most; a longer run has several seconds in a row.
const ROWS_MAX: usize = 120;

/// A time of a second, milliseconds.
type Time = fn(&SecondPoint) -> Option<f64>;

/// Colours are those of the figures everywhere: the median green, p99 blue, the greatest orange.
const RESPONSE: [(usize, &str, &str, Time); 3] = [
    (1, "run", "max", |point| point.max_ms),
    (0, "", "p99", |point| point.p99_ms),
    (2, "", "p50", |point| point.p50_ms),
];
const SERVICE: [(usize, &str, &str, Time); 3] = [
    (1, "run", "max", |point| point.service_max_ms),
    (0, "", "p99", |point| point.service_p99_ms),
    (2, "", "p50", |point| point.service_p50_ms),
];

/// The charts; `None` for a run without a second.
pub(super) fn figure(result: &RunResult) -> Option<Figure> {
    let panels = [rates(result), times(result, "Response", &RESPONSE), times(result, "Service", &SERVICE)];
    let panels: Vec<(String, String)> = panels.into_iter().flatten().collect();
    if panels.is_empty() {
        return None;
    }
    Some(Figure {
        id: "chart-timeline".to_owned(),
        title: title(result),
        caption: caption(result),
        legend: Vec::new(),
        panels,
        table: table(result),
        open: false,
    })
}

fn title(result: &RunResult) -> String {
    let rates = seconds(result).map(|(_, per_s, point)| point.done as f64 * per_s);
    let (least, most) =
        rates.fold((f64::INFINITY, 0.0_f64), |(least, most), rate| (least.min(rate), most.max(rate)));
    let slowest = result.series.iter().filter_map(|point| Some((point.max_ms?, point.second)));
    let slowest = slowest.filter(|(max, _)| max.is_finite()).max_by(|a, b| a.0.total_cmp(&b.0));
    let slowest = slowest.map_or_else(String::new, |(max_ms, second)| {
        format!("; the slowest good one took {} ms, in second {}", significant(max_ms), count(second))
    });
    if least > most {
        return "The run over time".to_owned();
    }
    let range =
        if rate(least) == rate(most) { rate(most) } else { format!("{} to {}", rate(least), rate(most)) };
    format!("{range} good responses per second{slowest}")
}

fn caption(result: &RunResult) -> String {
    let mut parts = vec![
        "Rates by when something happened: sent, answered with any status, answered well. Times are of the good responses \
         that came in a second; a p99 needs a thousand of them. Both clocks have one scale: where response times are \
         higher than service times, requests waited before they were sent.",
    ];
    if !offered(result).is_empty() {
        parts.push("Offered is what was due by the plan.");
    }
    if result.plan.scenario.is_some() && result.plan.replay.is_none() {
        parts.push("The offered rate is one of sessions, and not on this chart.");
    }
    if !result.stages.is_empty() {
        parts.push("Stages are shaded in turn.");
    }
    parts.push("Lines of many points keep the extremes of every stretch.");
    parts.join(" ")
}

/// Seconds that are long enough for a rate: the middle of each, the factor from a count to a rate, and the second itself.
fn seconds(result: &RunResult) -> impl Iterator<Item = (f64, f64, &SecondPoint)> {
    let is_only = result.series.len() == 1;
    let is_long =
        move |point: &&SecondPoint| point.covered_s >= COVERED_MIN_S || is_only && point.covered_s > 0.0;
    result.series.iter().filter(is_long).map(|point| {
        let covered_s = point.covered_s.min(1.0);
        (point.second as f64 + covered_s / 2.0, 1.0 / point.covered_s, point)
    })
}

fn rates(result: &RunResult) -> Option<(String, String)> {
    let of = |count: fn(&SecondPoint) -> Option<u64>| -> Vec<(f64, f64)> {
        seconds(result).filter_map(|(at, per_s, point)| Some((at, count(point)? as f64 * per_s))).collect()
    };
    let mut lines = vec![
        Line::whole(4, "tail", "offered", offered(result)),
        Line::whole(6, "service", "sent", of(|point| Some(point.sent))),
        Line::whole(3, "", "answered", of(|point| point.answered)),
        Line::whole(2, "", "good", of(|point| Some(point.done))),
    ];
    // Two equal lines are drawn as one.
    let is_same = lines[2].points().eq(lines[3].points());
    if is_same {
        lines.remove(2);
        lines.last_mut().expect("invariant: three are left").name = "answered, good";
    }
    if seconds(result).any(|(.., point)| point.failed > 0) {
        lines.push(Line::whole(1, "", "failed", of(|point| Some(point.failed))));
    }
    lines.retain(|line| line.points().next().is_some());
    let most = lines.iter().flat_map(Line::points).map(|(_, rate)| rate).fold(0.0, f64::max);
    let axis =
        |area: Area| Axis::new(Scale::linear(most, area.upwards()), "requests per second", 5, plain_tick);
    seconds(result).next()?;
    let drawn = drawing(result, &lines, axis, "chart-timeline-rate", "Requests per second")?;
    Some(("Requests per second".to_owned(), drawn))
}

/// What was due: the rate of the plan, or the moments of a file; nothing in a closed loop, and for sessions.
fn offered(result: &RunResult) -> Vec<(f64, f64)> {
    let plan = &result.plan;
    let end_s = result.timing.measured_s;
    if let Some(replay) = &result.replay {
        let due = |point: &SecondPoint| replay.due_per_second.get(usize::try_from(point.second).ok()?);
        return seconds(result)
            .filter_map(|(at, per_s, point)| Some((at, *due(point)? as f64 * per_s)))
            .collect();
    }
    if plan.scenario.is_some() {
        return Vec::new();
    }
    if let Some(stages) = &plan.stages {
        let spans = stages.spans().filter(|(from_s, _)| *from_s < end_s);
        return spans
            .flat_map(|(from_s, stage)| {
                let to_s = (from_s + stage.duration.as_secs_f64()).min(end_s);
                [(from_s, stage.from_per_s), (to_s, stage.rate_at(to_s - from_s))]
            })
            .collect();
    }
    let asked = plan.request_rate().map(Rate::as_per_second);
    asked.map_or_else(Vec::new, |asked| vec![(0.0, asked), (end_s, asked)])
}

fn times(
    result: &RunResult,
    clock: &str,
    figures: &[(usize, &'static str, &'static str, Time)],
) -> Option<(String, String)> {
    // Both clocks on one scale.
    let all = RESPONSE.iter().chain(&SERVICE).flat_map(|(.., of)| result.series.iter().filter_map(of));
    let (least, most) = all
        .filter(|time| is_drawn(*time))
        .fold((f64::INFINITY, 0.0_f64), |(least, most), time| (least.min(time), most.max(time)));
    let name = format!("{clock} time, ms");
    let lines: Vec<Line> = figures
        .iter()
        .map(|(colour, style, name, of)| Line {
            colour: *colour,
            style,
            name,
            stretches: stretches(result, *of),
        })
        .filter(|line| line.points().next().is_some())
        .collect();
    let axis = |area: Area| Axis::new(Scale::logarithmic(least, most, area.upwards()), &name, 5, plain_tick);
    let id = format!("chart-timeline-{}", clock.to_ascii_lowercase());
    let title = format!("{clock} times");
    Some((title.clone(), drawing(result, &lines, axis, &id, &title)?))
}

fn is_drawn(time: f64) -> bool {
    time.is_normal() && time > 0.0
}

/// A second without responses is a gap, not a line across it.
fn stretches(result: &RunResult, of: Time) -> Vec<Vec<(f64, f64)>> {
    let mut stretches: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut last = None;
    for point in &result.series {
        let Some(time) = of(point).filter(|time| is_drawn(*time)) else { continue };
        let place = (point.second as f64 + point.covered_s.clamp(0.0, 1.0) / 2.0, time);
        match stretches.last_mut() {
            Some(stretch) if last == point.second.checked_sub(1) => stretch.push(place),
            _ => stretches.push(vec![place]),
        }
        last = Some(point.second);
    }
    stretches
}

/// The seconds as rows, several in each where they are many.
fn table(result: &RunResult) -> Table {
    let each = result.series.len().div_ceil(ROWS_MAX).max(1);
    let caption = if each == 1 {
        "Second by second; times in ms".to_owned()
    } else {
        format!(
            "{} in each row; times in ms, of each quantile the greatest of those",
            plural(each as u64, "second")
        )
    };
    let names = ["sent", "answered", "good", "failed"].into_iter();
    let times = ["response p50", "p99", "max", "service p50", "service p99", "service max"];
    let columns = names.chain(times).map(|name| numbers(name, name)).collect();
    let mut table = Table::new("timeline", &caption, "from s", columns);
    for rows in result.series.chunks(each) {
        let sum = |of: fn(&SecondPoint) -> u64| count(rows.iter().map(of).fold(0, u64::saturating_add));
        let answered = rows.iter().map(|point| point.answered).sum::<Option<u64>>();
        let most = |of: &Time| {
            let most = rows.iter().filter_map(of).filter(|time| time.is_finite()).reduce(f64::max);
            or_dash(most, cell)
        };
        let mut cells = vec![
            sum(|point| point.sent),
            or_dash(answered, count),
            sum(|point| point.done),
            sum(|point| point.failed),
        ];
        cells.extend(RESPONSE.iter().rev().chain(SERVICE.iter().rev()).map(|(.., of)| most(of)));
        let second = rows.first().map_or(0, |point| point.second);
        table.row(&second.to_string(), count(second), cells.into_iter().map(Into::into));
    }
    table
}
