//! What the terminal can show.

/// How a report is drawn. The binary finds it out; tests choose it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns; no line is wider. Less than [`Style::MIN_WIDTH`] is taken as that.
    pub width: usize,
    /// Whether the verdict words are coloured.
    pub colour: bool,
    /// Whether more than ASCII can be shown.
    pub unicode: bool,
}

impl Style {
    /// Below this a number and its label no longer fit one line.
    pub const MIN_WIDTH: usize = 40;
    /// Where nobody says how wide the terminal is.
    pub const DEFAULT_WIDTH: usize = 80;

    /// The width that is drawn to.
    pub(crate) fn columns(&self) -> usize {
        self.width.max(Self::MIN_WIDTH)
    }
}

impl Default for Style {
    fn default() -> Self {
        Self { width: Self::DEFAULT_WIDTH, colour: false, unicode: true }
    }
}
