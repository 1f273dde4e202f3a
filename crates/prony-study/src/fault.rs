//! Why the numbers of a load are not the server's: what the client, its machine or an agent was in the way of.

use prony_model::{
    CapacityLimit, Finding, FindingCode, FleetAgent, Limiter, LimiterKind, RunResult, Severity,
};

use crate::loads::Loaded;

/// Why the numbers are not the server's: a finding about client or machine that makes the run INVALID, on this machine or on
/// an agent's, or an agent without a result. What the server does to a run (no success, errors, censored requests) speaks
/// against the server.
pub(crate) fn fault_of_client(loaded: &Loaded) -> Option<(CapacityLimit, String)> {
    let Loaded { result, agents } = loaded;
    if agents.is_empty() {
        return of_machine(result);
    }
    let lost = agents.iter().find_map(|agent| {
        let absence = agent.absence.as_ref()?;
        let is_named = absence.reason.contains(agent.name.as_str());
        let whose = if is_named { String::new() } else { format!("agent {}: ", agent.name) };
        Some((CapacityLimit::Agents, format!("{whose}{}", absence.reason)))
    });
    let of_agents = || agents.iter().filter_map(of_agent);
    let is_clients = |fault: &(CapacityLimit, String)| fault.0 == CapacityLimit::Client;
    lost.or_else(|| of_agents().find(is_clients)).or_else(|| of_agents().next()).or_else(|| together(result))
}

/// That of an agent, with its name.
fn of_agent(agent: &FleetAgent) -> Option<(CapacityLimit, String)> {
    let (limit, why) = of_machine(agent.result.as_ref()?)?;
    Some((limit, format!("agent {}: {why}", agent.name)))
}

/// That of one machine.
fn of_machine(result: &RunResult) -> Option<(CapacityLimit, String)> {
    let client = invalid(result).find(|finding| {
        matches!(
            finding.code,
            FindingCode::RateNotReached
                | FindingCode::ClientCpu
                | FindingCode::Ports
                | FindingCode::Descriptors
                | FindingCode::NearClientLimit
        )
    });
    if let Some(finding) = client {
        return Some((CapacityLimit::Client, sentence(finding)));
    }
    let machine = invalid(result).find(|finding| finding.code.is_passing());
    machine.map(|finding| (CapacityLimit::Machine, sentence(finding)))
}

/// That of agents which did not load at one time.
fn together(merged: &RunResult) -> Option<(CapacityLimit, String)> {
    let apart = |finding: &&Finding| matches!(finding.code, FindingCode::StartSpread | FindingCode::Overlap);
    invalid(merged).find(apart).map(|finding| (CapacityLimit::Machine, sentence(finding)))
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
