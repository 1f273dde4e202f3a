//! When the parts of something ran, as bars along one time axis, in the order of their rows.

use crate::number::plain_tick;
use crate::svg::{Anchor, Area, Axis, Drawing, Scale, text_width};

const WIDTH: f64 = 720.0;
const ROW: f64 = 24.0;
/// Names of rows have at most this much room, labels of bars exactly this much.
const NAMES_MAX: f64 = 180.0;
const LABELS: f64 = 150.0;
/// From a name to the axis, and from a bar to its label.
const GAP: f64 = 10.0;
/// A bar is never narrower: what ran for a moment is seen, too.
const LEAST_BAR: f64 = 2.0;
/// More rows than this are a list, not a picture.
const ROWS_MAX: usize = 200;

/// How a part ended, or that it runs: its colour. The label has it in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScheduleClass {
    /// Well.
    Good,
    /// Badly.
    Bad,
    /// It still runs.
    Busy,
    /// Neither.
    Calm,
}

impl ScheduleClass {
    fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Busy => "busy",
            Self::Calm => "calm",
        }
    }
}

/// One part.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleRow {
    /// Its name.
    pub name: String,
    /// Its state and how long it took: `failed, 3.2 s`.
    pub label: String,
    /// Its colour.
    pub class: ScheduleClass,
    /// From when to when it ran, seconds since all of them were requested; absent if it never began.
    pub ran_s: Option<(f64, f64)>,
}

/// The chart as an SVG element: `id` is a prefix of its ids, `title` says what it shows. Before each bar, a thin line
/// is the time that the part waited. The axis begins with the request, or, where the wait would leave the bars no room, with
/// the first bar. `None` where nothing ran yet.
pub fn chart(id: &str, title: &str, rows: &[ScheduleRow]) -> Option<String> {
    let rows = &rows[..rows.len().min(ROWS_MAX)];
    let ran =
        || rows.iter().filter_map(|row| row.ran_s).filter(|(from, to)| from.is_finite() && to.is_finite());
    let first = ran().map(|(from, _)| from).fold(f64::INFINITY, f64::min).max(0.0);
    let last = ran().map(|(_, to)| to).fold(f64::NEG_INFINITY, f64::max);
    if !first.is_finite() || !last.is_finite() {
        return None;
    }
    let has_room = first <= last - first;
    let begin = if has_room { 0.0 } else { first };
    let (unit, unit_s) = unit(last - begin);
    let since = if has_room { "since the request" } else { "since the first began" };
    let names = rows.iter().map(|row| text_width(&row.name)).fold(0.0, f64::max);
    let area = Area {
        left: (names + GAP).min(NAMES_MAX),
        top: 6.0,
        right: WIDTH - LABELS,
        bottom: 6.0 + ROW * rows.len() as f64,
    };
    let mut drawing = Drawing::new(WIDTH, area.bottom + 38.0);
    // Something that took no time at all still has an axis.
    let end = ((last - begin) / unit_s).max(1e-3);
    let scale = Scale::exact(0.0, end, area.across());
    let axis = Axis::new(scale, &format!("time {since}, {unit}"), 6, plain_tick);
    axis.below(&mut drawing, area);
    let place = |at_s: f64| axis.scale.place((at_s - begin) / unit_s);
    for (index, row) in rows.iter().enumerate() {
        let y = area.top + ROW * (index as f64 + 0.5);
        drawing.row_name(y, &row.name, area.left - GAP);
        let mut right = area.left;
        if let Some((from, to)) = row.ran_s {
            let (from, to) = (place(from), place(to));
            drawing.line("wait", (area.left, y), (from, y));
            right = to.max(from + LEAST_BAR);
            drawing.rectangle(&format!("stretch {}", row.class.name()), (from, y - 7.0), (right, y + 7.0));
        }
        drawing.text(
            "label",
            (right + GAP / 2.0, y + 4.0),
            Anchor::Start,
            &row.label,
            WIDTH - right - GAP / 2.0,
        );
    }
    let description = format!("A bar for each of {} rows, labelled with its state and duration.", rows.len());
    Some(drawing.finish(id, "wide", title, &description))
}

/// In which unit so many seconds are read best.
fn unit(span_s: f64) -> (&'static str, f64) {
    match span_s {
        span if span <= 180.0 => ("s", 1.0),
        span if span <= 3.0 * 3600.0 => ("min", 60.0),
        _ => ("h", 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, class: ScheduleClass, ran_s: Option<(f64, f64)>) -> ScheduleRow {
        ScheduleRow { name: name.to_owned(), label: format!("{}, a while", class.name()), class, ran_s }
    }

    #[test]
    fn each_part_has_a_bar_with_its_state() {
        let rows = [
            row("checkout", ScheduleClass::Good, Some((2.0, 5.0))),
            row("test <all>", ScheduleClass::Bad, Some((5.0, 20.0))),
            row("study", ScheduleClass::Calm, None),
        ];
        let svg = chart("times", "When tasks ran", &rows).expect("a chart");
        assert_eq!(svg.matches("<rect").count(), 2, "{svg}");
        for part in [
            "stretch good",
            "stretch bad",
            "bad, a while",
            "calm, a while",
            "test &lt;all&gt;",
            "time since the request, s",
        ] {
            assert!(svg.contains(part), "{part}\n{svg}");
        }
        assert!(!svg.contains("style="), "a strict page admits none");
    }

    #[test]
    fn a_long_wait_leaves_room_for_the_bars() {
        let rows = [row("a", ScheduleClass::Good, Some((72_000.0, 72_060.0)))];
        let svg = chart("times", "t", &rows).expect("a chart");
        assert!(svg.contains("time since the first began, s"), "{svg}");
    }

    #[test]
    fn hostile_times_draw_something_or_nothing() {
        assert_eq!(chart("t", "t", &[]), None);
        assert_eq!(chart("t", "t", &[row("a", ScheduleClass::Busy, None)]), None);
        for ran in
            [(0.0, 0.0), (-5.0, -9.0), (1e300, -1e300), (f64::NAN, 1.0), (0.0, f64::INFINITY), (1e9, 2e9)]
        {
            let rows =
                [row("a", ScheduleClass::Busy, Some(ran)), row("b", ScheduleClass::Good, Some((1.0, 2.0)))];
            let svg = chart("t", "t", &rows).expect("a chart");
            assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{svg}");
        }
        let many: Vec<_> = (0..1_000).map(|_| row("a", ScheduleClass::Good, Some((1.0, 2.0)))).collect();
        assert_eq!(chart("t", "t", &many).expect("a chart").matches("<rect").count(), ROWS_MAX);
    }
}
