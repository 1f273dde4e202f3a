//! HTTP/2: what its servers did beyond answering.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is known of the connections of a run that speaks HTTP/2.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Http2Use {
    /// Requests that the server takes at once on a connection (SETTINGS_MAX_CONCURRENT_STREAMS), the least that it said
    /// during the run; null where it sets no limit.
    pub stream_limit: Option<u32>,
    /// Requests of the measured part that the server refused unprocessed (GOAWAY, REFUSED_STREAM) and that were sent
    /// again, once for each time. They are timed from when they were due, and counted in no other figure as sent.
    pub refused: u64,
    /// Connections on which the server announced that it takes no more requests (GOAWAY), over the whole run.
    pub went_away: u64,
}
