//! Two axes and what stands between them.

use super::{Anchor, Drawing, Scale, Shape, text_width};

/// From a tick to its number.
const TICK_GAP: f64 = 6.0;
/// Height of a line of labels; they are 12 units high.
const LINE: f64 = 12.0;

/// Where on the drawing the values are, between the labels of the axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Area {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
}

impl Area {
    /// Where an x axis begins and ends.
    pub(crate) fn across(self) -> (f64, f64) {
        (self.left, self.right)
    }

    /// Where a y axis begins and ends: upwards.
    pub(crate) fn upwards(self) -> (f64, f64) {
        (self.bottom, self.top)
    }
}

/// One axis: a scale, what it is of, and the values that are named.
pub(crate) struct Axis {
    pub(crate) scale: Scale,
    /// What and in which unit: `response time, ms`.
    pub(crate) label: String,
    pub(crate) ticks: Vec<(f64, String)>,
}

impl Axis {
    /// An axis whose ticks are round values, about `wanted`, written by `write`.
    pub(crate) fn new(scale: Scale, label: &str, wanted: usize, write: impl Fn(f64) -> String) -> Self {
        let ticks = scale.ticks(wanted).into_iter().map(|tick| (tick, write(tick))).collect();
        let label = if scale.is_logarithmic() { format!("{label} (log scale)") } else { label.to_owned() };
        Self { scale, label, ticks }
    }

    /// Draws its grid in `area`, its numbers and its name below.
    pub(crate) fn below(&self, drawing: &mut Drawing, area: Area) {
        let mut taken = f64::NEG_INFINITY;
        for (value, text) in &self.ticks {
            let place = self.scale.place(*value);
            drawing.line("grid", (place, area.top), (place, area.bottom));
            let half = text_width(text) / 2.0;
            // A number that would touch its neighbour is left out; its line stays.
            if place - half < taken {
                continue;
            }
            taken = place + half + TICK_GAP;
            drawing.text("tick", (place, area.bottom + LINE + 4.0), Anchor::Middle, text, f64::INFINITY);
        }
        drawing.text(
            "axis-name",
            (area.right, area.bottom + 2.6 * LINE),
            Anchor::End,
            &self.label,
            area.right,
        );
    }
}

/// A drawing with axes; what is drawn is given by its values.
pub(crate) struct Plot {
    pub(crate) drawing: Drawing,
    pub(crate) area: Area,
    x: Axis,
    y: Axis,
}

impl Plot {
    /// The axes, their grid and their names, in `area` of `drawing`.
    pub(crate) fn new(mut drawing: Drawing, area: Area, x: Axis, y: Axis) -> Self {
        for (value, text) in &y.ticks {
            let place = y.scale.place(*value);
            drawing.line("grid", (area.left, place), (area.right, place));
            let room = area.left;
            drawing.text("tick", (area.left - TICK_GAP, place + 4.0), Anchor::End, text, room);
        }
        x.below(&mut drawing, area);
        drawing.line("axis", (area.left, area.bottom), (area.right, area.bottom));
        drawing.text("axis-name", (0.0, area.top - LINE), Anchor::Start, &y.label, area.right);
        Self { drawing, area, x, y }
    }

    /// Where the values are drawn.
    pub(crate) fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.x.scale.place(x), self.y.scale.place(y))
    }

    /// A line from value to value.
    pub(crate) fn line(&mut self, class: &str, values: &[(f64, f64)]) {
        let places: Vec<(f64, f64)> = values.iter().map(|value| self.place(*value)).collect();
        self.drawing.path(class, &places);
    }

    /// A point at a value.
    pub(crate) fn point(&mut self, class: &str, shape: Shape, value: (f64, f64), radius: f64) {
        let place = self.place(value);
        self.drawing.point(class, shape, place, radius);
    }

    /// An upright interval at `x`, with feet.
    pub(crate) fn interval(&mut self, class: &str, x: f64, low: f64, high: f64) {
        let (place, low) = self.place((x, low));
        let high = self.y.scale.place(high);
        self.drawing.line(class, (place, low), (place, high));
        for end in [low, high] {
            self.drawing.line(class, (place - 3.0, end), (place + 3.0, end));
        }
    }
}
