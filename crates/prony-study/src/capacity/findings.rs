//! What speaks against the outcome of a search.

use std::fmt;
use std::time::Duration;

use prony_model::words::{percent, percent_of, plural, whole};
use prony_model::{
    CapacityOutcome, CapacityTrial, Confirmation, Evidence, Finding, FindingCode, Severity, TrialOutcome,
};

use super::search::PRECISION;

/// Share of void trials from which they are a warning: the machine was in the way of many.
const VOID_SHARE: f64 = 0.25;
/// Ratio of the bounds, less one, above which they are wide: twice what the search aims at.
const WIDE: f64 = 2.0 * PRECISION;
/// A longer search is not advised.
const LONGEST_TIME: Duration = Duration::from_hours(4);

/// The load of a trial.
#[derive(Debug, Clone, Copy)]
pub(super) enum TriedAt {
    /// Requests or sessions per second.
    Rate(f64),
    /// Users in a closed loop.
    Users(u32),
}

impl fmt::Display for TriedAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(per_s) => write!(f, "{} /s", whole(*per_s)),
            Self::Users(users) => f.write_str(&plural(u64::from(*users), "user")),
        }
    }
}

impl TriedAt {
    fn evidence(self) -> Evidence {
        match self {
            Self::Rate(per_s) => Evidence::new("rate", per_s, "per_s"),
            Self::Users(users) => Evidence::new("users", f64::from(users), "count"),
        }
    }
}

/// A server that was missing at the end.
#[derive(Debug, Clone)]
pub(super) enum Missing {
    /// It accepts connections, and does not answer as before.
    NotRecovered {
        /// After this load.
        after: TriedAt,
    },
    /// It accepts none.
    Gone {
        /// In this load.
        at: TriedAt,
        /// How that is known.
        why: String,
    },
}

/// The findings, the worst first.
pub(super) fn findings(
    outcome: &CapacityOutcome,
    trials: &[CapacityTrial],
    missing: Option<&Missing>,
    interrupted: bool,
    time: Duration,
) -> Vec<Finding> {
    let longer = format!(
        "give it more time: --time {}m",
        whole(((time * 2).min(LONGEST_TIME).as_secs_f64() / 60.0).ceil())
    );
    let mut findings = Vec::new();
    findings.extend(interrupted.then(|| {
        finding(
            FindingCode::Interrupted,
            Severity::Warning,
            vec![Evidence::new("trials", trials.len() as f64, "count")],
            format!("the search was stopped after {}", plural(trials.len() as u64, "trial")),
            "the bounds are what was known by then; start it again for narrower ones".to_owned(),
        )
    }));
    let is_gone = matches!(missing, Some(Missing::Gone { .. }));
    findings
        .extend(undecided(outcome, if is_gone { "restart the server, and search again" } else { &longer }));
    findings.extend(unconfirmed(outcome, &longer));
    findings.extend(missing.map(not_recovered));
    findings.extend(void_trials(outcome, trials));
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}

fn not_recovered(missing: &Missing) -> Finding {
    let (load, message, advice) = match missing {
        Missing::NotRecovered { after } => (
            after,
            format!("after {after} the server did not answer as before within 30 s, and the search ended"),
            "look at the server's queue, and restart it before the next search",
        ),
        Missing::Gone { at, why } => (
            at,
            format!(
                "at {at} the server went away, and was not back within 30 s ({why}): that trial is void, and the search ended"
            ),
            "find out why it ended: its log, and the system's (out of memory?); restart it before the next search",
        ),
    };
    let evidence = vec![load.evidence()];
    finding(FindingCode::NotRecovered, Severity::Warning, evidence, message, advice.to_owned())
}

fn undecided(outcome: &CapacityOutcome, longer: &str) -> Option<Finding> {
    let (severity, message) = match outcome {
        CapacityOutcome::Unknown { reason } => {
            (Severity::Invalid, format!("no trial says anything about the server: {reason}"))
        }
        CapacityOutcome::Between { is_decided: false, .. }
        | CapacityOutcome::AtLeast { is_decided: false, .. } => (
            Severity::Warning,
            "too few trials decided on a bound: another search may find another one".to_owned(),
        ),
        _ => return None,
    };
    Some(finding(FindingCode::CapacityUndecided, severity, Vec::new(), message, longer.to_owned()))
}

fn unconfirmed(outcome: &CapacityOutcome, longer: &str) -> Option<Finding> {
    let (CapacityOutcome::Between { confirmation: Confirmation::Missing, .. }
    | CapacityOutcome::AtLeast { confirmation: Confirmation::Missing, .. }) = outcome
    else {
        return None;
    };
    let message =
        "no long trial confirmed the lower bound: what grows slowly (queues, memory, logs) was not seen";
    let advice = longer.to_owned();
    Some(finding(FindingCode::CapacityUnconfirmed, Severity::Warning, Vec::new(), message.to_owned(), advice))
}

fn void_trials(outcome: &CapacityOutcome, trials: &[CapacityTrial]) -> Option<Finding> {
    let mut voids = trials.iter().filter(|trial| trial.outcome == TrialOutcome::Void).peekable();
    let first = (*voids.peek()?).clone();
    let (void, all) = (voids.count() as u64, trials.len() as u64);
    let share = void as f64 / all as f64;
    let severity = if share > VOID_SHARE { Severity::Warning } else { Severity::Note };
    Some(finding(
        FindingCode::VoidTrials,
        severity,
        vec![Evidence::new("void", void as f64, "count"), Evidence::new("void_share", share, "share")],
        format!(
            "{} of {} ({}) are void and don't count against the server{}; the first: {}",
            plural(void, "trial"),
            all,
            percent_of(void, all),
            wide(outcome).filter(|_| share > VOID_SHARE).unwrap_or_default(),
            first.reason
        ),
        "run client and server on machines that do nothing else, or on two".to_owned(),
    ))
}

/// What void trials cost: bounds that more trials would have narrowed.
fn wide(outcome: &CapacityOutcome) -> Option<String> {
    let CapacityOutcome::Between { lower_per_s, upper_per_s, .. } = *outcome else { return None };
    let width = upper_per_s / lower_per_s - 1.0;
    (width > WIDE).then(|| format!(", and the bounds are {} apart for want of others", percent(width)))
}

fn finding(
    code: FindingCode,
    severity: Severity,
    evidence: Vec<Evidence>,
    message: String,
    advice: String,
) -> Finding {
    Finding { code, severity, evidence, message, advice }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(void: usize, upper_per_s: f64) -> String {
        let outcome = CapacityOutcome::Between {
            estimate_per_s: 100.0,
            lower_per_s: 100.0,
            upper_per_s,
            carried_per_s: 100.0,
            exceeded_per_s: upper_per_s,
            is_decided: true,
            confirmation: Confirmation::Missing,
        };
        let trial = |outcome| CapacityTrial { outcome, ..trial() };
        let void = std::iter::repeat_n(TrialOutcome::Void, void);
        let trials: Vec<CapacityTrial> =
            std::iter::repeat_n(TrialOutcome::Passed, 6).chain(void).map(trial).collect();
        void_trials(&outcome, &trials).expect("void trials").message
    }

    fn trial() -> CapacityTrial {
        CapacityTrial {
            purpose: prony_model::TrialPurpose::Coarse,
            rate_per_s: 100.0,
            users: None,
            agents: Vec::new(),
            started_at: String::new(),
            planned_s: 10.0,
            measured_s: 10.0,
            outcome: TrialOutcome::Passed,
            reason: String::new(),
            objectives: Vec::new(),
            requests: 0,
            failed: 0,
            failed_by_kind: std::collections::BTreeMap::new(),
            unanswered: 0,
            delivered_per_s: 0.0,
            response: prony_model::TrialTimes::default(),
            service: prony_model::TrialTimes::default(),
            verdict: prony_model::Verdict::Valid,
            invalid: Vec::new(),
            limiter: None,
            client_cpu_share: 0.0,
            recovered_after_s: None,
        }
    }

    #[test]
    fn the_advised_time_is_longer_however_short_the_search_was() {
        let advice = |seconds: u64| {
            let outcome = CapacityOutcome::Unknown { reason: "no trial".to_owned() };
            findings(&outcome, &[], None, false, Duration::from_secs(seconds)).remove(0).advice
        };
        assert!(advice(10).ends_with("--time 1m"), "{}", advice(10));
        assert!(advice(40).ends_with("--time 2m"), "{}", advice(40));
        assert!(advice(600).ends_with("--time 20m"), "{}", advice(600));
    }

    #[test]
    fn void_trials_that_decide_the_width_are_named() {
        assert!(
            message(6, 148.0).contains("the bounds are 48 % apart for want of others"),
            "{}",
            message(6, 148.0)
        );
        assert!(!message(6, 103.0).contains("apart"), "narrow bounds");
        assert!(!message(1, 148.0).contains("apart"), "few are void");
    }
}
