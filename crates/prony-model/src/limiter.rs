//! What limited a run: what would have to change for twice the rate.
//!
//! `evaluate` is a pure function of a [`RunResult`]. In reading order: `facts` (the numbers that count), `evaluate`
//! (in which order the rules apply), and a file for each group of rules. A rule that is not sure returns nothing;
//! where all return nothing the limiter is unknown, with the reason.

mod connections;
mod cpu;
mod evaluate;
mod facts;
mod queue;
mod rate;
mod users;

use serde::{Deserialize, Serialize};

use crate::{Evidence, RunResult};

use evaluate::evaluate;

/// What limited a run, with its evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Limiter {
    /// Which limit.
    pub kind: LimiterKind,
    /// What would have to change for twice the rate, in one sentence.
    pub sentence: String,
    /// The numbers behind it.
    pub evidence: Vec<Evidence>,
}

/// The limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LimiterKind {
    /// The rate that was asked for: it was reached.
    ChosenRate,
    /// The number of connections: each request takes as long as it does alone.
    Connections,
    /// The number of users of a scenario, their think times and pacing: each request takes as long as it does alone.
    Users,
    /// The server's CPU time: all cores that it may use.
    ServerCpu,
    /// The CPU time of some of the server's threads, while cores are idle.
    ServerThread,
    /// The server waits while its CPU is idle: a lock, a pool, a sleep, a serial handler.
    ServerWaits,
    /// The server waits for a disk.
    ServerDisk,
    /// The CPU of what the server depends on, a database for example.
    Dependant,
    /// The server in some way: what it does inside can't be seen from here.
    Server,
    /// The server's queue of new connections overflows.
    ListenQueue,
    /// The network between client and server.
    Network,
    /// The client.
    Client,
    /// The machine: its hypervisor or other programs take its cores, or client and server share too few.
    Machine,
    /// Not known.
    Unknown,
}

impl LimiterKind {
    /// Every kind.
    pub const ALL: [Self; 14] = [
        Self::ChosenRate,
        Self::Connections,
        Self::Users,
        Self::ServerCpu,
        Self::ServerThread,
        Self::ServerWaits,
        Self::ServerDisk,
        Self::Dependant,
        Self::Server,
        Self::ListenQueue,
        Self::Network,
        Self::Client,
        Self::Machine,
        Self::Unknown,
    ];

    /// The stable name, as in JSON and in docs/limiter.md.
    pub fn name(self) -> &'static str {
        match self {
            Self::ChosenRate => "chosen-rate",
            Self::Connections => "connections",
            Self::Users => "users",
            Self::ServerCpu => "server-cpu",
            Self::ServerThread => "server-thread",
            Self::ServerWaits => "server-waits",
            Self::ServerDisk => "server-disk",
            Self::Dependant => "dependant",
            Self::Server => "server",
            Self::ListenQueue => "listen-queue",
            Self::Network => "network",
            Self::Client => "client",
            Self::Machine => "machine",
            Self::Unknown => "unknown",
        }
    }
}

/// Requests that were sent one at a time, with no other in flight: what the server takes without a queue. They are
/// the first ones of the warm-up of a closed loop. Milliseconds from sent to done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SoloRequests {
    /// How many.
    pub count: u64,
    /// The least.
    pub min_ms: f64,
    /// The median.
    pub median_ms: f64,
    /// The mean.
    pub mean_ms: f64,
    /// The standard deviation.
    pub stddev_ms: f64,
}

impl RunResult {
    /// Finds out what limited the run, from all that is known by now.
    pub fn find_limiter(&mut self) {
        self.limiter = Some(evaluate(self));
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod names {
    use super::*;

    #[test]
    fn names_are_those_of_json_and_documented() {
        let docs = include_str!("../../../docs/limiter.md");
        for kind in LimiterKind::ALL {
            assert_eq!(serde_json::to_value(kind).expect("a kind is a string"), kind.name());
            assert!(
                docs.contains(&format!("| `{}` |", kind.name())),
                "docs/limiter.md has no {}",
                kind.name()
            );
        }
    }
}
