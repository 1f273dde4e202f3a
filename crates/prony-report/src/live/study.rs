//! A study while it is on: the cell at hand, the runs that are done and left, and what made them doubtful so far.

use std::time::Duration;

use super::{Block, bar, cut, fitted, hint, share};
use crate::Style;
use crate::number::{count, seconds};
use crate::page::{Colour, Page};

/// Findings that are shown, the most frequent first.
const FINDINGS_MAX: usize = 5;
/// Runs that are shown, the newest last.
const ENDED_MAX: usize = 6;

/// A study at one moment.
#[derive(Debug, Clone, Copy)]
pub struct StudyMoment<'a> {
    /// What it is called.
    pub name: &'a str,
    /// Runs that are done,
    pub done: usize,
    /// of which so many were invalid,
    pub invalid: usize,
    /// and that could not be made;
    pub failed: usize,
    /// and all of them.
    pub of: usize,
    /// The time that those to come will take.
    pub left: Option<Duration>,
    /// The cell at hand, and which of its repeats; empty between two.
    pub cell: &'a str,
    /// What is being done there.
    pub doing: &'a str,
    /// Names of findings, and in how many runs each was.
    pub findings: &'a [(&'static str, usize)],
    /// A line for each run that has ended, the newest last.
    pub ended: &'a [String],
    /// Whether it was asked to end.
    pub stopping: bool,
}

/// `moment` in at most `rows` lines, none wider than `style` says.
pub fn study_screen(moment: &StudyMoment<'_>, style: &Style, rows: usize) -> Vec<String> {
    let block = |rank, draw: &dyn Fn(&mut Page, &StudyMoment<'_>)| {
        Block::drawn(rank, style, &|page: &mut Page| draw(page, moment))
    };
    let blocks = vec![
        block(3, &|page, moment| line(page, &format!("study {}", moment.name))),
        Block::gap(),
        block(8, &place),
        block(7, &now),
        block(6, &outcomes),
        Block::gap(),
        block(4, &ended),
        Block::gap(),
        block(5, &findings),
        Block::gap(),
        block(1, &|page, moment| hint(page, moment.stopping, "study")),
    ];
    fitted(blocks, rows)
}

fn line(page: &mut Page, text: &str) {
    let columns = page.style().columns();
    page.line(&cut(text, columns));
}

fn place(page: &mut Page, moment: &StudyMoment<'_>) {
    let done = moment.done + moment.failed;
    let left = moment.left.map(|left| format!(" · {} left", seconds(left.as_secs_f64().ceil())));
    let early = if moment.stopping { "; ending early" } else { "" };
    let text = format!("{done} of {}{}{early}", moment.of, left.unwrap_or_default());
    match share(done as f64, moment.of as f64) {
        Some(share) => bar(page, "runs", share, &text),
        None => page.labelled("runs", None, &text),
    }
}

fn now(page: &mut Page, moment: &StudyMoment<'_>) {
    let parts: Vec<&str> = [moment.cell, moment.doing].into_iter().filter(|part| !part.is_empty()).collect();
    let columns = page.style().columns();
    page.line(&cut(&format!("{:<10}{}", "now", parts.join(" · ")), columns));
}

fn outcomes(page: &mut Page, moment: &StudyMoment<'_>) {
    let parts = [(moment.done, "done"), (moment.invalid, "invalid"), (moment.failed, "could not be made")];
    let shown = parts.iter().filter(|(number, word)| *number > 0 || *word == "done");
    let shown: Vec<String> =
        shown.map(|(number, word)| format!("{} {word}", count(*number as u64))).collect();
    let text = shown.join(", ");
    let colour = (moment.invalid + moment.failed > 0).then_some(Colour::Yellow);
    page.labelled("so far", colour, &text);
}

fn ended(page: &mut Page, moment: &StudyMoment<'_>) {
    for one in &moment.ended[moment.ended.len().saturating_sub(ENDED_MAX)..] {
        line(page, one);
    }
}

fn findings(page: &mut Page, moment: &StudyMoment<'_>) {
    for (name, runs) in moment.findings.iter().take(FINDINGS_MAX) {
        let word = if *runs == 1 { "run" } else { "runs" };
        page.labelled("finding", Some(Colour::Yellow), &format!("{name} in {} {word}", count(*runs as u64)));
    }
    let more = moment.findings.len().saturating_sub(FINDINGS_MAX);
    if more > 0 {
        page.labelled("", None, &format!("and {more} more"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_screen_says_what_is_done_and_what_is_left() {
        let ended: Vec<String> =
            (1..10).map(|run| format!("{run} of 12 · kv · repeat 1 · VALID · 3 s")).collect();
        let moment = StudyMoment {
            name: "kv-journal",
            done: 8,
            invalid: 1,
            failed: 1,
            of: 12,
            left: Some(Duration::from_secs(9)),
            cell: "10 of 12 · kv \u{1b}[2J sync",
            doing: "5,000 /s",
            findings: &[("client-busy", 2), ("steal", 1)],
            ended: &ended,
            stopping: false,
        };
        let style = Style { width: 79, colour: false, unicode: true };
        let text = study_screen(&moment, &style, 24).join("\n");
        for expected in [
            "study kv-journal",
            " 75 %  9 of 12 · 9 s left",
            " · 5,000 /s",
            "so far    8 done, 1 invalid, 1 could not be made",
            "9 of 12 · kv · repeat 1",
            "finding   client-busy in 2 runs",
            "finding   steal in 1 run",
        ] {
            assert!(text.contains(expected), "{expected}:\n{text}");
        }
        assert!(!text.contains('\u{1b}') && !text.contains("\n3 of 12"), "{text}");
        for rows in 0..24 {
            assert!(study_screen(&moment, &style, rows).len() <= rows);
        }
        assert_eq!(study_screen(&moment, &style, 1).len(), 1);
        assert!(study_screen(&moment, &style, 1)[0].starts_with("runs"));
    }
}
