//! The report as Markdown: the same facts in the same order as the text.

use std::fmt::Write as _;

use prony_model::{ExecResult, Verdict};

use super::facts;
use crate::facts::verdict_word;
use crate::markdown::{escaped, sentence};

const HEADINGS: [&str; 9] =
    ["", "command", "mean", "median", "min … max", "n", "user + system", "peak memory", "start-up"];

/// The report of one series.
pub fn markdown(result: &ExecResult) -> String {
    let parts: Vec<String> = facts::choices(result).iter().map(|part| escaped(part)).collect();
    let (reason, others) = match result.findings.split_first() {
        Some((worst, others)) if result.verdict != Verdict::Valid => (sentence(worst), others),
        _ => ("nothing speaks against these numbers".to_owned(), result.findings.as_slice()),
    };
    let mut text = format!("{}\n\n**{}** {reason}\n", parts.join(" · "), verdict_word(result.verdict));
    text.push_str(&table(result));
    if let Some(reference) = facts::reference(result) {
        // Writing to a `String` can't fail.
        let _ = writeln!(text, "\nThe {reference}:\n");
        for comparison in &result.comparisons {
            let (word, _) = facts::word(comparison);
            let grounds = facts::grounds(comparison).replace("     ", ", ");
            let _ = writeln!(text, "- **{word}** command {}: {}", comparison.command + 1, escaped(&grounds));
        }
    }
    if !others.is_empty() {
        text.push('\n');
    }
    for finding in others {
        let _ = writeln!(text, "- {}", sentence(finding));
    }
    text
}

fn table(result: &ExecResult) -> String {
    let mut text =
        format!("\n| {} |\n|--:|:--|{}\n", HEADINGS.join(" | "), "--:|".repeat(HEADINGS.len() - 2));
    for (at, (planned, measured)) in result.plan.commands.iter().zip(&result.commands).enumerate() {
        let mut cells = vec![(at + 1).to_string(), escaped(&planned.name)];
        match measured.wall.as_ref().filter(|_| measured.withheld.is_none()) {
            None if !measured.runs.is_empty() => {
                let runs = measured.runs.len().to_string();
                let memory = facts::memory(measured).unwrap_or_default();
                cells.extend(["–", "–", "–", &runs, "–", &memory, "–"].map(str::to_owned));
            }
            None => cells.extend(["–", "–", "–", "0", "–", "–", "–"].map(str::to_owned)),
            Some(wall) => {
                let cpu = facts::cpu(measured).map(|(user, system)| format!("{user} + {system}"));
                let start_up = facts::start_up(measured)
                    .map(|(share, how)| format!("{}<br>{}", escaped(&share), escaped(&how)));
                cells.extend([facts::mean(wall), facts::median(wall), facts::range(wall)]);
                cells.push(wall.count.to_string());
                cells.extend([cpu, facts::memory(measured), start_up].map(Option::unwrap_or_default));
            }
        }
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text
}
