//! What came of a run.

use prony_model::{Absence, AbsenceKind, AgentOutcome, ClockOffset, ServerAgentOutcome};

use super::slot::SliceState;
use crate::clock::Offset;
use crate::protocol::{AgentName, ResultKind, RunName};

/// A result that is whole, to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrived {
    /// Whose it is.
    pub agent: AgentName,
    /// The run that it is of.
    pub run: RunName,
    /// The agent's place among the agents of the run.
    pub slice: u32,
    /// Its id, unique among those of the agent.
    pub id: String,
    /// What it is.
    pub is: ResultKind,
    /// The result.
    pub bytes: Vec<u8>,
}

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
    /// What its result is, where one is stored.
    pub result: Option<ResultKind>,
    /// What went wrong, in words.
    pub failure: Option<String>,
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// In the order in which the load was split.
    pub agents: Vec<AgentResult>,
    /// The one that measured the server.
    pub observer: Option<AgentResult>,
    /// The planned start on the controller's monotonic clock, if it came to that.
    pub start_ns: Option<u64>,
    /// Why the run was given up.
    pub failure: Option<String>,
    /// Whether it was ended by hand.
    pub interrupted: bool,
}

impl AgentResult {
    /// What is said of it where it has no result to merge; `failure` is that of the run.
    pub fn absence(&self, failure: Option<&str>) -> Absence {
        let kind = match self.state {
            SliceState::Refused => AbsenceKind::Refused,
            SliceState::Lost => AbsenceKind::Lost,
            _ => AbsenceKind::Failed,
        };
        let reason = self.failure.as_deref().or(failure).unwrap_or("no result arrived");
        Absence { kind, reason: reason.to_owned() }
    }
}

/// What came of the agent `name` that measured the server: what it found out, or `otherwise`.
pub fn server_outcome(
    name: &str,
    clock: Option<ClockOffset>,
    result: Option<(ResultKind, &[u8])>,
    otherwise: Absence,
) -> ServerAgentOutcome {
    let result = match result {
        Some((ResultKind::Finished, json)) => serde_json::from_slice(json).map_err(unreadable),
        Some((ResultKind::Failed, _)) | None => Err(otherwise),
    };
    ServerAgentOutcome { name: name.to_owned(), clock, result }
}

fn unreadable(error: impl std::fmt::Display) -> Absence {
    Absence { kind: AbsenceKind::Failed, reason: format!("its result can't be read: {error}") }
}

/// What came of the agent `name`, for the merge: its result, or `otherwise`.
pub fn agent_outcome(
    name: &str,
    clock: Option<ClockOffset>,
    result: Option<(ResultKind, &[u8])>,
    otherwise: Absence,
) -> AgentOutcome {
    let result = match result {
        Some((ResultKind::Finished, json)) => std::str::from_utf8(json)
            .map_err(|error| error.to_string())
            .and_then(|json| prony_model::from_json(json).map_err(|error| error.to_string()))
            .map_err(unreadable),
        Some((ResultKind::Failed, _)) | None => Err(otherwise),
    };
    AgentOutcome { name: name.to_owned(), clock, result }
}
