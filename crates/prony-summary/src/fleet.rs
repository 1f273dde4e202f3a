//! The results of several agents that shared one load, merged into that of one instrument. Decision 024 has the
//! reasons: counts are added, distributions are added bucket by bucket, nothing is averaged.
//!
//! `merged.rs` makes the whole result, with `clocks.rs` (distributions), `pieces.rs` (what is known by time, for
//! intervals and the series) and `sums.rs` (counts). `start.rs` says when agents were active. What speaks against their
//! numbers as those of one instrument is in `findings.rs` and `agree.rs`, and `withhold.rs` takes away what can't be
//! defended.

mod agree;
mod clocks;
mod findings;
mod merged;
mod pieces;
mod rate;
mod scenario;
mod series;
mod start;
mod sums;
mod withhold;

use self::pieces::Pieces;
pub use self::rate::rate_ends;

use prony_model::{
    Absence, AbsenceKind, AgentOutcome, FLEET_FORMAT, FLEET_VERSION, FleetAgent, FleetResult, RunPlan,
    Verdict,
};

/// Merges what came of the agents that shared `plan`, the plan of the whole load, which was to start at `start_ns` of the
/// common clock. `agents` are in the order of their shares.
///
/// A result whose distributions are damaged counts as one of an agent that failed. Thresholds are evaluated by anyone who has
/// some, on `merged`.
pub fn merge(plan: &RunPlan, start_ns: u64, agents: Vec<AgentOutcome>) -> FleetResult {
    let (agents, pieces): (Vec<AgentOutcome>, Vec<Option<Pieces>>) = agents.into_iter().map(read).unzip();
    let mut merged = merged::merged(plan, &agents, &pieces);
    let mut fleet_agents: Vec<FleetAgent> =
        agents.into_iter().map(|agent| start::fleet_agent(agent, start_ns)).collect();
    let start_spread = start::spread(&fleet_agents);
    let overlap_share = start::overlap_share(&fleet_agents);
    merged.findings = findings::findings(&merged, &fleet_agents, start_spread, overlap_share);
    merged.findings.extend(agree::agents_disagree(&fleet_agents, &pieces, plan.seed));
    withhold::withhold(&mut merged);
    merged.findings.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), finding.code));
    merged.verdict = Verdict::from_findings(&merged.findings);
    for agent in &mut fleet_agents {
        // They have served their purpose, and are longer than all the rest.
        if let Some(result) = &mut agent.result {
            result.pieces = None;
        }
    }
    FleetResult {
        format: FLEET_FORMAT.to_owned(),
        version: FLEET_VERSION,
        verdict: merged.verdict,
        agents: fleet_agents,
        start_spread,
        overlap_share,
        merged,
    }
}

/// `agent`, whose result can be read whole, and its pieces of time.
fn read(agent: AgentOutcome) -> (AgentOutcome, Option<Pieces>) {
    let Ok(result) = &agent.result else { return (agent, None) };
    let pieces = clocks::check(result).and_then(|()| result.pieces.as_ref().map(pieces::read).transpose());
    match pieces {
        Ok(pieces) => (agent, pieces),
        Err(error) => {
            let reason = format!("its result can't be used: {error}");
            (AgentOutcome { result: Err(Absence { kind: AbsenceKind::Failed, reason }), ..agent }, None)
        }
    }
}
