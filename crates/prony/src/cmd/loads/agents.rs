//! Loads by agents, one after the other: one connection to the broker, and those agents that are left.

use prony_model::{RunAgents, RunPlan};
use prony_study::{Cause, Loaded, NotLoaded, SharedLoads};

use super::LoadFailure;
use crate::args::LeadArgs;
use crate::cli_error::CliError;
use crate::fleet::{Leader, shares};
use crate::signals;

/// Agents that put loads on a server.
pub(super) struct Agents {
    leader: Leader,
    loads: SharedLoads,
}

impl Agents {
    /// Finds `agents`, which must be able to share `plan`.
    pub(super) fn find(args: &LeadArgs, agents: RunAgents, plan: &RunPlan) -> Result<Self, CliError> {
        // What can't be split is refused before agents are searched for.
        shares(plan, &agents.load)?;
        let mut leader = Leader::connect(args, "prony")?;
        leader.find(&[&agents])?;
        signals::on_interrupt(leader.stopper())?;
        let loads = SharedLoads::new(leader.names(&agents), agents.server);
        Ok(Self { leader, loads })
    }

    /// The names of all that were found.
    pub(super) fn all(&self) -> &[String] {
        self.loads.all()
    }

    /// Puts the load of `plan` on its server, whose threads are each agent's.
    pub(super) fn load(&mut self, plan: &RunPlan) -> Result<Loaded, LoadFailure> {
        let Self { leader, loads } = self;
        loads.load(plan, |plan, agents| leader.lead(plan, agents, &mut |_| ())).map_err(|error| match error {
            NotLoaded::NotLed(error) => LoadFailure { error, cause: Cause::Agents },
            NotLoaded::Failed { cause: Cause::Server, why } => {
                LoadFailure { error: CliError::target_failed(why), cause: Cause::Server }
            }
            NotLoaded::Failed { cause, why } => LoadFailure { error: CliError::usage(why), cause },
        })
    }

    /// Those that were lost.
    pub(super) fn lost(&self) -> impl Iterator<Item = &String> {
        self.loads.lost()
    }

    /// What they measured is in a report.
    pub(super) fn reported(&mut self) {
        self.leader.reported();
    }
}
