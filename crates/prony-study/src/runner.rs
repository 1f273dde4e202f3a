//! The runner: the only way from a study to the engine.

use prony_model::{
    ExecEvent, ExecPlan, ExecResult, ProbePlan, ProbeResult, RunAgents, RunEvent, RunPlan, RunResult,
};

use crate::agents::Led;

/// Why a run could not be made, in words that end with what to try.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct RunnerError(pub String);

/// Measures by a plan. A result that was ended by hand is marked as such.
pub trait Runner {
    /// Puts a load on a server. `calibration`: whether it is set against what this machine can do.
    fn run(
        &mut self,
        plan: &RunPlan,
        calibration: bool,
        sink: &mut dyn FnMut(RunEvent),
    ) -> Result<RunResult, RunnerError>;

    /// The names of `agents`, for loads that those share who are left. Where one was lost since, all are looked for again.
    fn find_agents(&mut self, agents: &RunAgents) -> Result<Vec<String>, RunnerError>;

    /// Has `agents` put a load on a server together; `plan` is that of the whole load, but for its threads, which are each
    /// agent's.
    fn run_on_agents(
        &mut self,
        plan: &RunPlan,
        agents: &RunAgents,
        sink: &mut dyn FnMut(RunEvent),
    ) -> Result<Led, RunnerError>;

    /// What [`Self::run_on_agents`] returned last is in the folder of the study, or not wanted.
    fn stored(&mut self) {}

    /// Sends single requests.
    fn probe(&mut self, plan: &ProbePlan) -> Result<ProbeResult, RunnerError>;

    /// Times a command.
    fn exec(&mut self, plan: &ExecPlan, sink: &mut dyn FnMut(&ExecEvent)) -> Result<ExecResult, RunnerError>;
}
