//! Verdict, success and findings without the numbers: what is told beside a report in a foreign format, which
//! has no place for them.

use prony_model::{Finding, RunResult};

use crate::Style;
use crate::page::Page;
use crate::text::{finding, limiter, severity_word, success, throughput, verdict};

/// The lines of one run; `more` are findings that only the format made, `notes` are sentences about it.
pub fn run(result: &RunResult, more: &[Finding], notes: &[String], style: &Style) -> String {
    let mut page = Page::new(style);
    let others = verdict(&mut page, result);
    if result.requests.done < result.requests.intended {
        success(&mut page, result);
        throughput(&mut page, result);
    }
    limiter(&mut page, result);
    for other in others.iter().chain(more) {
        finding(&mut page, severity_word(other.severity), None, other);
    }
    if result.findings.iter().any(|finding| finding.advice.contains("--")) {
        page.labelled(
            "note",
            None,
            "the flags in this advice are those of prony's own command: prony run URL",
        );
    }
    for note in notes {
        page.labelled("note", None, note);
    }
    page.finish()
}
