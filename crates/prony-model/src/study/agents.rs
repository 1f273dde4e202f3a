//! Agents that shared the load of a cell.

use serde::{Deserialize, Serialize};

use super::StudyCell;

/// What the agents of a cell did, each for itself and all together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StudyAgents {
    /// Each agent's share of the load as a cell of its own, whose name is the agent's: its figures, and its runs with their
    /// verdicts. A run in which it has no result is missing there. Curves and timelines are those of the whole load only.
    pub shares: Vec<StudyCell>,
    /// Agents beyond those.
    pub more: u32,
    /// How far apart agents were ready, milliseconds: the most of all runs; absent where fewer than two had a result.
    pub start_spread_ms: Option<f64>,
    /// The time in which all agents measured, as a share of that in which any did (0..1): the least of all runs.
    pub overlap_share: Option<f64>,
}
