//! In which order the rules apply.

use super::facts::Facts;
use super::{Limiter, LimiterKind, connections, cpu, queue, rate};
use crate::{Evidence, RunResult};

/// Fewer answers say nothing about a limit.
const ANSWERS_MIN: u64 = 10;
/// Where more requests fail, the limit is whatever makes them fail.
pub(super) const FAILED_SHARE_MAX: f64 = 0.5;

/// What limited the run.
pub(super) fn evaluate(result: &RunResult) -> Limiter {
    of(&Facts::new(result))
}

/// What limited the run of these facts.
pub(super) fn of(facts: &Facts) -> Limiter {
    if let Some(found) = queue::failing(facts) {
        return found;
    }
    if facts.answers < ANSWERS_MIN {
        return unknown(&format!("{} answers are too few", facts.answers), &[]);
    }
    if facts.failed_share > FAILED_SHARE_MAX {
        return unknown(
            "most requests failed: see the failures above",
            &[("failed", facts.failed_share, "share")],
        );
    }
    let rules: [fn(&Facts) -> Option<Limiter>; 7] = [
        rate::chosen,
        rate::network,
        cpu::quota,
        cpu::client,
        cpu::server,
        cpu::full_machine,
        cpu::dependant,
    ];
    let found = rules.iter().find_map(|rule| rule(facts));
    found.unwrap_or_else(|| connections::connections_or_waits(facts))
}

/// A limiter in one expression.
pub(super) fn limiter(kind: LimiterKind, sentence: String, evidence: &[(&str, f64, &str)]) -> Limiter {
    let evidence = evidence.iter().map(|(name, value, unit)| Evidence::new(name, *value, unit)).collect();
    Limiter { kind, sentence, evidence }
}

/// That it is not known, and why.
pub(super) fn unknown(why: &str, evidence: &[(&str, f64, &str)]) -> Limiter {
    limiter(LimiterKind::Unknown, format!("not known: {why}"), evidence)
}
