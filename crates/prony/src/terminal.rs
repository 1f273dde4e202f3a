//! What the terminal can show, from the environment: read once, here alone.

use std::io::IsTerminal as _;

use prony_report::Style;
use rustix::termios::tcgetwinsize;

use crate::live::Size;

/// Lines longer than this are hard to read, however wide the terminal is.
const WIDTH_MAX: usize = 120;
/// Rows of a terminal that doesn't say how many it has.
const ROWS: usize = 24;

/// How reports on stdout are drawn.
pub(crate) fn style() -> Style {
    let terminal = std::io::stdout().is_terminal();
    Style { width: width(), colour: colour(terminal, &variable), unicode: unicode(&variable) }
}

/// How verdicts on stderr are drawn, beside a report on stdout.
pub(crate) fn error_style() -> Style {
    let terminal = std::io::stderr().is_terminal();
    let width = progress_width().min(WIDTH_MAX);
    Style { width, colour: colour(terminal, &variable), unicode: unicode(&variable) }
}

/// Whether a line on stderr can be written over.
pub(crate) fn has_progress_line() -> bool {
    std::io::stderr().is_terminal() && variable("TERM").as_deref() != Some("dumb")
}

/// How the live view is drawn on a terminal of so many columns. The last one is left free: what erases the rest of a full
/// line erases its last character on some terminals.
pub(crate) fn live_style(columns: usize) -> Style {
    Style {
        width: columns.saturating_sub(1).min(WIDTH_MAX),
        colour: colour(true, &variable),
        unicode: unicode(&variable),
    }
}

/// Rows and columns of the terminal on stderr.
pub(crate) fn screen_size() -> Size {
    let size = tcgetwinsize(std::io::stderr()).ok();
    let known = |length: u16, default: usize| if length == 0 { default } else { usize::from(length) };
    Size {
        rows: known(size.map_or(0, |size| size.ws_row), ROWS),
        columns: known(size.map_or(0, |size| size.ws_col), Style::DEFAULT_WIDTH),
    }
}

/// Columns of the terminal on stderr, where the progress line stands.
pub(crate) fn progress_width() -> usize {
    tcgetwinsize(std::io::stderr())
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns > 0)
        .unwrap_or(Style::DEFAULT_WIDTH)
}

fn width() -> usize {
    let terminal = tcgetwinsize(std::io::stdout()).ok().map(|size| usize::from(size.ws_col));
    let from_environment = || variable("COLUMNS")?.parse().ok();
    terminal
        .filter(|columns| *columns > 0)
        .or_else(from_environment)
        .unwrap_or(Style::DEFAULT_WIDTH)
        .min(WIDTH_MAX)
}

/// The value of an environment variable; empty is as good as unset.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The conventions of no-color.org and CLICOLOR.
fn colour(terminal: bool, variable: &dyn Fn(&str) -> Option<String>) -> bool {
    let is = |name: &str, value: &str| variable(name).as_deref() == Some(value);
    if variable("NO_COLOR").is_some() {
        return false;
    }
    if variable("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
        return true;
    }
    terminal && !is("CLICOLOR", "0") && !is("TERM", "dumb")
}

/// POSIX: the first of these that is set decides on characters.
fn unicode(variable: &dyn Fn(&str) -> Option<String>) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable).unwrap_or_default();
    let locale = locale.to_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(set: &'static [(&'static str, &'static str)]) -> impl Fn(&str) -> Option<String> {
        |name| set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
    }

    #[test]
    fn colour_is_for_terminals_that_want_it() {
        assert!(colour(true, &environment(&[])));
        assert!(!colour(false, &environment(&[])));
        assert!(!colour(true, &environment(&[("NO_COLOR", "1")])));
        assert!(!colour(true, &environment(&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")])));
        assert!(!colour(true, &environment(&[("TERM", "dumb")])));
        assert!(!colour(true, &environment(&[("CLICOLOR", "0")])));
        assert!(colour(false, &environment(&[("CLICOLOR_FORCE", "1")])));
    }

    #[test]
    fn the_locale_decides_on_characters() {
        assert!(unicode(&environment(&[("LANG", "de_CH.UTF-8")])));
        assert!(unicode(&environment(&[("LANG", "C"), ("LC_ALL", "C.utf8")])));
        assert!(!unicode(&environment(&[("LANG", "en_US.UTF-8"), ("LC_ALL", "C")])));
        assert!(!unicode(&environment(&[])));
    }
}
