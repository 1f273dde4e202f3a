//! The report for issues and pull requests.

use std::fmt::Write as _;

use prony_model::CapacityResult;

use super::facts::{self, COLUMNS};
use crate::markdown::{escaped, findings_and_notes};

/// The report.
pub fn markdown(result: &CapacityResult) -> String {
    let (word, sentence) = facts::answer(result);
    let mut text =
        format!("{}\n\n**{word}** {}\n", escaped(&facts::manner(result).join(" · ")), escaped(&sentence));
    let lines = [facts::basis(result), facts::law(result), facts::limiter(result), facts::peak(result)];
    for line in lines.into_iter().flatten() {
        // Writing to a `String` can't fail, here and below.
        let _ = write!(text, "\n- {}", escaped(&line));
    }
    text.push_str("\n\n");
    text.push_str(&trials_table(result));
    text.push_str(&findings_and_notes(&result.findings, &result.notes));
    text
}

/// Every trial and why it came out as it did.
pub(crate) fn trials_table(result: &CapacityResult) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "| | {} | |", COLUMNS.join(" | "));
    let _ = writeln!(text, "|:--|{}:--|", "--:|".repeat(COLUMNS.len()));
    for trial in &result.trials {
        let _ = writeln!(
            text,
            "| {} | {} | {} |",
            facts::mark(trial.outcome),
            facts::cells(trial).join(" | "),
            escaped(&facts::why(trial))
        );
    }
    text
}
