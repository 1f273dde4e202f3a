//! Every reason to doubt, once, with the places where it was seen; and the runs that could not be made.

use prony_model::{FindingPlace, Severity, StudyFailure, StudyFinding, StudyResult};

use super::format::{lines, link};
use crate::svg::escaped;

/// Places that stand in the open; more are folded.
const OPEN_PLACES: usize = 4;

/// Failures and findings; nothing where there are none.
pub(super) fn section(result: &StudyResult) -> String {
    let mut html = String::new();
    if !result.failures.is_empty() {
        html.push_str(
            "<section id=\"failures\">\n<h2>Runs that could not be made</h2>\n<ul class=\"plain\">\n",
        );
        html.extend(result.failures.iter().map(|failure| missing(result, failure)));
        html.push_str("</ul>\n</section>\n");
    }
    html.push_str("<section id=\"findings\">\n<h2>Reasons to doubt, and how to read the numbers</h2>\n");
    if result.findings.is_empty() {
        html.push_str("<p>None.</p>\n");
    } else {
        html.push_str("<ul class=\"plain\">\n");
        html.extend(result.findings.iter().map(|finding| doubt(result, finding)));
        html.push_str("</ul>\n");
    }
    html.push_str("</section>\n");
    html
}

fn doubt(result: &StudyResult, doubt: &StudyFinding) -> String {
    let word = match doubt.finding.severity {
        Severity::Invalid => "<span class=\"word bad\">✕ invalid</span>",
        Severity::Warning => "<span class=\"word care\">▲ warning</span>",
        Severity::Note => "<span class=\"word soft\">• note</span>",
    };
    let code = doubt.finding.code.name();
    format!(
        "<li id=\"finding-{code}\">{word} <code>{code}</code> {} — {}{}</li>\n",
        escaped(&doubt.finding.message),
        escaped(&doubt.finding.advice),
        places(result, &doubt.places)
    )
}

fn places(result: &StudyResult, places: &[FindingPlace]) -> String {
    let place = |place: &FindingPlace| {
        let repeats: Vec<String> = place.repeats.iter().map(ToString::to_string).collect();
        let noun = if repeats.len() == 1 { "run" } else { "runs" };
        let runs =
            if repeats.is_empty() { String::new() } else { format!(" ({noun} {})", repeats.join(", ")) };
        format!("{}{runs}", link(result, place.cell).as_str())
    };
    let links: Vec<String> = places.iter().map(place).collect();
    match links.len() {
        0 => String::new(),
        1..=OPEN_PLACES => format!("<br/><span class=\"small soft\">Seen in: {}.</span>", links.join("; ")),
        many => format!(
            "<details class=\"small\"><summary>Seen in {many} cells</summary>{}.</details>",
            links.join("; ")
        ),
    }
}

fn missing(result: &StudyResult, failure: &StudyFailure) -> String {
    let log = if failure.log_tail.trim().is_empty() {
        String::new()
    } else {
        let lines = lines(&failure.log_tail);
        format!("<details><summary>The last lines of the target</summary>\n<pre>{lines}</pre></details>")
    };
    format!(
        "<li><span class=\"word bad\">✕ missing</span> {}, repeat {}: {}{log}</li>\n",
        link(result, failure.cell).as_str(),
        failure.repeat,
        escaped(&failure.why)
    )
}
