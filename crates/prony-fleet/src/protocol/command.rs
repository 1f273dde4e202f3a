//! From the controller to an agent. Each is signed.

use serde::{Deserialize, Serialize};

use super::WirePlan;

/// What an agent is to do, or to know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "body", rename_all = "snake_case")]
pub enum Command {
    /// Whether the agent would run this load. Answered.
    Offer(Box<Offer>),
    /// Compare clocks. Answered.
    Arm,
    /// Begin the load at this moment of the controller's monotonic clock. Answered.
    Start {
        /// The moment, nanoseconds.
        at_ns: u64,
    },
    /// End the load, and keep what was measured. Answered.
    Stop {
        /// Why, for people.
        reason: String,
    },
    /// The controller is still there; once a second.
    Beat,
    /// Answers a clock ping.
    Pong {
        /// Which.
        ping: u32,
        /// The controller's monotonic clock, nanoseconds.
        at_ns: u64,
    },
    /// Parts of a result have arrived.
    Received {
        /// The result's id.
        result: String,
        /// All parts before this one.
        next: u32,
    },
    /// A result is stored where it will be found again: the agent may delete its copy.
    Committed {
        /// The result's id.
        result: String,
    },
}

impl Command {
    /// Whether the agent answers, and does so only once for each id.
    pub fn is_answered(&self) -> bool {
        matches!(self, Self::Offer(_) | Self::Arm | Self::Start { .. } | Self::Stop { .. })
    }
}

/// A load for one agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    /// The process that is meant ([`super::Heartbeat`]): another one of the same name stays out.
    pub instance: String,
    /// The agent's part of the load.
    pub plan: WirePlan,
    /// The load ends this long after its start, whatever happens, in milliseconds.
    pub deadline_ms: u64,
    /// It ends this long after the controller was last heard, in milliseconds.
    pub max_unattended_ms: u64,
}
