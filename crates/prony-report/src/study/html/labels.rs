//! The names of lines at their right ends.

use crate::svg::{Anchor, Plot, apart, text_width};

/// Height of a line of labels.
const LINE: f64 = 14.0;
/// A label is at most this wide; what is longer goes into a legend.
const ROOM_MAX: f64 = 150.0;
/// From the end of the area to the names.
const GAP: f64 = 14.0;

/// The end of a line: the number of its colour, its name, and its last value.
pub(super) struct End {
    pub(super) colour: usize,
    pub(super) name: String,
    pub(super) value: (f64, f64),
}

/// Whether `names` fit beside an area of `height`; otherwise they need a legend.
pub(super) fn fit(names: &[String], height: f64) -> bool {
    names.len() as f64 * LINE <= height && names.iter().all(|name| text_width(name) <= ROOM_MAX)
}

/// Units that `names` need at the right of an area.
pub(super) fn room(names: &[String]) -> f64 {
    2.0 * GAP + names.iter().map(|name| text_width(name)).fold(0.0, f64::max)
}

/// Units that the names of rows need at the left; at most `most`, where longer ones are cut.
pub(super) fn column<'a>(names: impl Iterator<Item = &'a str>, most: f64) -> f64 {
    (names.map(text_width).fold(0.0, f64::max) + GAP).min(most)
}

/// Writes the names at the right of the area, none over another, each with a thin line to its end.
pub(super) fn draw(plot: &mut Plot, ends: &[End]) {
    let places: Vec<(f64, f64)> = ends.iter().map(|end| plot.place(end.value)).collect();
    let wanted: Vec<f64> = places.iter().map(|(_, y)| *y).collect();
    let area = plot.area;
    let heights = apart(&wanted, LINE, area.top, area.bottom);
    for ((end, (x, y)), height) in ends.iter().zip(places).zip(heights) {
        let start = area.right + GAP - 3.0;
        if (height - y).abs() > 2.0 || start - x > GAP {
            plot.drawing.line("lead", (x + 2.0, y), (start, height));
        }
        let class = format!("c b s{}", end.colour);
        plot.drawing.text(&class, (area.right + GAP, height + 4.0), Anchor::Start, &end.name, ROOM_MAX);
    }
}
