//! Whatever makes a number doubtful, as data: every renderer shows it, docs/findings.md explains it.

use serde::{Deserialize, Serialize};

/// One reason to doubt, or to read with care, the numbers of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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

impl Finding {
    /// A finding whose `evidence` is of (name, value, unit).
    pub fn new(
        code: FindingCode,
        severity: Severity,
        evidence: &[(&str, f64, &str)],
        message: String,
        advice: impl Into<String>,
    ) -> Self {
        let evidence = evidence.iter().map(|(name, value, unit)| Evidence::new(name, *value, unit)).collect();
        Self { code, severity, evidence, message, advice: advice.into() }
    }
}

/// One number behind a finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// The client's own delays make up much of the slowest responses.
    TailBlame,
    /// Answers lay in the kernel before the client looked.
    ReceiveDelay,
    /// Requests lay in the client's send buffer.
    SendBuffer,
    /// TCP segments were sent again.
    Retransmissions,
    /// The server's queue of new connections was full.
    ListenQueue,
    /// Connecting took the time of a repeated SYN.
    SynRetransmission,
    /// Responses took the time of a delayed acknowledgement.
    DelayedAck,
    /// The hypervisor gave this machine's CPUs to others.
    Steal,
    /// Figures come from the clean parts of the run.
    CleanParts,
    /// Tasks on this machine waited for a CPU.
    Contention,
    /// The control group's CPU quota ran out.
    Throttled,
    /// The CPU's frequency changed.
    Frequency,
    /// The network stack dropped packets.
    SoftnetDrops,
    /// The clock is a slow or an unstable one.
    ClockSource,
    /// The rate is near the most that this client can do.
    NearClientLimit,
    /// The median is near the least that this client can see.
    NearClientFloor,
    /// The beginning of the measured part was still warm-up.
    WarmUp,
    /// Some moments of the run were unlike the others.
    OutlierSlices,
    /// Every request opened a connection of its own.
    ConnectionPerRequest,
    /// The server's certificate was not verified.
    NotVerified,
    /// TLS handshakes take most of the response time.
    HandshakesDominate,
    /// Connections were reopened without resuming a TLS session.
    NoResumption,
    /// The server signed many handshakes with an RSA key.
    RsaKeyCost,
    /// The server takes fewer requests at once on a connection than were to be in flight (HTTP/2).
    StreamLimit,
    /// Good responses differ in length.
    MixedLengths,
    /// The clock of the report is too coarse for the number.
    Resolution,
    /// Runs that were meant to be at the same time were not.
    Overlap,
    /// One run each is no comparison.
    SingleRun,
    /// More connections bring no more responses.
    SerialServer,
    /// What is compared differs in several things at once.
    TwoFactors,
    /// Most of a command's time is its start.
    StartUpShare,
    /// The first run was slower than the others.
    SlowFirstRun,
    /// Some runs took much longer than the others.
    OutlierRuns,
    /// The command is too short to be timed well.
    ShortCommand,
    /// Some runs of the command failed.
    FailedRuns,
    /// A comparison's interval had no width.
    ZeroWidthInterval,
    /// Two figures of one comparison say opposite things.
    ContradictingFigures,
    /// The mean of all pairs differs from the usual pair.
    UnevenPairs,
    /// Blocks of a comparison held few requests or few rounds.
    FewRounds,
    /// The server's memory grew all along.
    MemoryGrowth,
    /// No response was the stream of events that was expected.
    NoEvents,
    /// Retries made up a large part of the load.
    RetryStorm,
    /// Order and gaps of replayed requests within a second are made up.
    ReplayOrder,
    /// An agent has no result.
    AgentLost,
    /// An agent's own result is invalid.
    AgentInvalid,
    /// Agents that shared a load measured different times.
    AgentsDisagree,
    /// Agents did not start at one moment.
    StartSpread,
    /// The agent on the server's host has no result.
    ServerAgentLost,
    /// Too few trials decided on a capacity.
    CapacityUndecided,
    /// No long trial confirmed a capacity.
    CapacityUnconfirmed,
    /// The server did not come back after a load that it did not carry.
    NotRecovered,
    /// Trials of a search say nothing about the server.
    VoidTrials,
    /// Metrics did not arrive where they were to go.
    MetricsNotPushed,
}

impl FindingCode {
    /// Every code, in order.
    pub const ALL: [Self; 72] = [
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
        Self::TailBlame,
        Self::ReceiveDelay,
        Self::SendBuffer,
        Self::Retransmissions,
        Self::ListenQueue,
        Self::SynRetransmission,
        Self::DelayedAck,
        Self::Steal,
        Self::CleanParts,
        Self::Contention,
        Self::Throttled,
        Self::Frequency,
        Self::SoftnetDrops,
        Self::ClockSource,
        Self::NearClientLimit,
        Self::NearClientFloor,
        Self::WarmUp,
        Self::OutlierSlices,
        Self::ConnectionPerRequest,
        Self::NotVerified,
        Self::HandshakesDominate,
        Self::NoResumption,
        Self::RsaKeyCost,
        Self::StreamLimit,
        Self::MixedLengths,
        Self::Resolution,
        Self::Overlap,
        Self::SingleRun,
        Self::SerialServer,
        Self::TwoFactors,
        Self::StartUpShare,
        Self::SlowFirstRun,
        Self::OutlierRuns,
        Self::ShortCommand,
        Self::FailedRuns,
        Self::ZeroWidthInterval,
        Self::ContradictingFigures,
        Self::UnevenPairs,
        Self::FewRounds,
        Self::MemoryGrowth,
        Self::NoEvents,
        Self::RetryStorm,
        Self::ReplayOrder,
        Self::AgentLost,
        Self::AgentInvalid,
        Self::AgentsDisagree,
        Self::StartSpread,
        Self::ServerAgentLost,
        Self::CapacityUndecided,
        Self::CapacityUnconfirmed,
        Self::NotRecovered,
        Self::VoidTrials,
        Self::MetricsNotPushed,
    ];

    /// Whether the machine or the client caused it, so that the same run may go well at another moment. What the server
    /// does, and what the plan asks for, stays.
    pub fn is_passing(self) -> bool {
        matches!(
            self,
            Self::RunQueueWait
                | Self::SendLag
                | Self::LoopGap
                | Self::TailBlame
                | Self::ReceiveDelay
                | Self::Steal
                | Self::Contention
                | Self::Throttled
                | Self::Frequency
                | Self::SoftnetDrops
                | Self::ClockSource
        )
    }

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
            Self::TailBlame => "tail-blame",
            Self::ReceiveDelay => "receive-delay",
            Self::SendBuffer => "send-buffer",
            Self::Retransmissions => "retransmissions",
            Self::ListenQueue => "listen-queue",
            Self::SynRetransmission => "syn-retransmission",
            Self::DelayedAck => "delayed-ack",
            Self::Steal => "steal",
            Self::CleanParts => "clean-parts",
            Self::Contention => "contention",
            Self::Throttled => "throttled",
            Self::Frequency => "frequency",
            Self::SoftnetDrops => "softnet-drops",
            Self::ClockSource => "clock-source",
            Self::NearClientLimit => "near-client-limit",
            Self::NearClientFloor => "near-client-floor",
            Self::WarmUp => "warm-up",
            Self::OutlierSlices => "outlier-slices",
            Self::ConnectionPerRequest => "connection-per-request",
            Self::NotVerified => "not-verified",
            Self::HandshakesDominate => "handshakes-dominate",
            Self::NoResumption => "no-resumption",
            Self::RsaKeyCost => "rsa-key-cost",
            Self::StreamLimit => "stream-limit",
            Self::MixedLengths => "mixed-lengths",
            Self::Resolution => "resolution",
            Self::Overlap => "overlap",
            Self::SingleRun => "single-run",
            Self::SerialServer => "serial-server",
            Self::TwoFactors => "two-factors",
            Self::StartUpShare => "start-up-share",
            Self::SlowFirstRun => "slow-first-run",
            Self::OutlierRuns => "outlier-runs",
            Self::ShortCommand => "short-command",
            Self::FailedRuns => "failed-runs",
            Self::ZeroWidthInterval => "zero-width-interval",
            Self::ContradictingFigures => "contradicting-figures",
            Self::UnevenPairs => "uneven-pairs",
            Self::FewRounds => "few-rounds",
            Self::MemoryGrowth => "memory-growth",
            Self::NoEvents => "no-events",
            Self::RetryStorm => "retry-storm",
            Self::ReplayOrder => "replay-order",
            Self::AgentLost => "agent-lost",
            Self::AgentInvalid => "agent-invalid",
            Self::AgentsDisagree => "agents-disagree",
            Self::StartSpread => "start-spread",
            Self::ServerAgentLost => "server-agent-lost",
            Self::CapacityUndecided => "capacity-undecided",
            Self::CapacityUnconfirmed => "capacity-unconfirmed",
            Self::NotRecovered => "not-recovered",
            Self::VoidTrials => "void-trials",
            Self::MetricsNotPushed => "metrics-not-pushed",
        }
    }
}

/// Whether the numbers can be defended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing speaks against them.
    Valid,
    /// Some number is doubtful; the findings say which.
    Doubtful,
    /// They say something about the client, or nothing at all.
    Invalid,
}

/// Whether all that makes a run with these findings invalid is the machine's or the client's doing.
pub fn is_disturbed(findings: &[Finding]) -> bool {
    let mut invalid = findings.iter().filter(|finding| finding.severity == Severity::Invalid).peekable();
    invalid.peek().is_some()
        && invalid.all(|finding| finding.code.is_passing() || finding.code == FindingCode::ClientCpu)
}

impl Verdict {
    /// Every verdict, the best first.
    pub const ALL: [Self; 3] = [Self::Valid, Self::Doubtful, Self::Invalid];

    /// The stable name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Doubtful => "doubtful",
            Self::Invalid => "invalid",
        }
    }

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
        for verdict in Verdict::ALL {
            assert_eq!(serde_json::to_value(verdict).expect("a verdict is a string"), verdict.name());
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
