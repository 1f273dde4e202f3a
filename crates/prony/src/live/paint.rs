//! From one frame to the next: what is written to the terminal.
//!
//! Only lines that changed are written, each over the old one, within a synchronized update (DEC private mode 2026):
//! terminals that know it show the frame at once, others ignore the mode. The screen is cleared only when its size
//! changed. So nothing flickers, and a frame takes little of a slow connection.

use std::fmt::Write as _;

/// Rows and columns of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
}

/// What stands on the terminal.
#[derive(Debug, Default)]
pub(super) struct Painter {
    size: Option<Size>,
    lines: Vec<String>,
}

impl Painter {
    /// What makes the terminal of `size` show `lines`; empty where it does so already.
    pub(super) fn paint(&mut self, lines: Vec<String>, size: Size) -> String {
        let mut changes = String::new();
        if self.size.replace(size) != Some(size) {
            self.lines.clear();
            changes.push_str("\x1b[2J");
        }
        let rows = lines.len().max(self.lines.len()).min(size.rows);
        for row in 0..rows {
            let (old, new) = (self.lines.get(row), lines.get(row));
            if old != new {
                let text = new.map_or("", String::as_str);
                // Writing to a `String` can't fail.
                let _ = write!(changes, "\x1b[{};1H{text}\x1b[K", row + 1);
            }
        }
        self.lines = lines;
        self.lines.truncate(size.rows);
        if changes.is_empty() { changes } else { format!("\x1b[?2026h{changes}\x1b[?2026l") }
    }

    /// Forgets what stands there: something else may have been written over it.
    pub(super) fn forget(&mut self) {
        // No line of a frame has a line feed, so that each differs from this one.
        self.lines.iter_mut().for_each(|line| "\n".clone_into(line));
    }

    /// Forgets all, so that the terminal is cleared.
    pub(super) fn reset(&mut self) {
        self.size = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { rows: 3, columns: 10 };

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn only_lines_that_changed_are_written() {
        let mut painter = Painter::default();
        let first = painter.paint(lines("a\nb"), SIZE);
        assert_eq!(first, "\x1b[?2026h\x1b[2J\x1b[1;1Ha\x1b[K\x1b[2;1Hb\x1b[K\x1b[?2026l");
        assert_eq!(painter.paint(lines("a\nb"), SIZE), "");
        assert_eq!(painter.paint(lines("a\nc"), SIZE), "\x1b[?2026h\x1b[2;1Hc\x1b[K\x1b[?2026l");
        assert_eq!(painter.paint(lines("a"), SIZE), "\x1b[?2026h\x1b[2;1H\x1b[K\x1b[?2026l");
    }

    #[test]
    fn nothing_is_written_below_the_screen() {
        let mut painter = Painter::default();
        assert!(!painter.paint(lines("a\nb\nc\nd"), SIZE).contains("\x1b[4;1H"));
        assert_eq!(painter.paint(lines("a\nb\nc\ne"), SIZE), "");
    }

    #[test]
    fn another_size_clears_the_screen() {
        let mut painter = Painter::default();
        painter.paint(lines("a"), SIZE);
        let painted = painter.paint(lines("a"), Size { rows: 4, ..SIZE });
        assert_eq!(painted, "\x1b[?2026h\x1b[2J\x1b[1;1Ha\x1b[K\x1b[?2026l");
        painter.forget();
        let again = painter.paint(lines("a"), Size { rows: 4, ..SIZE });
        assert_eq!(again, "\x1b[?2026h\x1b[1;1Ha\x1b[K\x1b[?2026l");
    }
}
