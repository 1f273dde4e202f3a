//! From an agent to the controller.

use serde::{Deserialize, Serialize};

/// Bytes of a result in one part; base64 makes 341 KiB of them, which one message holds.
pub const PART_BYTES: usize = 256 << 10;
/// Bytes of one result at most. An hour with a histogram for each second has about 8 MiB.
pub const RESULT_BYTES_MAX: u64 = 64 << 20;

/// What an agent reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "body", rename_all = "snake_case")]
pub enum Report {
    /// The agent is there.
    Heartbeat(Heartbeat),
    /// A clock ping.
    Ping {
        /// From 0 in each comparison.
        ping: u32,
    },
    /// The answer to a command.
    Reply {
        /// The command's id.
        to: String,
        /// The answer.
        answer: Answer,
    },
    /// How far the load is.
    Live(Live),
    /// A part of a result.
    Part(Part),
}

/// Once a second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heartbeat {
    /// Random, new at each start of the process.
    pub instance: String,
    /// Prony's version and commit.
    pub version: String,
    /// What it does now.
    pub work: Work,
    /// Cores that it may use.
    pub cores: u32,
    /// Results that the controller has not committed.
    pub spooled: u32,
    /// Commands that were refused since its start.
    pub refused: Refusals,
}

/// What an agent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Nothing: it can take a load.
    Idle,
    /// It has a load, which may not have begun.
    Busy,
    /// It ends what it has and takes no more.
    Draining,
}

/// Commands that were refused without an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusals {
    /// Not signed by the controller.
    pub forged: u64,
    /// Of an earlier epoch.
    pub stale: u64,
    /// With a counter that was used before.
    pub replayed: u64,
    /// Too long, or not readable.
    pub unreadable: u64,
}

/// The answer to a command. The same command gets the same answer, however often it arrives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// To an offer.
    Accepted,
    /// To `Arm`: the controller's clock is the agent's plus the offset, give or take the bound.
    Ready {
        /// Nanoseconds.
        offset_ns: i64,
        /// Nanoseconds.
        bound_ns: u64,
        /// The longest round trip of those measured, nanoseconds.
        rtt_ns: u64,
    },
    /// To `Start`: the load will begin then.
    Scheduled,
    /// To `Stop`.
    Stopping {
        /// Whether a load had begun, whose result will follow.
        result: bool,
    },
    /// To any of them.
    Refused {
        /// Why, and what to try.
        why: String,
    },
}

/// How far a load is; exact counts, a recent rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Live {
    /// `warmup`, `measure` or `drain`.
    pub phase: String,
    /// Since the phase began, milliseconds.
    pub elapsed_ms: u64,
    /// Good responses.
    pub done: u64,
    /// Failures.
    pub failed: u64,
    /// Good responses per second, of late.
    pub rate_per_s: f64,
}

/// What a result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultKind {
    /// A result of a run, as JSON.
    Finished,
    /// Why there is none, as text.
    Failed,
}

/// A part of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The result's id, unique among those of the agent.
    pub result: String,
    /// What it is.
    pub is: ResultKind,
    /// This part, from 0; each but the last has [`PART_BYTES`].
    pub index: u32,
    /// Bytes of the whole result.
    pub bytes: u64,
    /// SHA-256 of the whole result, hexadecimal.
    pub sha256: String,
    /// SHA-256 of this part, hexadecimal.
    pub part_sha256: String,
    /// The bytes of this part, base64.
    pub data: String,
}

impl Part {
    /// Parts of a result of so many bytes.
    pub fn count(bytes: u64) -> u64 {
        bytes.div_ceil(PART_BYTES as u64).max(1)
    }
}
