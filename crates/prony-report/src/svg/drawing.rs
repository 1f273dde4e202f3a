//! The elements of a drawing, with every text escaped and every number finite.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr as _;

use crate::clean::clean;

/// Mean width of a character against the size of the type, in system fonts; a little more than they need.
const CHARACTER: f64 = 0.6;

/// Beyond this many units a place is a fault; nothing is drawn so far away.
const FARTHEST: f64 = 1e5;

/// Which end of a text stands at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// What a point looks like: the same colour in print is still another shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
}

impl Shape {
    /// The shape of series `index`.
    pub(crate) fn of(index: usize) -> Self {
        [Self::Circle, Self::Square, Self::Triangle, Self::Diamond][index % 4]
    }
}

/// An SVG under construction; the origin is at the top left.
pub(crate) struct Drawing {
    width: f64,
    height: f64,
    text: String,
}

impl Drawing {
    /// An empty drawing.
    pub(crate) fn new(width: f64, height: f64) -> Self {
        Self { width, height, text: String::new() }
    }

    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let (x1, y1, x2, y2) = (number(from.0), number(from.1), number(to.0), number(to.1));
        // Writing to a `String` can't fail, here and below.
        let _ = write!(self.text, r#"<line class="{class}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>"#);
    }

    /// A rectangle between two corners, in whichever order.
    pub(crate) fn rectangle(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let (x, y) = (number(from.0.min(to.0)), number(from.1.min(to.1)));
        let (width, height) = (number((to.0 - from.0).abs()), number((to.1 - from.1).abs()));
        let _ =
            write!(self.text, r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}"/>"#);
    }

    /// A line through `points`; nothing for fewer than two.
    pub(crate) fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        let [(x, y), rest @ ..] = points else { return };
        if rest.is_empty() {
            return;
        }
        let _ = write!(self.text, r#"<path class="{class}" d="M{} {}"#, number(*x), number(*y));
        for (x, y) in rest {
            let _ = write!(self.text, "L{} {}", number(*x), number(*y));
        }
        self.text.push_str(r#""/>"#);
    }

    /// Short vertical strokes around `y`, one element for all.
    pub(crate) fn strokes(&mut self, class: &str, places: &[f64], y: f64, half: f64) {
        if places.is_empty() {
            return;
        }
        let _ = write!(self.text, r#"<path class="{class}" d=""#);
        for x in places {
            let _ = write!(self.text, "M{} {}v{}", number(*x), number(y - half), number(2.0 * half));
        }
        self.text.push_str(r#""/>"#);
    }

    /// A point of about `radius`.
    pub(crate) fn point(&mut self, class: &str, shape: Shape, (x, y): (f64, f64), radius: f64) {
        let place = |dx: f64, dy: f64| format!("{} {}", number(x + dx * radius), number(y + dy * radius));
        let _ = match shape {
            Shape::Circle => {
                let (x, y, radius) = (number(x), number(y), number(radius));
                write!(self.text, r#"<circle class="{class}" cx="{x}" cy="{y}" r="{radius}"/>"#)
            }
            Shape::Square => {
                let (from, side) = (place(-0.9, -0.9), number(1.8 * radius));
                write!(self.text, r#"<path class="{class}" d="M{from}h{side}v{side}h-{side}z"/>"#)
            }
            Shape::Triangle => {
                let corners = [place(0.0, -1.15), place(1.1, 0.85), place(-1.1, 0.85)].join("L");
                write!(self.text, r#"<path class="{class}" d="M{corners}z"/>"#)
            }
            Shape::Diamond => {
                let corners =
                    [place(0.0, -1.25), place(1.25, 0.0), place(0.0, 1.25), place(-1.25, 0.0)].join("L");
                write!(self.text, r#"<path class="{class}" d="M{corners}z"/>"#)
            }
        };
    }

    /// What `draw` draws, with `tip` as its tooltip.
    pub(crate) fn with_tip(&mut self, tip: &str, draw: impl FnOnce(&mut Self)) {
        let _ = write!(self.text, "<g><title>{}</title>", escaped(tip));
        draw(self);
        self.text.push_str("</g>");
    }

    /// `text`, cut to `room` units with an ellipsis where it is longer.
    pub(crate) fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str, room: f64) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " middle",
            Anchor::End => " end",
        };
        let (x, y, shown) = (number(x), number(y), cut(text, room));
        let whole =
            if shown == clean(text) { String::new() } else { format!("<title>{}</title>", escaped(text)) };
        let _ = write!(
            self.text,
            r#"<text class="{class}{anchor}" x="{x}" y="{y}">{whole}{}</text>"#,
            escaped(&shown)
        );
    }

    /// The name of a row at the left of `y`, over two lines where one has no room for it.
    pub(crate) fn row_name(&mut self, y: f64, name: &str, room: f64) {
        let (first, second) = halves(name, room);
        if second.is_empty() {
            return self.text("label", (0.0, y + 4.0), Anchor::Start, first, room);
        }
        self.text("label", (0.0, y - 2.0), Anchor::Start, first, room);
        self.text("label", (0.0, y + 10.0), Anchor::Start, second, room);
    }

    /// The element as an ornament beside words that say the same.
    pub(crate) fn ornament(self) -> String {
        let Self { width, height, text } = self;
        let (width, height) = (number(width), number(height));
        format!("<svg aria-hidden=\"true\" viewBox=\"0 0 {width} {height}\">{text}</svg>")
    }

    /// The element, for a page: `title` and `description` say in words what it shows. `class` is the page's.
    pub(crate) fn finish(self, id: &str, class: &str, title: &str, description: &str) -> String {
        let Self { width, height, text } = self;
        let (width, height) = (number(width), number(height));
        format!(
            "<svg class=\"{class}\" role=\"img\" viewBox=\"0 0 {width} {height}\" xmlns=\"http://www.w3.org/2000/svg\" \
             aria-labelledby=\"{id}-t {id}-d\"><title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>{text}</svg>",
            escaped(title),
            escaped(description)
        )
    }
}

/// Units that `text` takes at the size of labels (12 units).
pub(crate) fn text_width(text: &str) -> f64 {
    text.width() as f64 * 12.0 * CHARACTER
}

/// `text` without what could leave its place in a page: markup, and whatever moves or turns the text around it.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in clean(text).chars() {
        match character {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Not characters, by the rules of XML and HTML.
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            other => safe.push(other),
        }
    }
    safe
}

/// As many words of `text` as fit into `room`, and the others.
fn halves(text: &str, room: f64) -> (&str, &str) {
    if text_width(text) <= room {
        return (text, "");
    }
    let mut ends = text.match_indices(' ').map(|(at, _)| at).rev();
    ends.find(|at| text_width(&text[..*at]) <= room)
        .map_or((text, ""), |at| (text[..at].trim_end_matches(" ·"), text[at..].trim_start()))
}

fn cut(text: &str, room: f64) -> String {
    let text = clean(text);
    if text_width(&text) <= room {
        return text;
    }
    let mut kept = String::new();
    for character in text.chars() {
        kept.push(character);
        if text_width(&kept) + text_width("…") > room {
            kept.pop();
            break;
        }
    }
    format!("{}…", kept.trim_end())
}

/// A tenth of a unit is less than a pixel of any screen that shows the whole drawing.
fn number(value: f64) -> String {
    let value = if value.is_nan() { 0.0 } else { value.clamp(-FARTHEST, FARTHEST) };
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_finite() {
        let all = [0.04, -0.04, 12.0, 12.34, f64::NAN, f64::INFINITY].map(number);
        assert_eq!(all, ["0", "0", "12", "12.3", "0", "100000"]);
    }

    #[test]
    fn long_names_of_rows_get_two_lines() {
        let check = |name: &str, expected: (&str, &str)| assert_eq!(halves(name, 150.0), expected, "{name}");
        check("short", ("short", ""));
        check("requests · model sequential · delay 0", ("requests · model", "sequential · delay 0"));
        check(
            "one-word-that-is-longer-than-any-room-here",
            ("one-word-that-is-longer-than-any-room-here", ""),
        );
    }

    #[test]
    fn text_is_escaped_and_cut() {
        let mut drawing = Drawing::new(10.0, 10.0);
        drawing.text("label", (1.0, 2.0), Anchor::End, "a<b", 100.0);
        drawing.text("label", (1.0, 2.0), Anchor::Start, "a long name", 50.0);
        let text = drawing.finish("x", "wide", "A & B", "\u{202e}");
        assert!(text.contains(r#"<text class="label end" x="1" y="2">a&lt;b</text>"#), "{text}");
        assert!(text.contains("<title>a long name</title>a lon…</text>"), "{text}");
        assert!(text.contains("A &amp; B") && text.contains("\\u{202e}"), "{text}");
    }
}
