//! What a scenario found out, beside the figures of all its requests together.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{HistogramData, LatencySummary, SoloRequests};

/// Sessions, flows and steps of the measured part. A session belongs to the part in which it arrived, a step to that in
/// which it was due.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ScenarioResult {
    /// All sessions.
    pub sessions: SessionCounts,
    /// Sessions that began, per second of the measured part.
    pub sessions_per_s: f64,
    /// Each flow, in the order of the plan.
    pub flows: Vec<FlowResult>,
    /// Each step, in the order of the plan.
    pub steps: Vec<StepResult>,
    /// The feed whose last row ended the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by_feed: Option<String>,
    /// What decoding bodies for checks and extractions took; absent where none was coded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decoding: Option<Decoding>,
}

/// Bodies that were decoded (`Content-Encoding`), because a check or an extraction reads them. That is work of the client's,
/// done after the moments of the response were taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Decoding {
    /// How many.
    pub bodies: u64,
    /// Their bytes as they came.
    pub coded_bytes: u64,
    /// Their bytes as they were read.
    pub decoded_bytes: u64,
    /// CPU time of the client's threads for it, seconds.
    pub cpu_s: f64,
}

/// What became of sessions: `begun = completed + failed + unfinished`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SessionCounts {
    /// Their first request was taken up.
    pub begun: u64,
    /// Their last step ended, and none had failed but those that may.
    pub completed: u64,
    /// Ended by a step that failed.
    pub failed: u64,
    /// Cut off by the end of the run.
    pub unfinished: u64,
}

impl SessionCounts {
    /// Adds those of another part.
    pub fn add(&mut self, other: Self) {
        self.begun = self.begun.saturating_add(other.begun);
        self.completed = self.completed.saturating_add(other.completed);
        self.failed = self.failed.saturating_add(other.failed);
        self.unfinished = self.unfinished.saturating_add(other.unfinished);
    }
}

/// One flow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FlowResult {
    /// Its name.
    pub name: String,
    /// Its sessions.
    pub sessions: SessionCounts,
    /// From the arrival of a session to the end of its last step; of completed sessions.
    pub time: LatencySummary,
    /// The same without the think times.
    pub time_without_think: LatencySummary,
    /// The distribution of `time`.
    #[serde(default)]
    pub time_histogram: HistogramData,
    /// The distribution of `time_without_think`.
    #[serde(default)]
    pub time_without_think_histogram: HistogramData,
}

/// One step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StepResult {
    /// The name of its flow.
    pub flow: String,
    /// Its name.
    pub name: String,
    /// Method and path as the scenario has them.
    pub request: String,
    /// Steps that ended.
    pub ended: u64,
    /// Good ones among them.
    pub done: u64,
    /// Attempts at its requests that were not the first ones.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retries: u64,
    /// Good ones that took a retry.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub recovered: u64,
    /// The others by cause: `status`, `check`, `extract` (nothing found), `request` (it could not be made), `redirects`,
    /// `connection` (no complete response).
    pub failed: BTreeMap<String, u64>,
    /// Extractions that found nothing, by name, defaults included.
    pub nothing_found: BTreeMap<String, u64>,
    /// What the first failure was, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_failure: Option<String>,
    /// From when the step was due to the end of its response, redirects and retries included; of the good ones.
    pub response: LatencySummary,
    /// From when its last request was sent for the last time to the end of its response; of the good ones.
    pub service: LatencySummary,
    /// The distribution of `response`.
    #[serde(default)]
    pub response_histogram: HistogramData,
    /// The distribution of `service`.
    #[serde(default)]
    pub service_histogram: HistogramData,
    /// Service times of the good ones whose last request was sent while no other was in flight, in all threads; absent where
    /// there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone: Option<SoloRequests>,
    /// The step along the run, in parts of equal length; their number is bounded, by how many steps there are, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timeline: Vec<StepPoint>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A part of the run, for one step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StepPoint {
    /// Its beginning, from that of the measured part, seconds.
    pub at_s: f64,
    /// Its length, seconds.
    pub covered_s: f64,
    /// Steps that were due in it and have ended, then or later.
    pub ended: u64,
    /// Those of them that failed.
    pub failed: u64,
    /// Median response time of the good ones, milliseconds, to 3 %.
    pub p50_ms: Option<f64>,
    /// 99th percentile, to 3 %; absent for fewer than 1000.
    pub p99_ms: Option<f64>,
    /// The greatest, exact.
    pub max_ms: Option<f64>,
}
