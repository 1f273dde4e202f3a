//! What a stage of a run found out.

use serde::{Deserialize, Serialize};

use crate::{HistogramData, LatencySummary, Requests};

/// One stage of a run: the requests that were due in it, whenever they ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StageResult {
    /// Its name, or its number from 1.
    pub name: String,
    /// Its beginning, seconds into the measured part.
    pub from_s: f64,
    /// How much of it was measured, seconds; less than it was to be where the run ended early.
    pub measured_s: f64,
    /// Requests per second that were asked for, on average over that time; null in a scenario.
    pub asked_per_s: Option<f64>,
    /// Its requests that got a good answer, per second of that time.
    pub done_per_s: f64,
    /// Where its requests went: `intended = done + failed + censored + never_sent`.
    pub requests: Requests,
    /// Its good responses, from the moment each was due.
    pub response: LatencySummary,
    /// The same from the moment each was sent.
    pub service: LatencySummary,
    /// The distribution of `response`.
    pub response_histogram: HistogramData,
    /// The distribution of `service`.
    pub service_histogram: HistogramData,
    /// How long its requests without an answer had waited.
    pub censored_histogram: HistogramData,
}
