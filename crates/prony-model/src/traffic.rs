//! What a run sent in all, so that a server's log can be reconciled with it.

use serde::{Deserialize, Serialize};

/// Requests and connections of the whole run. A server that logs every request has `warmup.sent + measured.sent` lines
/// of it, those included that had no complete answer, and retries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Traffic {
    /// Connections that were opened before the load, to find out which addresses answer, and closed without a request.
    pub preflight_connections: u64,
    /// Requests due in the warm-up.
    pub warmup: TrafficPart,
    /// Requests due in the measured part.
    pub measured: TrafficPart,
}

/// Requests that were due in one part of a run, whenever they were sent and answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrafficPart {
    /// Handed to the kernel on an open connection.
    pub sent: u64,
    /// Complete responses of any status.
    pub answered: u64,
    /// Those of them that came after the measured part, in the drain: they are part of no rate.
    pub answered_in_drain: u64,
}

impl Traffic {
    /// Requests of the whole run.
    pub fn sent(&self) -> u64 {
        self.warmup.sent + self.measured.sent
    }
}
