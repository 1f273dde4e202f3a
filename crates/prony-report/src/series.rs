//! A series of figures over time as a chart: each value with its interval, and where the series changed.

use std::time::Duration;

use prony_model::rfc3339;

use crate::number;
use crate::svg::{Anchor, Area, Axis, Drawing, Plot, Scale, Shape, decimated};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 300.0;
const AREA: Area = Area { left: 64.0, top: 28.0, right: 944.0, bottom: 252.0 };

/// Beyond this many points two stand on every pixel, and only the extremes can be seen: so many stretches are drawn with
/// the least and the greatest value of each.
const BUCKETS_MAX: usize = 1_000;
/// More points than this touch one another, and only their line is drawn.
const MARKS_MAX: usize = 300;
/// More names of changes than this cover one another.
const NAMES_MAX: usize = 12;
/// Of the drawn range above and below the values.
const PADDING: f64 = 0.08;

/// A value of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeriesPoint {
    /// When, seconds since 1970-01-01 UTC.
    pub at_s: f64,
    /// The value, in the unit of the chart.
    pub value: f64,
    /// Its interval.
    pub interval: Option<(f64, f64)>,
    /// Whether it counts; others are drawn hollow and without the line.
    pub is_valid: bool,
}

/// Where a series changed.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesChange {
    /// Place of the first point after it.
    pub place: usize,
    /// What stands beside it: `+7.9 %`.
    pub name: String,
    /// Whether enough points stand on both sides.
    pub is_confirmed: bool,
    /// The level before it and after it.
    pub levels: (f64, f64),
}

/// The words of a chart.
pub struct SeriesWords<'a> {
    /// What it shows.
    pub title: &'a str,
    /// The name of the values, with their unit: `p99, ms`.
    pub values: &'a str,
    /// The name of the time axis: `requested, UTC`.
    pub time: &'a str,
    /// The name of the point at a place, as a tooltip shows it: `build 57`.
    pub point: &'a dyn Fn(usize) -> String,
}

/// The chart as an SVG element: `id` is a prefix of its ids. Points are in the order of their time. `None` for fewer than
/// two: there is nothing to draw.
pub fn chart(
    id: &str,
    words: &SeriesWords<'_>,
    points: &[SeriesPoint],
    changes: &[SeriesChange],
) -> Option<String> {
    let (first, last) = (points.first()?, points.last()?);
    if points.len() < 2 {
        return None;
    }
    let (x, y) = (time_axis(words.time, first.at_s, last.at_s), value_axis(words.values, points));
    let mut plot = Plot::new(Drawing::new(WIDTH, HEIGHT), AREA, x, y);
    levels(&mut plot, points, changes);
    for change in changes {
        mark(&mut plot, points, change, changes.len() <= NAMES_MAX);
    }
    let valid: Vec<(f64, f64)> =
        points.iter().filter(|point| point.is_valid).map(|point| (point.at_s, point.value)).collect();
    plot.line("l s0", &decimated(&valid, 2 * BUCKETS_MAX));
    if points.len() <= MARKS_MAX {
        for point in points {
            if let Some((low, high)) = point.interval {
                plot.interval("k s0", point.at_s, low, high);
            }
        }
        for (place, point) in points.iter().enumerate().filter(|(_, point)| point.value.is_finite()) {
            let class = if point.is_valid { "d s0" } else { "d unused" };
            let tip = format!("{}: {}", (words.point)(place), number::significant(point.value));
            let at = plot.place((point.at_s, point.value));
            plot.drawing.with_tip(&tip, |drawing| drawing.point(class, Shape::Circle, at, 3.2));
        }
    }
    let description = format!(
        "{} points from {} to {}; {} changes",
        number::count(points.len() as u64),
        number::significant(least(points)),
        number::significant(most(points)),
        changes.len()
    );
    Some(plot.drawing.finish(id, "wide", words.title, &description))
}

/// A few of the last values as a line beside words that say the same.
pub fn spark(values: &[f64]) -> String {
    const SIZE: (f64, f64) = (144.0, 26.0);
    let finite: Vec<(f64, f64)> =
        values.iter().enumerate().filter(|(_, v)| v.is_finite()).map(|(at, v)| (at as f64, *v)).collect();
    let low = finite.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let high = finite.iter().map(|point| point.1).fold(f64::NEG_INFINITY, f64::max);
    // At least a tenth of the value, or noise would look like mountains.
    let middle = f64::midpoint(low, high);
    let half = ((high - low) / 2.0).max(middle.abs() * 0.05).max(f64::MIN_POSITIVE);
    let x = Scale::exact(0.0, (values.len().max(2) - 1) as f64, (2.0, SIZE.0 - 4.0));
    let y = Scale::exact(middle - half, middle + half, (SIZE.1 - 3.0, 3.0));
    let places: Vec<(f64, f64)> =
        decimated(&finite, 140).iter().map(|(at, v)| (x.place(*at), y.place(*v))).collect();
    let mut drawing = Drawing::new(SIZE.0, SIZE.1);
    drawing.path("l s0", &places);
    if let Some(last) = places.last() {
        drawing.point("d s0", Shape::Circle, *last, 3.0);
    }
    drawing.ornament()
}

/// The level of each stretch between changes.
fn levels(plot: &mut Plot, points: &[SeriesPoint], changes: &[SeriesChange]) {
    let last = points.len() - 1;
    let place = |place: usize| points[place.min(last)].at_s;
    for (index, change) in changes.iter().enumerate() {
        let begin = index.checked_sub(1).map_or(0, |before| changes[before].place);
        let end = changes.get(index + 1).map_or(last, |next| next.place);
        let (before, after) = change.levels;
        if index == 0 {
            plot.line("level", &[(place(begin), before), (place(change.place), before)]);
        }
        plot.line("level", &[(place(change.place), after), (place(end), after)]);
    }
}

fn mark(plot: &mut Plot, points: &[SeriesPoint], change: &SeriesChange, is_named: bool) {
    let Some(point) = points.get(change.place) else { return };
    let x = plot.place((point.at_s, point.value)).0;
    let class = if change.is_confirmed { "change confirmed" } else { "change" };
    plot.drawing.line(class, (x, AREA.top), (x, AREA.bottom));
    if is_named {
        let (anchor, x) =
            if x > AREA.right - 80.0 { (Anchor::End, x - 4.0) } else { (Anchor::Start, x + 4.0) };
        plot.drawing.text("change-name", (x, AREA.top + 10.0), anchor, &change.name, 80.0);
    }
}

fn least(points: &[SeriesPoint]) -> f64 {
    points.iter().map(|point| point.value).filter(|value| value.is_finite()).fold(f64::INFINITY, f64::min)
}

fn most(points: &[SeriesPoint]) -> f64 {
    points.iter().map(|point| point.value).filter(|value| value.is_finite()).fold(f64::NEG_INFINITY, f64::max)
}

/// From a little below the least value to a little above the greatest: a history is about small changes, so it does not
/// begin at zero unless the values nearly do, and says so.
fn value_axis(label: &str, points: &[SeriesPoint]) -> Axis {
    let (low, high) = (least(points), most(points));
    let padding = PADDING * (high - low).max(low.abs() * 0.05).max(f64::MIN_POSITIVE);
    let begin = low - padding;
    // From values that reach down to a quarter of themselves it isn't far to zero.
    let begin = if low >= 0.0 && low <= high / 4.0 { 0.0 } else { begin };
    let scale = Scale::exact(begin, high + padding, AREA.upwards());
    let label = if begin == 0.0 { label.to_owned() } else { format!("{label} (does not begin at zero)") };
    let ticks = scale.ticks(5);
    let labels = distinct(&ticks);
    Axis { scale, label, ticks: ticks.into_iter().zip(labels).collect() }
}

/// Three significant digits, or as many decimals as it takes that no two are the same.
fn distinct(ticks: &[f64]) -> Vec<String> {
    /// More than a number has.
    const DECIMALS_MAX: usize = 17;
    let differ = |labels: &Vec<String>| labels.windows(2).all(|pair| pair[0] != pair[1]);
    let short: Vec<String> = ticks.iter().map(|tick| number::significant(*tick)).collect();
    let longer = (0..=DECIMALS_MAX)
        .map(|decimals| ticks.iter().map(|tick| number::fixed(*tick, decimals)).collect::<Vec<_>>());
    std::iter::once(short.clone()).chain(longer).find(differ).unwrap_or(short)
}

fn time_axis(label: &str, first_s: f64, last_s: f64) -> Axis {
    const HOUR: f64 = 3_600.0;
    const DAY: f64 = 24.0 * HOUR;
    let last_s = if last_s > first_s { last_s } else { first_s + 1.0 };
    let steps = [
        60.0,
        300.0,
        900.0,
        HOUR,
        3.0 * HOUR,
        6.0 * HOUR,
        12.0 * HOUR,
        DAY,
        2.0 * DAY,
        7.0 * DAY,
        14.0 * DAY,
        30.0 * DAY,
    ]
    .into_iter()
    .chain([91.0 * DAY, 182.0 * DAY, 365.0 * DAY, 1_826.0 * DAY]);
    let step = steps.into_iter().find(|step| (last_s - first_s) / step <= 8.0).unwrap_or(3_652.0 * DAY);
    let begin = (first_s / step).ceil() * step;
    let ticks = (0..12)
        .map(|index| begin + f64::from(index) * step)
        .take_while(|at| *at <= last_s)
        .map(|at| (at, moment(at, step < DAY)))
        .collect();
    Axis { scale: Scale::exact(first_s, last_s, AREA.across()), label: label.to_owned(), ticks }
}

/// `2026-11-22`, or `11-22 13:05`.
fn moment(at_s: f64, has_time: bool) -> String {
    let text = rfc3339(Duration::try_from_secs_f64(at_s).unwrap_or_default());
    let (date, time) = text.split_once('T').unwrap_or((&text, ""));
    if has_time { format!("{} {}", &date[5..], &time[..5]) } else { date.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: impl IntoIterator<Item = f64>) -> Vec<SeriesPoint> {
        let point = |(at, value)| SeriesPoint {
            at_s: 1_763_816_709.0 + 3_600.0 * at as f64,
            value,
            interval: Some((value - 0.1, value + 0.1)),
            is_valid: at % 7 != 3,
        };
        values.into_iter().enumerate().map(point).collect()
    }

    fn words<'a>(title: &'a str, values: &'a str) -> SeriesWords<'a> {
        SeriesWords { title, values, time: "requested, UTC", point: &name }
    }

    fn name(place: usize) -> String {
        format!("build {}", place + 40)
    }

    #[test]
    fn a_change_is_marked_and_named() {
        let values = (0..20).map(|at| if at < 10 { 2.0 } else { 2.2 });
        let change =
            SeriesChange { place: 10, name: "+10 %".to_owned(), is_confirmed: true, levels: (2.0, 2.2) };
        let svg = chart("c", &words("p99 <of> all", "p99, ms"), &points(values), &[change]).expect("a chart");
        for part in [
            "change confirmed",
            "+10 %",
            "p99 &lt;of&gt; all",
            "does not begin at zero",
            "d unused",
            "20 points",
            ">requested, UTC</text>",
            "<title>build 50: 2.20</title>",
        ] {
            assert!(svg.contains(part), "{part}\n{svg}");
        }
        assert!(!svg.contains("style="), "a strict page admits none");
    }

    #[test]
    fn no_two_ticks_have_the_same_label() {
        assert_eq!(distinct(&[0.0, 5_000.0, 10_000.0]), ["0", "5,000", "10,000"]);
        assert_eq!(distinct(&[0.998, 1.0, 1.002]), ["0.998", "1.000", "1.002"]);
        assert_eq!(distinct(&[17_420.0, 17_420.5, 17_421.0]), ["17,420.0", "17,420.5", "17,421.0"]);
        let svg = chart("c", &words("t", "ms"), &points([1.000_1, 1.000_2, 1.000_4]), &[]).expect("a chart");
        let labels: Vec<&str> = svg
            .split("class=\"tick end\"")
            .skip(1)
            .filter_map(|part| part.split(['>', '<']).nth(1))
            .collect();
        let different: std::collections::BTreeSet<&str> = labels.iter().copied().collect();
        assert!(labels.len() >= 3 && different.len() == labels.len(), "{labels:?}");
    }

    #[test]
    fn many_points_are_few_on_paper_and_extremes_stay() {
        let values = (0..100_000).map(|at| if at == 54_321 { 99.0 } else { f64::from(at % 10) });
        let svg = chart("c", &words("t", "ms"), &points(values), &[]).expect("a chart");
        assert!(svg.len() < 60_000, "{}", svg.len());
        assert!(!svg.contains("<circle"));
    }

    #[test]
    fn hostile_values_draw_something() {
        for values in
            [vec![f64::NAN, 1.0], vec![0.0, 0.0], vec![f64::INFINITY, f64::NEG_INFINITY], vec![-1.0, 1e300]]
        {
            let same = points(values.clone());
            let svg = chart("c", &words("t", "ms"), &same, &[]).expect("a chart");
            assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{svg}");
            assert!(spark(&values).starts_with("<svg"));
        }
        assert_eq!(chart("c", &words("t", "ms"), &points([1.0]), &[]), None);
        assert!(spark(&[]).starts_with("<svg"));
    }
}
