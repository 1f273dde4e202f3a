//! What a scenario found out, beside the figures of all its requests together.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{HistogramData, LatencySummary};

/// Sessions, flows and steps of the measured part. A session belongs to the part in which it arrived, a step to that in
/// which it was due.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
}

/// What became of sessions: `begun = completed + failed + unfinished`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
        self.begun += other.begun;
        self.completed += other.completed;
        self.failed += other.failed;
        self.unfinished += other.unfinished;
    }
}

/// One flow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// The others by cause: `status`, `check`, `extract` (nothing found), `request` (it could not be made), `redirects`,
    /// `connection` (no complete response).
    pub failed: BTreeMap<String, u64>,
    /// Extractions that found nothing, by name, defaults included.
    pub nothing_found: BTreeMap<String, u64>,
    /// What the first failure was, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_failure: Option<String>,
    /// From when the step was due to the end of its response, redirects included; of the good ones.
    pub response: LatencySummary,
    /// From when its last request was sent to the end of its response; of the good ones.
    pub service: LatencySummary,
    /// The distribution of `response`.
    #[serde(default)]
    pub response_histogram: HistogramData,
    /// The distribution of `service`.
    #[serde(default)]
    pub service_histogram: HistogramData,
}
