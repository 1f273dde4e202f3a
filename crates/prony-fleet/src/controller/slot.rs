//! What a controller knows of one agent of its run.

use super::assembly::Assembly;
use crate::clock::Offset;
use crate::protocol::{AgentName, Command, ResultKind, Task, WirePlan};

/// An agent of the run.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, in any combination")]
pub(super) struct Slot {
    pub(super) name: AgentName,
    /// The process that was there when the run began.
    pub(super) instance: String,
    pub(super) plan: WirePlan,
    /// Whether it measures the server, and puts no load on it.
    pub(super) observes: bool,
    pub(super) state: SliceState,
    pub(super) heard_ns: u64,
    pub(super) suspect: bool,
    pub(super) pending: Option<Pending>,
    pub(super) offset: Option<Offset>,
    pub(super) assembly: Assembly,
    /// What arrived, until it is stored.
    pub(super) arrived: Option<(ResultKind, Vec<u8>)>,
    /// What is stored.
    pub(super) result: Option<ResultKind>,
    /// The id of the result that arrived.
    pub(super) assembly_id: Option<String>,
    /// The id of the result that is stored.
    pub(super) committed: Option<String>,
    /// Whether the agent was heard to have deleted its copy.
    pub(super) settled: bool,
    /// Whether it was asked to end, where it measures the server and no load is left.
    pub(super) asked_to_end: bool,
    pub(super) failure: Option<String>,
}

/// How far an agent's part of the load is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SliceState {
    /// It was asked to take it.
    Offered,
    /// It took it.
    Accepted,
    /// Its clock is known.
    Ready,
    /// It will start, or has.
    Running,
    /// Its result is stored.
    Committed,
    /// It takes no part.
    Refused,
    /// It was ended before its load began.
    Aborted,
    /// It was not heard any more, or restarted.
    Lost,
}

impl SliceState {
    /// Whether no result will come that anybody waits for.
    pub(super) fn is_over(self) -> bool {
        matches!(self, Self::Committed | Self::Refused | Self::Aborted | Self::Lost)
    }
}

/// A command that waits for its answer.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) id: String,
    pub(super) command: Command,
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
}

impl Slot {
    pub(super) fn new(name: AgentName, instance: String, plan: WirePlan, now_ns: u64) -> Self {
        Self {
            name,
            instance,
            observes: plan.task() == Task::Observe,
            plan,
            state: SliceState::Offered,
            heard_ns: now_ns,
            suspect: false,
            pending: None,
            offset: None,
            assembly: Assembly::default(),
            arrived: None,
            result: None,
            assembly_id: None,
            committed: None,
            settled: false,
            asked_to_end: false,
            failure: None,
        }
    }
}
