//! The phases as boxes in a row, and under them when each ended: httpstat's idea.

use prony_model::{ProbePhase, ProbedRequest};
use unicode_width::UnicodeWidthStr as _;

use super::facts::{PhaseCell, ms, phase_cell, shown, until};

/// One box.
struct Phase {
    title: &'static str,
    /// How long it took.
    time: String,
    /// The name of its end, and when that was.
    end: Option<(&'static str, String)>,
}

/// The characters of the lines, in both kinds.
struct Lines {
    across: char,
    down: char,
    top: [char; 3],
    bottom_left: char,
    /// An edge with and without something under it.
    bottom: [char; 2],
    bottom_right: char,
}

const UNICODE: Lines = Lines {
    across: '─',
    down: '│',
    top: ['┌', '┬', '┐'],
    bottom_left: '└',
    bottom: ['┼', '┴'],
    bottom_right: '┤',
};
const ASCII: Lines = Lines {
    across: '-',
    down: '|',
    top: ['+', '+', '+'],
    bottom_left: '+',
    bottom: ['+', '+'],
    bottom_right: '+',
};

/// The lines of the picture of `request`; none where they are wider than `columns`.
pub(super) fn picture(request: &ProbedRequest, columns: usize, unicode: bool) -> Option<Vec<String>> {
    let lines = if unicode { &UNICODE } else { &ASCII };
    let phases: Vec<Phase> = shown(&request.phases).map(|phase| Phase::of(request, phase, unicode)).collect();
    // A space on both sides.
    let widths: Vec<usize> =
        phases.iter().map(|phase| phase.title.len().max(phase.time.width()) + 2).collect();
    let row = |cells: &mut dyn Iterator<Item = String>| {
        let cells: Vec<String> = cells.collect();
        let down = lines.down.to_string();
        format!("{down}{}{down}", cells.join(&down))
    };
    let centred =
        |texts: Vec<&str>| row(&mut texts.into_iter().zip(&widths).map(|(text, width)| centre(text, *width)));
    let drawn = vec![
        border(&widths, lines.across, lines.top[0], |_| lines.top[1], lines.top[2]),
        centred(phases.iter().map(|phase| phase.title).collect()),
        centred(phases.iter().map(|phase| phase.time.as_str()).collect()),
        border(
            &widths,
            lines.across,
            lines.bottom_left,
            |index| lines.bottom[usize::from(phases[index].end.is_none())],
            lines.bottom_right,
        ),
        ends(&phases, &widths, |(name, _)| name),
        ends(&phases, &widths, |(_, moment)| moment),
    ];
    drawn.iter().all(|line| line.width() <= columns).then_some(drawn)
}

impl Phase {
    fn of(request: &ProbedRequest, phase: ProbePhase, unicode: bool) -> Self {
        let nothing = if unicode { "–" } else { "-" };
        let time = match phase_cell(request, phase) {
            PhaseCell::Time(time_ms) => ms(time_ms),
            PhaseCell::Unended(word) => word.to_owned(),
            PhaseCell::Absent => nothing.to_owned(),
        };
        let (title, end) = match phase {
            ProbePhase::Dns => ("DNS lookup", Some("namelookup")),
            ProbePhase::Connect => ("TCP connect", Some("connect")),
            ProbePhase::Tls => ("TLS handshake", Some("appconnect")),
            ProbePhase::Send => ("send", None),
            ProbePhase::Server => ("server", Some("starttransfer")),
            ProbePhase::Transfer => ("transfer", Some("total")),
        };
        let end = end.map(|end| (end, until(request, phase).map_or_else(|| nothing.to_owned(), ms)));
        let is_unix = request.remote.as_ref().is_some_and(|remote| remote.starts_with('/'));
        let title = if is_unix && phase == ProbePhase::Connect { "connect" } else { title };
        Self { title, time, end }
    }
}

/// A horizontal line; `edge` gives the character between the box of that index and the next.
fn border(widths: &[usize], across: char, left: char, edge: impl Fn(usize) -> char, right: char) -> String {
    let mut line = String::from(left);
    for (index, width) in widths.iter().enumerate() {
        line.extend(std::iter::repeat_n(across, *width));
        line.push(if index + 1 == widths.len() { right } else { edge(index) });
    }
    line
}

/// Texts that end where their boxes do.
fn ends<'a>(
    phases: &'a [Phase],
    widths: &[usize],
    text: impl Fn(&'a (&'static str, String)) -> &'a str,
) -> String {
    let mut line = String::new();
    let mut edge = 1;
    for (phase, width) in phases.iter().zip(widths) {
        edge += width + 1;
        if let Some(end) = &phase.end {
            let text = text(end);
            let gap = edge.saturating_sub(line.width() + text.width());
            line.push_str(&" ".repeat(gap.max(usize::from(!line.is_empty()))));
            line.push_str(text);
        }
    }
    line
}

fn centre(text: &str, width: usize) -> String {
    let left = width.saturating_sub(text.width()) / 2;
    let right = width.saturating_sub(text.width() + left);
    format!("{}{text}{}", " ".repeat(left), " ".repeat(right))
}
