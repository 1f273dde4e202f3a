//! What the course of a run says about the server.

use prony_model::{ErrorKind, LoadPhase, OverloadMethod, OverloadOutcome, OverloadPart, OverloadPhase};

use super::course::Course;

/// From a recovery on, the share of good requests is never below this part of what it was before the pulse: neither at once nor
/// summed up to any later moment.
pub(super) const RECOVERED_SHARE: f64 = 0.95;
/// Share of good requests below which the load before the pulse is not carried.
const BASE_SHARE: f64 = 0.95;
/// A recovery in the last parts is none: it has not lasted yet.
const PARTS_TO_LAST: usize = 5;
/// Longer than so many pulses is for good.
pub(super) const METASTABLE_PULSES: f64 = 10.0;
/// Rounding of sums of lengths.
const SLACK_S: f64 = 1e-6;

/// What became of the server.
pub(super) fn outcome(method: &OverloadMethod, course: &Course) -> OverloadOutcome {
    let phase = |which| course.phases.iter().find(|phase| phase.phase == which);
    let unknown = |reason: &str| OverloadOutcome::Unknown { reason: reason.to_owned() };
    let Some(before) = phase(LoadPhase::Before).and_then(OverloadPhase::good_share) else {
        return unknown("no request was due before the pulse");
    };
    let (Some(during), Some(after)) = (phase(LoadPhase::During), phase(LoadPhase::After)) else {
        return unknown("the run was stopped before the pulse was over");
    };
    if before < BASE_SHARE {
        return OverloadOutcome::BaseNotCarried { good_share: before };
    }
    let required = method.recovered_share * before;
    let parts: Vec<&OverloadPart> =
        course.parts.iter().filter(|part| part.from_s >= after.from_s - SLACK_S).collect();
    let first = first_good(&parts, required).filter(|first| first + PARTS_TO_LAST <= parts.len());
    let watched_s = after.length_s;
    match first {
        Some(0) if during.good_share().is_some_and(|share| share >= required) => OverloadOutcome::Carried,
        Some(first) => {
            let length_s = after.length_s / parts.len() as f64;
            OverloadOutcome::Recovered { after_s: parts[first].from_s - after.from_s, within_s: length_s }
        }
        None if is_gone(after) => OverloadOutcome::Died,
        None if watched_s + SLACK_S >= method.metastable_pulses * method.pulse_s => {
            OverloadOutcome::Metastable { watched_s }
        }
        None => OverloadOutcome::NotRecovered { watched_s },
    }
}

/// Whether most connections were refused: nothing listens any more.
fn is_gone(after: &OverloadPhase) -> bool {
    let refused = after.failed_by_kind.get(&ErrorKind::Refused).copied().unwrap_or_default();
    refused * 2 > after.offered
}

/// The first part from which on the required share is good, by each later moment.
fn first_good(parts: &[&OverloadPart], required: f64) -> Option<usize> {
    let mut first = None;
    // The least sum over the parts from here to any later one, of the good beyond what is required.
    let mut least = 0.0_f64;
    for (place, part) in parts.iter().enumerate().rev() {
        least = part.good as f64 - required * part.offered as f64 + least.min(0.0);
        if least >= 0.0 {
            first = Some(place);
        }
    }
    first
}
