//! A page of text under construction: labels in a column of their own, texts wrapped beside them.

use prony_model::ComparisonOutcome;
use unicode_width::UnicodeWidthStr as _;

use crate::Style;
use crate::clean::{ascii, clean};

/// Width of the label column; `goodput` and two spaces fit, and so does `DOUBTFUL`.
const LABEL: usize = 10;

/// The colours of verdict words. Each also differs by its word, never by colour alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colour {
    Green,
    Yellow,
    Red,
}

impl Colour {
    /// Of the words of comparisons.
    pub(crate) fn of_outcome(outcome: &ComparisonOutcome) -> Option<Self> {
        match outcome {
            outcome if outcome.is_faster() => Some(Self::Green),
            outcome if outcome.is_slower() => Some(Self::Red),
            ComparisonOutcome::TooNoisy { .. } | ComparisonOutcome::NoVerdict { .. } => Some(Self::Yellow),
            _ => None,
        }
    }
}

/// Lines that are never wider than the style allows.
pub(crate) struct Page {
    style: Style,
    lines: Vec<String>,
}

impl Page {
    pub(crate) fn new(style: &Style) -> Self {
        Self { style: *style, lines: Vec::new() }
    }

    pub(crate) fn style(&self) -> &Style {
        &self.style
    }

    /// An empty line, unless there is one already.
    pub(crate) fn gap(&mut self) {
        if self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(String::new());
        }
    }

    /// Parts with ` · ` between them; a line breaks between parts rather than within one.
    pub(crate) fn parts(&mut self, parts: &[String]) {
        let separator = self.shown(" · ");
        let mut line = String::new();
        for part in parts {
            let part = self.shown(part);
            if !line.is_empty() && line.width() + separator.width() + part.width() > self.style.columns() {
                self.lines.extend(wrap(&std::mem::take(&mut line), self.style.columns()));
            }
            if !line.is_empty() {
                line.push_str(&separator);
            }
            line.push_str(&part);
        }
        self.lines.extend(wrap(&line, self.style.columns()));
    }

    /// `label` and, beside it, `text` wrapped.
    pub(crate) fn labelled(&mut self, label: &str, colour: Option<Colour>, text: &str) {
        self.worded(label, LABEL, colour, text);
    }

    /// The same with a label column of `columns`.
    pub(crate) fn worded(&mut self, label: &str, columns: usize, colour: Option<Colour>, text: &str) {
        let label = self.shown(label);
        let coloured = self.coloured(&label, colour);
        let padding = " ".repeat(columns.saturating_sub(label.width()));
        self.hanging(&format!("{coloured}{padding}"), columns, text);
    }

    /// `text` under the labelled texts, set in by as much again.
    pub(crate) fn inset(&mut self, text: &str) {
        self.hanging(&" ".repeat(2 * LABEL), 2 * LABEL, text);
    }

    /// `head`, which takes `indent` columns, and `text` wrapped at its right.
    fn hanging(&mut self, head: &str, indent: usize, text: &str) {
        let text = self.shown(text);
        for (index, line) in wrap(&text, self.style.columns() - indent).into_iter().enumerate() {
            let head = if index == 0 { head.to_owned() } else { " ".repeat(indent) };
            self.lines.push(format!("{head}{line}").trim_end().to_owned());
        }
    }

    /// A line that its maker fitted to the width.
    pub(crate) fn line(&mut self, line: &str) {
        let line = self.shown(line);
        debug_assert!(line.width() <= self.style.columns(), "invariant: `{line}` fits the width");
        self.lines.push(line.trim_end().to_owned());
    }

    /// A line of a table that is broken like any text where the page is too narrow for it.
    pub(crate) fn fitting(&mut self, line: &str) {
        let line = self.shown(line);
        if line.width() <= self.style.columns() {
            self.lines.push(line.trim_end().to_owned());
        } else {
            self.lines.extend(wrap(&line, self.style.columns()));
        }
    }

    /// A link under the labelled texts, on a line of its own however long it is: in two lines it is none.
    pub(crate) fn unbroken(&mut self, link: &str) {
        let link = self.shown(link);
        let indent = if LABEL + link.width() <= self.style.columns() { LABEL } else { 0 };
        self.lines.push(format!("{}{link}", " ".repeat(indent)));
    }

    /// A line of a picture, which its maker has fitted to the width and made of characters that can be shown.
    pub(crate) fn fitted(&mut self, line: &str) {
        debug_assert!(line.width() <= self.style.columns(), "invariant: `{line}` fits the width");
        self.lines.push(line.trim_end().to_owned());
    }

    /// A line whose middle is a picture, which has its own ASCII form; fitted to the width by its maker.
    pub(crate) fn drawing(&mut self, label: &str, axis: &str, picture: &str, number: &str) {
        let line = format!("{}{axis}{picture}{}", self.shown(label), self.shown(number));
        debug_assert!(line.width() <= self.style.columns(), "invariant: `{line}` fits the width");
        self.lines.push(line);
    }

    /// The page, with a line feed at the end of each line.
    pub(crate) fn finish(mut self) -> String {
        while self.lines.last().is_some_and(String::is_empty) {
            self.lines.pop();
        }
        self.lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
    }

    /// `text` as the terminal can and may show it.
    fn shown(&self, text: &str) -> String {
        let cleaned = clean(text);
        if self.style.unicode { cleaned } else { ascii(&cleaned) }
    }

    fn coloured(&self, word: &str, colour: Option<Colour>) -> String {
        match colour.filter(|_| self.style.colour) {
            None => word.to_owned(),
            Some(colour) => {
                let code = match colour {
                    Colour::Green => 32,
                    Colour::Yellow => 33,
                    Colour::Red => 31,
                };
                format!("\u{1b}[1;{code}m{word}\u{1b}[0m")
            }
        }
    }
}

/// `text` in lines of at most `room` columns, broken at spaces; a word wider than that is broken where it must.
pub fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let gap = usize::from(!line.is_empty());
        if line.width() + gap + word.width() > room && !line.is_empty() {
            lines.push(std::mem::take(&mut line).trim_end().to_owned());
        } else if gap == 1 {
            line.push(' ');
        }
        for character in word.chars() {
            let mut bytes = [0; 4];
            if line.width() + character.encode_utf8(&mut bytes).width() > room {
                lines.push(std::mem::take(&mut line));
            }
            line.push(character);
        }
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, room: usize, expected: &[&str]) {
        assert_eq!(wrap(text, room), expected, "{text}");
    }

    #[test]
    fn wrapping() {
        check("", 10, &[""]);
        check("one two three", 80, &["one two three"]);
        check("one two three", 7, &["one two", "three"]);
        check("abcdefghij xy", 4, &["abcd", "efgh", "ij", "xy"]);
        check("漢字漢字", 5, &["漢字", "漢字"]);
    }

    #[test]
    fn spaces_that_align_are_kept() {
        check("100 %     5 of 5", 80, &["100 %     5 of 5"]);
    }
}
