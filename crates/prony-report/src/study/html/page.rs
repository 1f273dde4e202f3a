//! The page: its parts in the order of `templates/study.html`, its style, and what the browser may do with it: nothing
//! but draw it.

use askama::Template;
use prony_model::StudyResult;

use super::cells::{self, Measured};
use super::charts;
use super::figure::Figure;
use super::findings::{self, Failure, Finding};
use super::format::{self, lines, paragraphs};
use super::layout::Layout;
use super::table::{Table, Word};
use super::verdict::{self, Comparison, Outcome};
use super::{published, record};

/// The only style of the page.
pub(crate) const STYLE: &str = include_str!("style.css");

/// The style's SHA-256 in base64, by which the policy of the page admits it and no other; a test prints the new one.
pub(crate) const STYLE_HASH: &str = "dgGi0tLrwP1Jp3q4RAC27sZnOA9ohD7SD+CSrGIbA+8=";

/// A whole page.
#[derive(Template)]
#[template(path = "study.html")]
pub(super) struct Page<'a> {
    style: &'static str,
    style_hash: &'static str,
    result: &'a StudyResult,
    verdict: Word,
    sentence: String,
    circumstances: String,
    intro: Vec<String>,
    thresholds: Option<Table>,
    comparisons: Vec<Comparison<'a>>,
    measured: Vec<Measured>,
    texts: Vec<(&'a str, Vec<String>)>,
    published: Option<Figure>,
    figures: Vec<Figure>,
    failures: Vec<Failure<'a>>,
    findings: Vec<Finding<'a>>,
    targets: Option<Table>,
    machine: Option<Table>,
    file: Vec<String>,
}

impl<'a> Page<'a> {
    pub(super) fn new(result: &'a StudyResult) -> Self {
        Self {
            style: STYLE,
            style_hash: STYLE_HASH,
            result,
            verdict: format::verdict(result.verdict),
            sentence: verdict::sentence(result),
            circumstances: verdict::circumstances(result),
            intro: paragraphs(&result.intro),
            thresholds: verdict::thresholds(result),
            comparisons: verdict::comparisons(result),
            measured: cells::measured(result),
            texts: result.texts.iter().map(|text| (text.title.as_str(), paragraphs(&text.body))).collect(),
            published: published::figure(result),
            figures: charts::figures(&Layout::new(result)),
            failures: findings::failures(result),
            findings: findings::findings(result),
            targets: record::targets(result),
            machine: record::machine(result),
            file: lines(&result.file),
        }
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use sha2::{Digest as _, Sha256};

    use super::*;

    #[test]
    fn the_policy_admits_the_style() {
        let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(STYLE));
        assert_eq!(STYLE_HASH, hash, "style.css has changed: write its new hash here");
    }

    /// Relative luminance (WCAG 2.2, "relative luminance").
    fn luminance(colour: &str) -> f64 {
        let channel = |range| {
            let value = f64::from(u8::from_str_radix(&colour[range], 16).expect("hexadecimal")) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1..3) + 0.7152 * channel(3..5) + 0.0722 * channel(5..7)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// The colours of the first `:root` after `from`.
    fn colours(from: &str) -> impl Fn(&str) -> String {
        let start = STYLE.find(from).expect("the part of the style");
        let part = STYLE[start..].split_once(":root{").expect("its colours").1;
        let part = part.split_once('}').expect("their end").0.to_owned();
        move |name| {
            let value = part.split_once(&format!("--{name}:")).expect(name).1;
            value[..7].to_owned()
        }
    }

    #[test]
    fn colours_stand_out_in_light_and_dark() {
        for part in [":root{color-scheme", "prefers-color-scheme:dark"] {
            let colour = colours(part);
            let paper = colour("paper");
            for (names, least) in [
                // Text (WCAG 1.4.3) and what one must see to understand a chart (1.4.11).
                (&["ink", "soft", "accent", "good", "care", "bad"][..], 4.5),
                // Names of lines on the page of a run.
                (&["s0", "s1", "s2", "s3", "s4", "s6"], 4.5),
                (&["s5", "s7"], 3.0),
            ] {
                for name in names {
                    let found = contrast(&colour(name), &paper);
                    assert!(found >= least, "{part} --{name}: {found:.2}");
                }
            }
        }
    }
}
