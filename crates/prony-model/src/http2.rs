//! HTTP/2: what its servers did beyond answering.

use serde::{Deserialize, Serialize};

use crate::RunResult;

/// What is known of the connections of a run that speaks HTTP/2.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Http2Use {
    /// Requests that the server takes at once on a connection (SETTINGS_MAX_CONCURRENT_STREAMS), the least that it announced
    /// during the run; null where it sets no limit.
    pub stream_limit: Option<u32>,
    /// Requests of the measured part that the server refused unprocessed (GOAWAY, REFUSED_STREAM) and that were sent
    /// again, once for each time. They are timed from when they were due, and counted in no other figure as sent.
    pub refused: u64,
    /// Connections on which the server announced that it takes no more requests (GOAWAY), over the whole run.
    pub went_away: u64,
}

impl RunResult {
    /// Requests in flight on one connection at most: as many as the plan says, or as the server allows.
    pub fn in_flight_per_connection(&self) -> u32 {
        let limit = self.http2.and_then(|http2| http2.stream_limit).unwrap_or(u32::MAX);
        self.plan.request.pipeline.min(limit.max(1))
    }
}
