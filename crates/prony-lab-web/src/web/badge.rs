//! The badge of a project: the verdict of its branch's last build, as a small picture for a README.

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

use super::fields::PathParam;
use crate::http::WebError;
use prony_lab_core::lab::Lab;
use prony_lab_model::{Build, BuildState, BuildVerdict};
use prony_lab_store::{builds, projects};

/// What stands on the left.
const LABEL: &str = "performance";
/// Height of a badge, as others beside it have, and the width of a character of their font: pixels.
const HEIGHT: usize = 20;
const CHARACTER: usize = 7;
/// On each side of words.
const MARGIN: usize = 6;
/// How long a page may show it without asking again, seconds.
const FRESH: &str = "max-age=60";

/// Shows it to anyone who has its address.
pub(super) async fn show(
    State(lab): State<Lab>,
    PathParam((name, file)): PathParam<(String, String)>,
) -> Result<Response, WebError> {
    let missing = || WebError::Missing("page here".to_owned());
    if !lab.access.badge.is(&name, &file) {
        return Err(missing());
    }
    let found = lab.store.read_few(move |tx| projects::by_name(tx, &name)).await?.ok_or_else(missing)?;
    let branch = lab.definitions.of(&found).map_or_else(|_| String::new(), |read| read.branch.clone());
    let last = lab.store.read(move |tx| builds::last_of_branch(tx, found.id, &branch)).await?;
    let (words, colour) = state(last.as_ref());
    let headers = [(CONTENT_TYPE, "image/svg+xml"), (CACHE_CONTROL, FRESH)];
    Ok((headers, drawn(words, colour)).into_response())
}

/// In words, with a colour that white words can be read on.
fn state(build: Option<&Build>) -> (&'static str, &'static str) {
    const GOOD: &str = "#2a7d2a";
    const BAD: &str = "#b3261e";
    const CARE: &str = "#8a6100";
    const CALM: &str = "#5f6368";
    let Some(build) = build else { return ("no builds", CALM) };
    if build.state == BuildState::Failed {
        return ("failed", BAD);
    }
    match build.verdict {
        Some(BuildVerdict::Faster) => ("faster", GOOD),
        Some(BuildVerdict::NoDifference) => ("no difference", GOOD),
        Some(BuildVerdict::Slower) => ("slower", BAD),
        Some(BuildVerdict::ThresholdMissed) => ("threshold missed", BAD),
        Some(BuildVerdict::TooNoisy) => ("too noisy", CARE),
        Some(BuildVerdict::Invalid) => ("invalid", CARE),
        Some(BuildVerdict::NoBaseline) => ("measured", CALM),
        None => ("passed", GOOD),
    }
}

/// The picture. Its text is ours alone: nothing in it has to be escaped.
fn drawn(words: &str, colour: &str) -> String {
    let width = |text: &str| text.len() * CHARACTER + 2 * MARGIN;
    let (left, right) = (width(LABEL), width(words));
    let all = left + right;
    let text = |from: usize, of: usize, words: &str| {
        format!(
            "<text x=\"{}\" y=\"14\" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\">{words}</text>",
            from + of / 2,
            of - 2 * MARGIN
        )
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{all}\" height=\"{HEIGHT}\" role=\"img\" \
         aria-label=\"{LABEL}: {words}\"><title>{LABEL}: {words}</title>\
         <rect width=\"{all}\" height=\"{HEIGHT}\" rx=\"3\" fill=\"{colour}\"/>\
         <path d=\"M3 0H{left}V{HEIGHT}H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z\" fill=\"#444\"/>\
         <g fill=\"#fff\" text-anchor=\"middle\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\">{}{}</g></svg>",
        text(0, left, LABEL),
        text(left, right, words)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_badge_is_a_picture_with_words() {
        let picture = drawn("no difference", "#2a7d2a");
        assert!(picture.starts_with("<svg xmlns=") && picture.ends_with("</svg>"), "{picture}");
        assert_eq!(picture.matches("performance: no difference").count(), 2, "{picture}");
        assert!(picture.contains(">no difference</text>"), "{picture}");
        assert_eq!(state(None).0, "no builds");
    }
}
