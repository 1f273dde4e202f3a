//! Every reason to doubt, once, with the places where it was seen; and the runs that could not be made.

use prony_model::{FindingPlace, StudyResult};

use super::format::{lines, link, severity};
use super::table::{Content, Word};

/// Places that stand in the open; more are folded.
const OPEN_PLACES: usize = 4;

/// A run that could not be made.
pub(super) struct Failure<'a> {
    pub(super) place: Content,
    pub(super) repeat: u32,
    pub(super) why: &'a str,
    /// The last lines of the target.
    pub(super) log: Vec<String>,
}

/// A reason to doubt.
pub(super) struct Finding<'a> {
    pub(super) word: Word,
    pub(super) code: &'static str,
    pub(super) message: &'a str,
    pub(super) advice: &'a str,
    /// The cells where it was seen, each with its runs.
    pub(super) places: Vec<(Content, String)>,
}

impl Finding<'_> {
    pub(super) fn is_folded(&self) -> bool {
        self.places.len() > OPEN_PLACES
    }
}

/// The runs that could not be made.
pub(super) fn failures(result: &StudyResult) -> Vec<Failure<'_>> {
    let failures = result.failures.iter().map(|failure| Failure {
        place: link(result, failure.cell),
        repeat: failure.repeat,
        why: &failure.why,
        log: lines(&failure.log_tail),
    });
    failures.collect()
}

/// The reasons to doubt.
pub(super) fn findings(result: &StudyResult) -> Vec<Finding<'_>> {
    let findings = result.findings.iter().map(|found| Finding {
        word: severity(found.finding.severity),
        code: found.finding.code.name(),
        message: &found.finding.message,
        advice: &found.finding.advice,
        places: found.places.iter().map(|place| (link(result, place.cell), runs(place))).collect(),
    });
    findings.collect()
}

/// The runs of one place, behind its name.
fn runs(place: &FindingPlace) -> String {
    let repeats: Vec<String> = place.repeats.iter().map(ToString::to_string).collect();
    match repeats.len() {
        0 => String::new(),
        1 => format!(" (run {})", repeats[0]),
        _ => format!(" (runs {})", repeats.join(", ")),
    }
}
