//! Why the numbers of a load are not the server's: what the client, its machine or an agent was in the way of.

use prony_model::{
    CapacityLimit, Finding, FindingCode, FleetAgent, Limiter, LimiterKind, RunResult, Severity,
};

use crate::loads::Loaded;

/// What was in the way of a load.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fault {
    pub(crate) limit: CapacityLimit,
    pub(crate) reason: String,
    /// The whole load was put on the server, and what was in the way can only have made its answers look later: what the server
    /// carried nevertheless, it carries.
    pub(crate) only_worsens: bool,
}

/// Why the numbers are not the server's: a finding about client or machine that makes the run INVALID, on this machine or on
/// an agent's, or an agent without a result. What the server does to a run (no success, errors, censored requests) speaks
/// against the server.
pub(crate) fn fault_of_client(loaded: &Loaded) -> Option<Fault> {
    let Loaded { result, agents } = loaded;
    if agents.is_empty() {
        return of_machine(result);
    }
    let lost = agents.iter().find_map(|agent| {
        let absence = agent.absence.as_ref()?;
        let is_named = absence.reason.contains(agent.name.as_str());
        let whose = if is_named { String::new() } else { format!("agent {}: ", agent.name) };
        let reason = format!("{whose}{}", absence.reason);
        Some(Fault { limit: CapacityLimit::Agents, reason, only_worsens: false })
    });
    let together = together(result);
    let mut of_agents: Vec<Fault> = agents.iter().filter_map(of_agent).collect();
    let all_worsen = together.is_none() && of_agents.iter().all(|fault| fault.only_worsens);
    // The client's limits first: they stay.
    of_agents.sort_by_key(|fault| fault.limit != CapacityLimit::Client);
    let of_agents = of_agents.into_iter().next();
    lost.or(of_agents.map(|fault| Fault { only_worsens: all_worsen, ..fault })).or(together)
}

/// That of an agent, with its name.
fn of_agent(agent: &FleetAgent) -> Option<Fault> {
    let fault = of_machine(agent.result.as_ref()?)?;
    Some(Fault { reason: format!("agent {}: {}", agent.name, fault.reason), ..fault })
}

/// That of one machine.
fn of_machine(result: &RunResult) -> Option<Fault> {
    let is_clients = |code: FindingCode| {
        matches!(
            code,
            FindingCode::RateNotReached
                | FindingCode::ClientCpu
                | FindingCode::Ports
                | FindingCode::Descriptors
                | FindingCode::NearClientLimit
        )
    };
    let faults: Vec<&Finding> =
        invalid(result).filter(|finding| is_clients(finding.code) || finding.code.is_passing()).collect();
    let first = faults.iter().find(|finding| is_clients(finding.code)).or(faults.first())?;
    let limit = if is_clients(first.code) { CapacityLimit::Client } else { CapacityLimit::Machine };
    let only_worsens = faults.iter().all(|finding| only_worsens(finding.code));
    Some(Fault { limit, reason: sentence(first), only_worsens })
}

/// Requests are sent or answers read later than they could have been, all the same load. What leaves out requests, moves clocks
/// or makes a processor faster for a while isn't among them.
fn only_worsens(code: FindingCode) -> bool {
    matches!(
        code,
        FindingCode::ClientCpu
            | FindingCode::NearClientLimit
            | FindingCode::RunQueueWait
            | FindingCode::SendLag
            | FindingCode::LoopGap
            | FindingCode::TailBlame
            | FindingCode::ReceiveDelay
            | FindingCode::Steal
            | FindingCode::Contention
            | FindingCode::Throttled
    )
}

/// That of agents which did not load at one time.
fn together(merged: &RunResult) -> Option<Fault> {
    let apart = |finding: &&Finding| matches!(finding.code, FindingCode::StartSpread | FindingCode::Overlap);
    let finding = invalid(merged).find(apart)?;
    Some(Fault { limit: CapacityLimit::Machine, reason: sentence(finding), only_worsens: false })
}

/// The network, where it limited the load, of agents with the name of one.
pub(crate) fn limited_by_network(loaded: &Loaded) -> Option<String> {
    let is_network = |limiter: &&Limiter| limiter.kind == LimiterKind::Network;
    let of = |result: &RunResult| result.limiter.as_ref().filter(is_network).map(|by| by.sentence.clone());
    let of_agent =
        |agent: &FleetAgent| Some(format!("agent {}: {}", agent.name, of(agent.result.as_ref()?)?));
    of(&loaded.result).or_else(|| loaded.agents.iter().find_map(of_agent))
}

/// The codes of all that makes a load INVALID, those of agents after those of all of them together.
pub(crate) fn invalid_codes(loaded: &Loaded) -> Vec<FindingCode> {
    let of_agents = loaded.agents.iter().filter_map(|agent| agent.result.as_deref());
    let mut codes = Vec::new();
    for finding in std::iter::once(&loaded.result).chain(of_agents).flat_map(invalid) {
        if !codes.contains(&finding.code) {
            codes.push(finding.code);
        }
    }
    codes
}

fn invalid(result: &RunResult) -> impl Iterator<Item = &Finding> {
    result.findings.iter().filter(|finding| finding.severity == Severity::Invalid)
}

fn sentence(finding: &Finding) -> String {
    format!("{} ({})", finding.message, finding.code.name())
}
