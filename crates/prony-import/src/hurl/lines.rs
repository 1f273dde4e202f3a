//! The text of a file with a place in it.

/// A place in a text.
#[derive(Debug, Clone)]
pub(super) struct Lines<'a> {
    text: &'a str,
    at: usize,
    /// The line of `at`, from 1.
    line: usize,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text: text.strip_prefix('\u{feff}').unwrap_or(text), at: 0, line: 1 }
    }

    /// What follows.
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The number of the line, from 1.
    pub(super) fn number(&self) -> usize {
        self.line
    }

    /// The rest of this line, without its end.
    pub(super) fn line(&self) -> &'a str {
        let rest = self.rest();
        let line = rest.split_once('\n').map_or(rest, |(line, _)| line);
        line.strip_suffix('\r').unwrap_or(line)
    }

    /// Goes on by `bytes`.
    pub(super) fn skip(&mut self, bytes: usize) -> &'a str {
        let skipped = &self.rest()[..bytes];
        self.line += skipped.matches('\n').count();
        self.at += bytes;
        skipped
    }

    /// Goes to the next line, and returns the rest of this one.
    pub(super) fn next_line(&mut self) -> &'a str {
        let line = self.line();
        let length = self.rest().find('\n').map_or(self.rest().len(), |end| end + 1);
        self.skip(length);
        line
    }

    /// Goes over empty lines and comments; returns whether something follows.
    pub(super) fn skip_blank(&mut self) -> bool {
        loop {
            if self.rest().is_empty() {
                return false;
            }
            let line = self.line().trim_start_matches([' ', '\t']);
            if !line.is_empty() && !line.starts_with('#') {
                return true;
            }
            self.next_line();
        }
    }

    /// Goes over spaces of this line.
    pub(super) fn skip_spaces(&mut self) {
        let spaces = self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
        self.skip(spaces);
    }
}
