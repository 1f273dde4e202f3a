//! What came of a run.

use super::slot::SliceState;
use crate::clock::Offset;
use crate::protocol::{AgentName, ResultKind};

/// What one agent brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentResult {
    /// Its name.
    pub name: AgentName,
    /// How far it came.
    pub state: SliceState,
    /// Its clock, where it was compared.
    pub offset: Option<Offset>,
    /// Its result, where one arrived.
    pub result: Option<(ResultKind, Vec<u8>)>,
    /// What went wrong, in words.
    pub failure: Option<String>,
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// In the order in which the load was split.
    pub agents: Vec<AgentResult>,
    /// The planned start on the controller's monotonic clock, if it came to that.
    pub start_ns: Option<u64>,
    /// Why the run was given up.
    pub failure: Option<String>,
    /// Whether it was ended by hand.
    pub interrupted: bool,
}
