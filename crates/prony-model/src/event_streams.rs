//! Responses that are streams of events: when events came, not only when the response was over.

use serde::{Deserialize, Serialize};

use crate::{HistogramData, LatencySummary};

/// The events of the measured part's responses, where the plan asks for them ([`crate::RunPlan::events`]).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EventStreams {
    /// Good responses with events.
    pub streams: u64,
    /// Good responses without one: of another content type, or empty.
    pub without_events: u64,
    /// Events of all responses, also of those that failed later or were cut off by the end of the run.
    pub events: u64,
    /// The same per second of the measured part.
    pub events_per_s: f64,
    /// Events that came together with the one before, in one read: between those the client sees no time.
    pub together: u64,
    /// Least number of events of a good response with events.
    pub events_min: u64,
    /// Median number.
    pub events_p50: u64,
    /// Greatest number.
    pub events_max: u64,
    /// From when the request was due to its first event.
    pub first_response: LatencySummary,
    /// From when the request was sent to its first event.
    pub first_service: LatencySummary,
    /// From one event to the next of the same response; 0 for those that came together.
    pub between: LatencySummary,
    /// The distribution of `first_response`.
    #[serde(default)]
    pub first_response_histogram: HistogramData,
    /// The distribution of `first_service`.
    #[serde(default)]
    pub first_service_histogram: HistogramData,
    /// The distribution of `between`.
    #[serde(default)]
    pub between_histogram: HistogramData,
}
