//! Loads that agents put on a server together, one after the other: those agents that are left share each of them. For
//! `prony capacity`, `prony overload` and the searches of a study.

use prony_model::{AbsenceKind, AgentChoice, FleetAgent, FleetResult, RunAgents, RunPlan};

use crate::loads::{Cause, Loaded};

/// What came of a load that agents were to put on a server.
#[derive(Debug)]
pub struct Led {
    /// The merged result, where at least one agent has measured.
    pub fleet: Option<FleetResult>,
    /// Why the run was given up.
    pub failure: Option<String>,
    /// Whether the user ended it.
    pub interrupted: bool,
    /// Those that did not answer, or not any more.
    pub lost: Vec<String>,
}

/// The agents of a sequence of loads. One that is lost does not take part again: loads of changing clients can't be compared.
#[derive(Debug, Clone)]
pub struct SharedLoads {
    /// By name, all that were found.
    all: Vec<String>,
    /// Those of them that were not lost.
    left: Vec<String>,
    /// The one that measures the server.
    server: Option<String>,
}

/// What kept agents from putting a load on a server.
#[derive(Debug)]
pub enum NotLoaded<E> {
    /// They could not be led.
    NotLed(E),
    /// What came of it.
    Failed {
        /// What it is about.
        cause: Cause,
        /// In a line.
        why: String,
    },
}

impl SharedLoads {
    /// Of the agents `all`; `server` measures the server.
    pub fn new(all: Vec<String>, server: Option<String>) -> Self {
        Self { left: all.clone(), all, server }
    }

    /// The names of all, as they were at the beginning.
    pub fn all(&self) -> &[String] {
        &self.all
    }

    /// Those that were lost since.
    pub fn lost(&self) -> impl Iterator<Item = &String> {
        self.all.iter().filter(|name| !self.left.contains(name))
    }

    /// Has `lead` put the load of `plan` on its server, whose threads are each agent's: by all that are left, or by as many as
    /// there are connections for.
    pub fn load<E>(
        &mut self,
        plan: &RunPlan,
        lead: impl FnOnce(&RunPlan, &RunAgents) -> Result<Led, E>,
    ) -> Result<Loaded, NotLoaded<E>> {
        let failed = |cause, why: String| Err(NotLoaded::Failed { cause, why });
        if self.left.is_empty() {
            return failed(Cause::Agents, "no agent is left".to_owned());
        }
        let (plan, count) = fitted(plan, self.left.len());
        let load = AgentChoice::Names(self.left[..count].to_vec());
        // A few requests say nothing of what the server uses.
        let server = self.server.clone().filter(|_| plan.end.requests().is_none());
        let Led { fleet, failure, interrupted, lost } =
            lead(&plan, &RunAgents { load, server }).map_err(NotLoaded::NotLed)?;
        self.left.retain(|name| !lost.contains(name));
        let (merged, agents) = match fleet {
            Some(fleet) => (Some(fleet.merged), fleet.agents),
            None => (None, Vec::new()),
        };
        match merged {
            Some(mut result) if agents.iter().any(|agent| agent.result.is_some()) => {
                // The others are stopped where one is lost: nobody wanted the load to end.
                result.timing.interrupted = interrupted || result.timing.interrupted && lost.is_empty();
                Ok(Loaded { result, agents })
            }
            _ if interrupted => failed(Cause::Interrupt, "it was ended by hand".to_owned()),
            _ => {
                let why = failure.unwrap_or_else(|| "no agent brought a result".to_owned());
                let cause = match (self.left.is_empty(), lost.is_empty()) {
                    _ if is_of_server(&agents) => Cause::Server,
                    (true, _) => Cause::Agents,
                    (false, false) => Cause::Lost,
                    (false, true) => Cause::Share,
                };
                failed(cause, why)
            }
        }
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

    use prony_model::{End, Load, from_json, split};

    use super::*;

    fn plan() -> RunPlan {
        from_json(include_str!("../../prony/tests/it/stored.json")).expect("a stored run").plan
    }

    /// Agents and the threads of each, for a closed loop.
    fn shared(connections: u32, threads: u32, agents: usize) -> (u32, usize) {
        let (load, end) = (Load::Closed { connections }, End::Duration(Duration::from_secs(1)));
        let (plan, count) = fitted(&RunPlan { load, end, threads, ..plan() }, agents);
        split(&plan, &vec![plan.threads; count]).expect("it can be split");
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

    #[test]
    fn agents_that_are_lost_are_not_led_again() {
        let mut loads = SharedLoads::new(["a", "b"].map(str::to_owned).to_vec(), Some("t".to_owned()));
        let (load, end) = (Load::Closed { connections: 4 }, End::Duration(Duration::from_secs(1)));
        let plan = RunPlan { load, end, threads: 1, ..plan() };
        let mut led = Vec::new();
        let mut load = |plan: &RunPlan, lost: &[&str]| {
            let lost = lost.iter().map(|name| (*name).to_owned()).collect();
            let loaded = loads.load(plan, |_, agents| {
                led.push(agents.to_string());
                Ok::<_, String>(Led {
                    fleet: None,
                    failure: Some("gone".to_owned()),
                    interrupted: false,
                    lost,
                })
            });
            let Err(NotLoaded::Failed { cause, why }) = loaded else { panic!("{loaded:?}") };
            (cause, why)
        };
        assert_eq!(load(&plan, &[]), (Cause::Share, "gone".to_owned()));
        assert_eq!(load(&plan, &["b"]), (Cause::Lost, "gone".to_owned()));
        // The agent on the server's host has nothing to measure in a few requests.
        let few = RunPlan { end: End::Requests(5), ..plan.clone() };
        assert_eq!(load(&few, &["a"]), (Cause::Agents, "gone".to_owned()));
        assert_eq!(load(&plan, &[]), (Cause::Agents, "no agent is left".to_owned()));
        let of = "agents a, b, server measured by t";
        assert_eq!(led, [of, of, "agent a"]);
        assert_eq!(loads.lost().collect::<Vec<_>>(), ["a", "b"]);
    }
}
