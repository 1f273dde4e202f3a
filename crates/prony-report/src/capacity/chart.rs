//! Response times against the load: p50, p99 and the greatest, the bounds shaded, void trials hollow.

use std::collections::BTreeMap;

use prony_model::{
    CapacityOutcome, CapacityResult, CapacityTrial, ScalingFit, TrialOutcome, TrialTimes, Varied,
};

use super::facts;
use crate::number::plain_tick;
use crate::svg::{Anchor, Area, Axis, Drawing, Plot, Scale, Shape, apart};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 380.0;
const AREA: Area = Area { left: 64.0, top: 34.0, right: 850.0, bottom: 336.0 };
/// From one name of a line to the next.
const LABEL_GAP: f64 = 14.0;
/// The number of a colour, a name and the time.
type Series = (usize, &'static str, fn(&TrialTimes) -> Option<f64>);

const SERIES: [Series; 3] =
    [(2, "p50", |times| times.p50_ms), (0, "p99", |times| times.p99_ms), (1, "max", |times| times.max_ms)];

/// The chart, whose id begins with `id`; `None` where nothing can be drawn.
pub(super) fn chart(result: &CapacityResult, id: &str) -> Option<String> {
    match result.method.varied {
        Varied::Rate => times(result, id),
        Varied::Users => users(result, id),
    }
}

/// Colour and name of what is drawn, where the lines have no names beside them.
pub(super) fn legend(result: &CapacityResult) -> Vec<(usize, String)> {
    match result.method.varied {
        Varied::Rate => Vec::new(),
        Varied::Users => vec![(0, "rate by the law".to_owned()), (1, "trials".to_owned())],
    }
}

fn times(result: &CapacityResult, id: &str) -> Option<String> {
    let loads = || result.trials.iter().map(|trial| trial.rate_per_s).chain(result.peak_per_s);
    let all_times =
        || result.trials.iter().flat_map(|trial| SERIES.iter().filter_map(|(_, _, of)| of(&trial.response)));
    let objective_ms = objective_ms(result);
    let values: Vec<f64> =
        all_times().chain(objective_ms).filter(|time| time.is_normal() && *time > 0.0).collect();
    let (least, most) = ends(&values)?;
    let (_, most_load) = ends(&loads().collect::<Vec<_>>())?;
    let x = Axis::new(Scale::linear(most_load, AREA.across()), "offered load, per second", 8, plain_tick);
    let y = Axis::new(Scale::logarithmic(least, most, AREA.upwards()), "response time, ms", 5, plain_tick);
    let mut plot = Plot::new(Drawing::new(WIDTH, HEIGHT), AREA, x, y);
    shade(&mut plot, result, least);
    if let Some(objective) = objective_ms {
        let (left, right) = ((0.0, objective), (most_load * 2.0, objective));
        plot.line("mark", &[left, right]);
        let place = plot.place(left);
        plot.drawing.text("label", (AREA.left + 4.0, place.1 - 4.0), Anchor::Start, "objective", 200.0);
    }
    let mut ends_of_lines = Vec::new();
    for (colour, name, of) in SERIES {
        plot.line(&format!("l service s{colour}"), &medians(result, |trial| of(&trial.service)));
        let line = medians(result, |trial| of(&trial.response));
        plot.line(&format!("l s{colour}"), &line);
        ends_of_lines.extend(line.last().map(|last| (colour, name, plot.place(*last))));
        for trial in &result.trials {
            point(&mut plot, colour, name, trial, of(&trial.response));
        }
    }
    let wanted: Vec<f64> = ends_of_lines.iter().map(|(_, _, (_, y))| *y).collect();
    let places = apart(&wanted, LABEL_GAP, AREA.top, AREA.bottom);
    for ((colour, name, (x, _)), y) in ends_of_lines.into_iter().zip(places) {
        plot.drawing.text(&format!("c s{colour}"), (x + 8.0, y + 4.0), Anchor::Start, name, 90.0);
    }
    if let Some(peak) = result.peak_per_s {
        upright(&mut plot, peak, least, "planned peak");
    }
    let (word, sentence) = facts::answer(result);
    let description = format!(
        "Response times of {} trials against the offered load. {word}: {sentence}",
        result.trials.len()
    );
    Some(plot.drawing.finish(
        &format!("{id}-drawing"),
        "wide",
        "Response times against the offered load",
        &description,
    ))
}

/// The time that is required, where one is.
fn objective_ms(result: &CapacityResult) -> Option<f64> {
    let thresholds = result.objectives.iter().filter_map(|text| text.parse::<prony_model::Threshold>().ok());
    let times = thresholds.filter(|threshold| matches!(threshold.figure, prony_model::Figure::Latency(..)));
    times.filter_map(|threshold| threshold.bound_in_unit()).find(|bound| bound.is_normal() && *bound > 0.0)
}

/// Between the bounds.
fn shade(plot: &mut Plot, result: &CapacityResult, any: f64) {
    match result.outcome {
        CapacityOutcome::Between { lower_per_s, upper_per_s, estimate_per_s, .. } => {
            let (left, right) = (plot.place((lower_per_s, any)).0, plot.place((upper_per_s, any)).0);
            plot.drawing.rectangle("h s4 rest", (left, AREA.top), (right.max(left + 1.0), AREA.bottom));
            upright(plot, estimate_per_s, any, "capacity");
        }
        CapacityOutcome::AtLeast { lower_per_s, .. } => upright(plot, lower_per_s, any, "at least"),
        _ => {}
    }
}

fn upright(plot: &mut Plot, load: f64, any: f64, name: &str) {
    let x = plot.place((load, any)).0;
    plot.drawing.line("mark", (x, AREA.top), (x, AREA.bottom));
    plot.drawing.text("label", (x, AREA.top - 4.0), Anchor::Middle, name, 120.0);
}

/// The trial at its load; hollow where it is void.
fn point(plot: &mut Plot, colour: usize, name: &str, trial: &CapacityTrial, time: Option<f64>) {
    let Some(time) = time.filter(|time| time.is_normal() && *time > 0.0) else { return };
    let at = plot.place((trial.rate_per_s, time));
    let tip = format!(
        "{} /s, {}: {name} {} ms",
        facts::offered(trial),
        trial.outcome.name(),
        crate::number::cell(time)
    );
    let (class, shape) = match trial.outcome {
        TrialOutcome::Passed => (format!("d s{colour}"), Shape::Circle),
        TrialOutcome::Failed => (format!("d s{colour}"), Shape::Triangle),
        TrialOutcome::Void => (format!("r s{colour}"), Shape::Circle),
    };
    plot.drawing.with_tip(&tip, |drawing| drawing.point(&class, shape, at, 3.6));
}

/// The median over the trials of each load that are not void, from the least load up.
fn medians(result: &CapacityResult, of: impl Fn(&CapacityTrial) -> Option<f64>) -> Vec<(f64, f64)> {
    let mut loads: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for trial in result.trials.iter().filter(|trial| trial.outcome != TrialOutcome::Void) {
        let load = trial.users.map_or(trial.rate_per_s, f64::from);
        if let Some(value) = of(trial).filter(|value| value.is_normal() && *value > 0.0) {
            // Positive numbers are in the order of their bits.
            loads.entry(load.max(0.0).to_bits()).or_default().push(value);
        }
    }
    loads
        .into_iter()
        .map(|(load, mut values)| {
            values.sort_by(f64::total_cmp);
            (f64::from_bits(load), values[values.len() / 2])
        })
        .collect()
}

/// The rate against the number of users, and the law.
fn users(result: &CapacityResult, id: &str) -> Option<String> {
    let trials: Vec<(f64, &CapacityTrial)> =
        result.trials.iter().filter_map(|trial| Some((f64::from(trial.users?), trial))).collect();
    let fit = result.scaling.as_ref().and_then(|scaling| scaling.fit.as_ref());
    let curve = || fit.iter().flat_map(|fit| &fit.curve);
    let (least, most) = ends(
        &trials.iter().map(|(users, _)| *users).chain(curve().map(|point| point.users)).collect::<Vec<_>>(),
    )?;
    let rates =
        trials.iter().map(|(_, trial)| trial.delivered_per_s).chain(curve().map(|point| point.rate.value));
    let (_, most_rate) = ends(&rates.collect::<Vec<_>>())?;
    let x = Axis::new(Scale::logarithmic(least, most, AREA.across()), "users", 8, plain_tick);
    let y = Axis::new(
        Scale::linear(most_rate * 1.1, AREA.upwards()),
        "good responses, per second",
        5,
        plain_tick,
    );
    let mut plot = Plot::new(Drawing::new(WIDTH, HEIGHT), AREA, x, y);
    if let Some(fit) = fit {
        law(&mut plot, fit);
    }
    for (users, trial) in &trials {
        let at = plot.place((*users, trial.delivered_per_s));
        let tip = format!("{}: {} /s", facts::offered(trial), crate::number::rate(trial.delivered_per_s));
        let class = if trial.outcome == TrialOutcome::Void { "r s1" } else { "d s1" };
        plot.drawing.with_tip(&tip, |drawing| drawing.point(class, Shape::Circle, at, 3.6));
    }
    if let Some(peak) = result.peak_per_s {
        let y = plot.place((least, peak)).1;
        plot.drawing.line("mark", (AREA.left, y), (AREA.right, y));
        plot.drawing.text("label", (AREA.right, y - 4.0), Anchor::End, "planned peak", 120.0);
    }
    let description =
        format!("Rates of {} trials against the number of users. {}", trials.len(), facts::answer(result).1);
    Some(plot.drawing.finish(
        &format!("{id}-drawing"),
        "wide",
        "Rate against the number of users",
        &description,
    ))
}

fn law(plot: &mut Plot, fit: &ScalingFit) {
    let of = |rate: fn(&prony_model::ScalingFigure) -> f64| -> Vec<(f64, f64)> {
        fit.curve.iter().map(|point| (point.users, rate(&point.rate))).collect()
    };
    plot.line("l s0", &of(|rate| rate.value));
    plot.line("l tail s0", &of(|rate| rate.low));
    plot.line("l tail s0", &of(|rate| rate.high));
    if let Some(peak) = fit.peak_users {
        upright(plot, peak.value, 0.0, "peak");
    }
}

/// Least and greatest of what is finite.
fn ends(values: &[f64]) -> Option<(f64, f64)> {
    let finite = || values.iter().copied().filter(|value| value.is_finite() && *value >= 0.0);
    Some((finite().reduce(f64::min)?, finite().reduce(f64::max)?))
}
