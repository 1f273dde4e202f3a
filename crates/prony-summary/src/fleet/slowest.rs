//! The slowest requests of all agents, each with the name of its agent.

use prony_model::{FleetAgent, RunResult, SlowRequest, Traces};

/// Of all requests.
pub(super) fn slowest(agents: &[FleetAgent]) -> Vec<SlowRequest> {
    merged(agents, |result| &result.slowest)
}

/// Of those that servers were asked to trace.
pub(super) fn traces(agents: &[FleetAgent]) -> Option<Traces> {
    let traces = || agents.iter().filter_map(|agent| agent.result.as_ref()?.traces.as_ref());
    traces().next()?;
    let sum = |count: fn(&Traces) -> u64| traces().map(count).fold(0, u64::saturating_add);
    Some(Traces {
        requests: sum(|traces| traces.requests),
        sampled: sum(|traces| traces.sampled),
        slowest: merged(agents, |result| result.traces.as_ref().map_or(&[], |traces| &traces.slowest)),
    })
}

fn merged(agents: &[FleetAgent], listed: impl Fn(&RunResult) -> &[SlowRequest]) -> Vec<SlowRequest> {
    let named = |agent: &FleetAgent| {
        let requests = agent.result.as_deref().map_or(&[][..], &listed);
        let name = Some(agent.name.clone());
        requests
            .iter()
            .map(|request| SlowRequest { agent: name.clone(), ..request.clone() })
            .collect::<Vec<_>>()
    };
    SlowRequest::slowest(agents.iter().flat_map(named).collect())
}
