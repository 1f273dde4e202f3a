//! Whatever makes a number doubtful, as data: every renderer shows it, docs/findings.md explains it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One reason to doubt, or to read with care, the numbers of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Which reason: stable, a section of docs/findings.md each.
    pub code: FindingCode,
    /// How bad.
    pub severity: Severity,
    /// The numbers behind it.
    pub evidence: Vec<Evidence>,
    /// What was seen and what it means, in a sentence or two.
    pub message: String,
    /// What to do next, with the flags of this run in mind.
    pub advice: String,
}

/// One number behind a finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// What was measured, in snake case.
    pub name: String,
    /// How much.
    pub value: f64,
    /// The unit: `ms`, `share` (0..1), `count`, `per_s`, …
    pub unit: String,
}

impl Evidence {
    /// `name` = `value` in `unit`.
    pub fn new(name: &str, value: f64, unit: &str) -> Self {
        Self { name: name.to_owned(), value, unit: unit.to_owned() }
    }
}

/// How much a finding takes away from the run's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// How to read the numbers; nothing is wrong with them.
    Note,
    /// Some number is doubtful.
    Warning,
    /// The run does not say what it was made to say.
    Invalid,
}

/// The reasons, in the order in which reports list them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FindingCode {
    /// No response was good.
    NoSuccess,
    /// The client could not keep the asked rate.
    RateNotReached,
    /// A worker thread used nearly all of its core.
    ClientCpu,
    /// Worker threads waited for a core.
    RunQueueWait,
    /// Requests were sent later than they could have been.
    SendLag,
    /// The worker loop was away from its sockets for long.
    LoopGap,
    /// Fewer connections were open than asked.
    ConnectionsNotReached,
    /// Local ports ran out or nearly so.
    Ports,
    /// File descriptors ran out.
    Descriptors,
    /// Too many requests failed.
    ErrorShare,
    /// Requests waited for a free connection.
    Blocked,
    /// Requests without an answer bound the quantiles from below only.
    Censored,
    /// Latencies are close to the length of the run.
    LatencyNearRunLength,
    /// Rate, latency and concurrency don't fit together.
    LittlesLaw,
    /// Too few requests for the quantiles that were asked for.
    FewSamples,
    /// The rate did not settle.
    NotSteady,
    /// The server closed connections that were to be reused.
    NotReused,
    /// The latency follows from the number of connections.
    ClosedLoop,
    /// The run was ended by hand.
    Interrupted,
}

impl FindingCode {
    /// Every code, in order.
    pub const ALL: [Self; 19] = [
        Self::NoSuccess,
        Self::RateNotReached,
        Self::ClientCpu,
        Self::RunQueueWait,
        Self::SendLag,
        Self::LoopGap,
        Self::ConnectionsNotReached,
        Self::Ports,
        Self::Descriptors,
        Self::ErrorShare,
        Self::Blocked,
        Self::Censored,
        Self::LatencyNearRunLength,
        Self::LittlesLaw,
        Self::FewSamples,
        Self::NotSteady,
        Self::NotReused,
        Self::ClosedLoop,
        Self::Interrupted,
    ];

    /// The stable name, as in JSON and as the anchor in docs/findings.md.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoSuccess => "no-success",
            Self::RateNotReached => "rate-not-reached",
            Self::ClientCpu => "client-cpu",
            Self::RunQueueWait => "run-queue-wait",
            Self::SendLag => "send-lag",
            Self::LoopGap => "loop-gap",
            Self::ConnectionsNotReached => "connections-not-reached",
            Self::Ports => "ports",
            Self::Descriptors => "descriptors",
            Self::ErrorShare => "error-share",
            Self::Blocked => "blocked",
            Self::Censored => "censored",
            Self::LatencyNearRunLength => "latency-near-run-length",
            Self::LittlesLaw => "littles-law",
            Self::FewSamples => "few-samples",
            Self::NotSteady => "not-steady",
            Self::NotReused => "not-reused",
            Self::ClosedLoop => "closed-loop",
            Self::Interrupted => "interrupted",
        }
    }
}

/// Whether the numbers can be defended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing speaks against them.
    Valid,
    /// Some number is doubtful; the findings say which.
    Doubtful,
    /// They say something about the client, or nothing at all.
    Invalid,
}

impl Verdict {
    /// The verdict that follows from the worst finding.
    pub fn from_findings(findings: &[Finding]) -> Self {
        match findings.iter().map(|finding| finding.severity).max() {
            None | Some(Severity::Note) => Self::Valid,
            Some(Severity::Warning) => Self::Doubtful,
            Some(Severity::Invalid) => Self::Invalid,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_json() {
        for code in FindingCode::ALL {
            assert_eq!(serde_json::to_value(code).expect("a code is a string"), code.name());
        }
    }

    #[test]
    fn every_code_is_documented() {
        let docs = include_str!("../../../docs/findings.md");
        for code in FindingCode::ALL {
            let heading = format!("\n## {}\n", code.name());
            assert!(docs.contains(&heading), "docs/findings.md has no section `{}`", code.name());
        }
    }
}
