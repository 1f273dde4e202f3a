//! Loads by agents, one after the other: one connection to the broker, and those agents that are left.

use prony_model::{AbsenceKind, AgentChoice, FleetAgent, RunAgents, RunPlan};
use prony_study::{Cause, Loaded};

use super::LoadFailure;
use crate::args::LeadArgs;
use crate::cli_error::CliError;
use crate::fleet::{Leader, Led, shares};
use crate::signals;

/// Agents that put loads on a server.
pub(super) struct Agents {
    leader: Leader,
    /// By name, all that were found.
    all: Vec<String>,
    /// Those of them that were not lost.
    left: Vec<String>,
    /// The one that measures the server.
    server: Option<String>,
}

impl Agents {
    /// Finds `agents`, which must be able to share `plan`.
    pub(super) fn find(args: &LeadArgs, agents: RunAgents, plan: &RunPlan) -> Result<Self, CliError> {
        // What can't be split is refused before agents are searched for.
        shares(plan, &agents.load)?;
        let mut leader = Leader::connect(args, "prony")?;
        leader.find(&[&agents])?;
        signals::on_interrupt(leader.stopper())?;
        let all = leader.names(&agents);
        Ok(Self { leader, left: all.clone(), all, server: agents.server })
    }

    /// The names of all that were found.
    pub(super) fn all(&self) -> &[String] {
        &self.all
    }

    /// Puts the load of `plan` on its server, whose threads are each agent's: by all that are left, or by as many as there
    /// are connections for.
    pub(super) fn load(&mut self, plan: &RunPlan) -> Result<Loaded, LoadFailure> {
        let failed = |error, cause| Err(LoadFailure { error, cause });
        if self.left.is_empty() {
            return failed(CliError::usage("no agent is left"), Cause::Agents);
        }
        let (plan, count) = fitted(plan, self.left.len());
        let load = AgentChoice::Names(self.left[..count].to_vec());
        // A few requests say nothing of what the server uses.
        let server = self.server.clone().filter(|_| plan.end.requests().is_none());
        let led = match self.leader.lead(&plan, &RunAgents { load, server }, &mut |_| ()) {
            Ok(led) => led,
            Err(error) => return failed(error, Cause::Agents),
        };
        let Led { fleet, failure, interrupted, lost } = led;
        self.left.retain(|name| !lost.iter().any(|lost| lost.as_str() == name));
        let (merged, agents) = match fleet {
            Some(fleet) => (Some(fleet.merged), fleet.agents),
            None => (None, Vec::new()),
        };
        match merged {
            Some(mut result) if agents.iter().any(|agent| agent.result.is_some()) => {
                result.timing.interrupted |= interrupted;
                Ok(Loaded { result, agents })
            }
            _ if interrupted => failed(CliError::usage("it was ended by hand"), Cause::Interrupt),
            _ => {
                let why = failure.unwrap_or_else(|| "no agent brought a result".to_owned());
                if is_of_server(&agents) {
                    failed(CliError::target_failed(why), Cause::Server)
                } else {
                    let cause = match (self.left.is_empty(), lost.is_empty()) {
                        (true, _) => Cause::Agents,
                        (false, false) => Cause::Lost,
                        (false, true) => Cause::Share,
                    };
                    failed(CliError::usage(why), cause)
                }
            }
        }
    }

    /// Those that were lost.
    pub(super) fn lost(&self) -> impl Iterator<Item = &String> {
        self.all.iter().filter(|name| !self.left.contains(name))
    }

    /// What they measured is in a report.
    pub(super) fn reported(&mut self) {
        self.leader.reported();
    }
}

/// Whether the load failed on each agent: the server does not answer.
fn is_of_server(agents: &[FleetAgent]) -> bool {
    let failed = |agent: &FleetAgent| {
        agent.absence.as_ref().is_some_and(|absence| absence.kind == AbsenceKind::Failed)
    };
    !agents.is_empty() && agents.iter().all(failed)
}

/// How many of `agents` can share `plan`, and the threads of each then: every thread has a connection at least.
fn fitted(plan: &RunPlan, agents: usize) -> (RunPlan, usize) {
    let connections = plan.load.connections().max(1);
    let count = u32::try_from(agents).unwrap_or(u32::MAX).clamp(1, connections);
    let threads = plan.threads.clamp(1, connections / count);
    (RunPlan { threads, ..plan.clone() }, count as usize)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use prony_model::{End, Load, from_json};

    use super::*;

    /// Agents and the threads of each, for a closed loop.
    fn shared(connections: u32, threads: u32, agents: usize) -> (u32, usize) {
        let plan = from_json(include_str!("../../../tests/it/stored.json")).expect("a stored run").plan;
        let (load, end) = (Load::Closed { connections }, End::Duration(Duration::from_secs(1)));
        let (plan, count) = fitted(&RunPlan { load, end, threads, ..plan }, agents);
        shares(&plan, &AgentChoice::Any(count)).expect("it can be split");
        (plan.threads, count)
    }

    #[test]
    fn a_load_of_few_connections_is_for_few_agents() {
        assert_eq!(shared(1, 2, 3), (1, 1));
        assert_eq!(shared(3, 2, 3), (1, 3));
        assert_eq!(shared(8, 2, 3), (2, 3));
        assert_eq!(shared(8, 1, 50), (1, 8));
        assert_eq!(shared(1000, 4, 2), (4, 2));
    }
}
