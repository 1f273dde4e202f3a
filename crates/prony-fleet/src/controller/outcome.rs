//! What came of a run.

use prony_model::{Absence, AbsenceKind, AgentOutcome, ClockOffset};

use super::slot::SliceState;
use crate::clock::Offset;
use crate::protocol::{AgentName, ResultKind};

/// What one agent brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentResult {
    /// Its name.
    pub name: AgentName,
    /// The process that was there when the run began.
    pub instance: String,
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

impl AgentResult {
    /// For the merge; `failure` is that of the run.
    pub fn outcome(&self, failure: Option<&str>) -> AgentOutcome {
        let kind = match self.state {
            SliceState::Refused => AbsenceKind::Refused,
            SliceState::Lost => AbsenceKind::Lost,
            _ => AbsenceKind::Failed,
        };
        let reason = self.failure.as_deref().or(failure).unwrap_or("no result arrived");
        let result = self.result.as_ref().map(|(is, bytes)| (*is, bytes.as_slice()));
        agent_outcome(self.name.as_str(), self.offset, result, Absence { kind, reason: reason.to_owned() })
    }
}

/// What came of the agent `name`, for the merge: its result, or `otherwise`.
pub fn agent_outcome(
    name: &str,
    offset: Option<Offset>,
    result: Option<(ResultKind, &[u8])>,
    otherwise: Absence,
) -> AgentOutcome {
    let clock = offset.map(|offset| ClockOffset {
        // Seen from the other side.
        offset_ns: offset.offset_ns.saturating_neg(),
        bound_ns: offset.bound_ns,
    });
    let unreadable = |error: String| Absence {
        kind: AbsenceKind::Failed,
        reason: format!("its result can't be read: {error}"),
    };
    let result = match result {
        Some((ResultKind::Finished, json)) => std::str::from_utf8(json)
            .map_err(|error| error.to_string())
            .and_then(|json| prony_model::from_json(json).map_err(|error| error.to_string()))
            .map_err(unreadable),
        Some((ResultKind::Failed, _)) | None => Err(otherwise),
    };
    AgentOutcome { name: name.to_owned(), clock, result }
}
