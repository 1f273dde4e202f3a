//! The report for issues and pull requests.

use std::fmt::Write as _;

use prony_model::OverloadResult;

use super::facts::{self, COLUMNS};
use crate::markdown::{escaped, findings_and_notes};

/// The report.
pub fn markdown(result: &OverloadResult) -> String {
    let mut text = format!("{}\n", escaped(&facts::manner(result).join(" · ")));
    for run in &result.runs {
        let (word, sentence) = facts::answer(result, run);
        // Writing to a `String` can't fail, here and below.
        let _ = write!(text, "\n**{word}** {}\n", escaped(&sentence));
        let _ = writeln!(text, "\n| {} | {} | not good |", facts::clients(run), COLUMNS.join(" | "));
        let _ = writeln!(text, "|:--|{}:--|", "--:|".repeat(COLUMNS.len()));
        for phase in &run.phases {
            let _ = writeln!(
                text,
                "| {} | {} | {} |",
                phase.phase.name(),
                facts::cells(phase).join(" | "),
                escaped(&facts::failures(phase))
            );
        }
        text.push('\n');
        for (name, detail) in facts::details(run) {
            let _ = writeln!(text, "- {name}: {}", escaped(&detail));
        }
    }
    text.push_str(&findings_and_notes(&result.findings, &result.notes));
    text
}
