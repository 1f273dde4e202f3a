//! The report for a terminal.

use prony_model::{CommandResult, ExecResult, Finding, Verdict};

use super::facts;
use crate::Style;
use crate::number::count;
use crate::page::{Colour, Page};
use crate::text::{finding, labelled};

/// Columns of the words of comparisons: `no difference` and two spaces.
const WORD: usize = 15;
/// Between numbers on one line.
const BETWEEN: &str = "     ";

/// The report of one series; no line is wider than `style` says.
pub fn text(result: &ExecResult, style: &Style) -> String {
    let mut page = Page::new(style);
    page.parts(&facts::choices(result));
    page.gap();
    let others = verdict(&mut page, result);
    page.gap();
    for (at, measured) in result.commands.iter().enumerate() {
        command(&mut page, result, at, measured);
        page.gap();
    }
    if let Some(reference) = facts::reference(result) {
        page.parts(&[reference]);
        for comparison in &result.comparisons {
            let (word, colour) = facts::word(comparison);
            let grounds = facts::grounds(comparison);
            page.worded(
                &word,
                WORD,
                colour,
                &format!("command {}{BETWEEN}{grounds}", comparison.command + 1),
            );
        }
        page.gap();
    }
    labelled(&mut page, others);
    page.finish()
}

/// The verdict with its reason; returns the findings that are still to be printed.
fn verdict<'a>(page: &mut Page, result: &'a ExecResult) -> &'a [Finding] {
    let (word, colour) = match result.verdict {
        Verdict::Valid => ("VALID", Colour::Green),
        Verdict::Doubtful => ("DOUBTFUL", Colour::Yellow),
        Verdict::Invalid => ("INVALID", Colour::Red),
    };
    match result.findings.split_first() {
        Some((worst, others)) if result.verdict != Verdict::Valid => {
            finding(page, word, Some(colour), worst);
            others
        }
        _ => {
            page.labelled(word, Some(colour), "nothing speaks against these numbers");
            &result.findings
        }
    }
}

/// One command: its name, then a line for each thing that is known of it.
fn command(page: &mut Page, result: &ExecResult, at: usize, measured: &CommandResult) {
    let planned = &result.plan.commands[at];
    let head = if result.commands.len() == 1 { "command".to_owned() } else { (at + 1).to_string() };
    page.labelled(&head, None, &planned.name);
    let Some(wall) = &measured.wall else {
        page.labelled("wall", None, "not one run");
        return;
    };
    let runs = format!("n = {}", count(wall.count.into()));
    let has_times = measured.withheld.is_none();
    if let Some(reason) = &measured.withheld {
        page.labelled("wall", None, &format!("– {reason}"));
    } else {
        let parts = [facts::mean(wall), facts::range(wall), runs.clone()];
        page.labelled("wall", None, &parts.join(BETWEEN));
        page.labelled("median", None, &[facts::median(wall), runs.clone()].join(BETWEEN));
    }
    if let Some((user, system)) = facts::cpu(measured).filter(|_| has_times) {
        page.labelled("CPU", None, &format!("user {user}{BETWEEN}system {system} (means, {runs})"));
    }
    if let Some(memory) = facts::memory(measured) {
        page.labelled("memory", None, &format!("{memory} (peak, {runs})"));
    }
    if let Some((share, how)) = facts::start_up(measured).filter(|_| has_times) {
        page.labelled("start-up", None, &format!("{share}{BETWEEN}{how}"));
    }
    if let Some(exits) = facts::exits(measured) {
        page.labelled("exit", None, &exits);
    }
}
