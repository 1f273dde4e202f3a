//! What several agents found out as one instrument: the merged figures, and what each agent did. Merged by
//! `prony-summary`, drawn by `prony-report`.

mod format;

use serde::{Deserialize, Serialize};

use crate::{Environment, MachineUse, RunResult, ServerObservation, Verdict};

pub use self::format::{FLEET_FORMAT, FLEET_VERSION, fleet_from_json, fleet_to_json};

/// One load that several agents shared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FleetResult {
    /// Always `prony.fleet`.
    pub format: String,
    /// Version of this format.
    pub version: u32,
    /// Whether the merged numbers can be defended: the verdict of `merged`.
    pub verdict: Verdict,
    /// Every agent that the load was split over, in the order of its shares.
    pub agents: Vec<FleetAgent>,
    /// How far apart the agents' threads were ready, on the common clock; absent where fewer than two have a result.
    pub start_spread: Option<StartSpread>,
    /// The time in which all agents measured, as a share of the time in which any did (0..1); absent where fewer than
    /// two have a result.
    pub overlap_share: Option<f64>,
    /// The agent on the server's host; absent where none was asked for. What it found out of the server is in `merged`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_agent: Option<ServerAgent>,
    /// What one machine with the threads of all agents would have found out: the plan of the whole load, sums, merged
    /// distributions, and the findings that concern them. What is known of single machines only is with their agents.
    pub merged: RunResult,
}

/// What one agent did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FleetAgent {
    /// Its name.
    pub name: String,
    /// How its clock stands; absent where that was not found out.
    pub clock: Option<ClockOffset>,
    /// From the planned start until its last thread was ready, on the common clock, nanoseconds; known to the bound of
    /// its clock.
    pub start_late_ns: Option<i64>,
    /// Its measured part, nanoseconds after the planned start on the common clock.
    pub measured_ns: Option<(i64, i64)>,
    /// Its whole result, but for `pieces`; absent where it has none.
    pub result: Option<Box<RunResult>>,
    /// Why it has none.
    pub absence: Option<Absence>,
}

/// The agent that measured the server on its own host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ServerAgent {
    /// Its name.
    pub name: String,
    /// How its clock stands; absent where that was not found out.
    pub clock: Option<ClockOffset>,
    /// The server's host; absent where nothing was measured.
    pub environment: Option<Environment>,
    /// What happened on that host during the measured part.
    pub machine: Option<MachineUse>,
    /// Why nothing was measured.
    pub absence: Option<Absence>,
}

/// How an agent's monotonic clock stands to that of the controller, the common clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClockOffset {
    /// The agent's clock − the common clock, nanoseconds. Clocks of machines that started at other times are days apart.
    pub offset_ns: i64,
    /// The offset is right to within this, nanoseconds: half of the round trip that it follows from.
    pub bound_ns: u64,
}

/// Why an agent has no result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Absence {
    /// What happened, by kind.
    pub kind: AbsenceKind,
    /// In words: a fragment that fits "agent NAME failed: …".
    pub reason: String,
}

/// What happened to an agent without a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AbsenceKind {
    /// It did not take its share.
    Refused,
    /// It was not heard of any more.
    Lost,
    /// Its run could not begin, or not go on.
    Failed,
}

impl AbsenceKind {
    /// The stable name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Lost => "lost",
            Self::Failed => "failed",
        }
    }
}

/// What came of the agent on the server's host, as the controller knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerAgentOutcome {
    /// Its name.
    pub name: String,
    /// How its clock stands.
    pub clock: Option<ClockOffset>,
    /// What it found out, or why nothing.
    pub result: Result<ServerObservation, Absence>,
}

/// How far apart the agents' threads were ready.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StartSpread {
    /// From the first agent to the last, nanoseconds.
    pub spread_ns: u64,
    /// What the clocks of these two may add to it, nanoseconds.
    pub bound_ns: u64,
}

/// What came of an agent, as the controller knows it: the input of a merge.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentOutcome {
    /// Its name.
    pub name: String,
    /// How its clock stands.
    pub clock: Option<ClockOffset>,
    /// Its result, or why it has none.
    pub result: Result<RunResult, Absence>,
}
