//! The stages of a cell's load.

use serde::{Deserialize, Serialize};

use super::StudyFigure;

/// One stage: the requests that were due in it, of all valid runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StudyStage {
    /// Its name, or its number from 1.
    pub name: String,
    /// Its beginning, seconds into the measured part.
    pub from_s: f64,
    /// Requests per second that were asked for, on average; null in a scenario.
    pub asked_per_s: Option<f64>,
    /// Requests that were due.
    pub intended: u64,
    /// Good ones among them.
    pub done: u64,
    /// Good ones per second, by run.
    pub rate: Option<StudyFigure>,
    /// Good ones as a share of those that were due.
    pub success: Option<StudyFigure>,
    /// From when each was due to its end: the metrics [`super::StudyScenario::TIMES`]; of good ones.
    pub response: Vec<StudyFigure>,
    /// The same from when it was sent.
    pub service: Vec<StudyFigure>,
}
