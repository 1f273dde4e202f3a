//! What the self-test prints.

use std::fmt::Write as _;

use prony_report::{count, seconds};

use super::check::Checked;
use super::trials::Trial;

/// A trial and what came of it.
pub(super) struct Row {
    pub(super) trial: Trial,
    pub(super) checked: Checked,
    /// Whether the run itself said that its times can't be defended.
    pub(super) is_invalid: bool,
}

/// Columns of the text, as many as the table has.
const COLUMNS: usize = 76;
const WHAT: &str = "Each request as the client saw it, against the record of a server that knows what it did: how it \
                    ended, that no time is too short, that none is left out, and that each reported quantile is that \
                    of the requests. Beside it: what client and machine add to the service times.";

/// The table, and what follows from it.
pub(super) fn text(rows: &[Row]) -> String {
    let mut text =
        format!("{}\n\n{:<32}{:>9}{:>11}{:>11}\n", wrapped(WHAT), "", "requests", "adds p50", "adds p99");
    for row in rows {
        let added = |q| row.checked.added_ms(q).map_or_else(|| "–".to_owned(), |ms| seconds(ms / 1e3));
        let word = match (&row.checked.mistake, row.is_invalid) {
            (Some(_), _) => "WRONG",
            (None, true) => "right, busy",
            (None, false) => "right",
        };
        // Writing to a `String` can't fail.
        let _ = writeln!(
            text,
            "{:<32}{:>9}{:>11}{:>11}  {word}",
            row.trial.name,
            count(row.checked.requests),
            added(0.5),
            added(0.99)
        );
    }
    text.push('\n');
    for row in rows {
        if let Some(mistake) = &row.checked.mistake {
            let _ = writeln!(text, "{}", wrapped(&format!("{}: {mistake}", row.trial.name)));
        }
    }
    let wrong = rows.iter().filter(|row| row.checked.mistake.is_some()).count();
    let busy = rows.iter().filter(|row| row.is_invalid).count();
    let sentence = if wrong > 0 {
        "Numbers of prony are wrong on this machine: please report this, with what is above.".to_owned()
    } else if busy > 0 {
        format!(
            "All numbers are right. The machine was busy in {busy} of {} runs, and may add less than this: try again \
             when it is idle.",
            rows.len()
        )
    } else {
        "All numbers are right.".to_owned()
    };
    let _ = writeln!(text, "{}", wrapped(&sentence));
    text
}

fn wrapped(text: &str) -> String {
    prony_report::wrap(text, COLUMNS).join("\n")
}
