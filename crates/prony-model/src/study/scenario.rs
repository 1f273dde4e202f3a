//! Steps and flows of the scenario that a cell's load is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{StudyFigure, Timeline};
use crate::{SessionCounts, StudyMetric};

/// What the valid runs of a cell say together about sessions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StudyScenario {
    /// Sessions of all of them.
    pub sessions: SessionCounts,
    /// Each flow, in the order of the file.
    pub flows: Vec<StudyFlow>,
    /// Each step, in the order of the file.
    pub steps: Vec<StudyStep>,
}

/// One flow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StudyFlow {
    /// Its name.
    pub name: String,
    /// Its sessions, of all runs.
    pub sessions: SessionCounts,
    /// Completed sessions as a share of those that ended.
    pub success: Option<StudyFigure>,
    /// From the arrival of a session to the end of its last step: the metrics [`StudyScenario::TIMES`]; of completed ones.
    pub time: Vec<StudyFigure>,
    /// The same without the think times.
    pub time_without_think: Vec<StudyFigure>,
}

/// One step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StudyStep {
    /// The name of its flow.
    pub flow: String,
    /// Its name.
    pub name: String,
    /// Method and path as the scenario has them.
    pub request: String,
    /// Steps that ended, of all runs.
    pub ended: u64,
    /// Good ones among them.
    pub done: u64,
    /// The others by cause.
    pub failed: BTreeMap<String, u64>,
    /// Good ones as a share of those that ended.
    pub success: Option<StudyFigure>,
    /// From when it was due to its end: the metrics [`StudyScenario::TIMES`]; of good ones.
    pub response: Vec<StudyFigure>,
    /// The same from when its last request was sent.
    pub service: Vec<StudyFigure>,
    /// The timeline of some of the runs.
    pub timelines: Vec<Timeline>,
}

impl StudyScenario {
    /// What is known of a time: its quantiles and its greatest.
    pub const TIMES: [StudyMetric; 4] =
        [StudyMetric::P50, StudyMetric::P90, StudyMetric::P99, StudyMetric::Max];
}
