//! The results of several agents that shared one load, merged into that of one instrument. Decision 024 has the
//! reasons: counts are added, distributions are added bucket by bucket, nothing is averaged.
//!
//! [`Merger`] takes one result after another, and has the distributions of one agent decoded at a time: `totals.rs` adds
//! distributions, `pieces.rs` what is known by time, for intervals and the series. `merged.rs` makes the whole result in
//! the end, with `sums.rs` (counts) and `server.rs` (what an agent on the server's host found out). `start.rs` says when agents were active. What speaks against their numbers as those
//! of one instrument is in `findings.rs` and `agree.rs`, and `withhold.rs` takes away what can't be defended.

mod agree;
mod findings;
mod merged;
mod pieces;
mod rate;
mod scenario;
mod series;
mod server;
mod slowest;
mod stages;
mod start;
mod sums;
mod totals;
mod withhold;

use self::agree::Batches;
pub use self::pieces::Grid;
use self::pieces::{Pieces, Sum};
pub use self::rate::rate_ends;
use self::totals::Totals;

use prony_model::{
    Absence, AbsenceKind, AgentOutcome, FLEET_FORMAT, FLEET_VERSION, FleetAgent, FleetResult, RunPlan,
    RunResult, ServerAgentOutcome, Verdict,
};
use prony_stats::Histogram;

use crate::stored::DistributionError;

/// Merges what came of the agents that shared `plan`, the plan of the whole load, which was to start at `start_ns` of the
/// common clock. `agents` are in the order of their shares.
///
/// A result whose distributions are damaged counts as one of an agent that failed. Thresholds are evaluated by anyone who has
/// some, on `merged`.
pub fn merge(plan: &RunPlan, start_ns: u64, agents: Vec<AgentOutcome>) -> FleetResult {
    let pieces = agents.iter().filter_map(|agent| agent.result.as_ref().ok()?.pieces.as_ref());
    let grid = Grid::of(pieces.map(|pieces| (pieces.length_ns, pieces.done.len())));
    let mut merger = Merger::new(plan.clone(), start_ns, grid);
    for agent in agents {
        merger.add(agent);
    }
    merger.finish()
}

/// A merge that takes the agents one after another, so that only what the merged result keeps of them is in memory.
pub struct Merger {
    plan: RunPlan,
    start_ns: u64,
    grid: Option<Grid>,
    agents: Vec<FleetAgent>,
    batches: Vec<Option<Batches>>,
    totals: Totals,
    /// `None` where an agent has no pieces that fit: intervals are of all agents, or of none.
    pieces: Option<Sum>,
    scratch: Histogram,
    server: Option<ServerAgentOutcome>,
}

impl Merger {
    /// For agents that shared `plan`, which was to start at `start_ns` of the common clock, with pieces of time that fit
    /// `grid`.
    pub fn new(plan: RunPlan, start_ns: u64, grid: Option<Grid>) -> Self {
        Self {
            plan,
            start_ns,
            grid,
            agents: Vec::new(),
            batches: Vec::new(),
            totals: Totals::default(),
            pieces: grid.map(Sum::new),
            scratch: Histogram::new(),
            server: None,
        }
    }

    /// Adds an agent, in the order of shares.
    pub fn add(&mut self, agent: AgentOutcome) {
        let mut agent = agent;
        let mut batches = None;
        if let Ok(result) = &mut agent.result {
            match self.add_result(result) {
                Ok(found) => {
                    batches = found;
                    // They have served their purpose, and are longer than all the rest.
                    result.pieces = None;
                }
                Err(error) => {
                    let reason = format!("its result can't be used: {error}");
                    agent.result = Err(Absence { kind: AbsenceKind::Failed, reason });
                }
            }
        }
        self.batches.push(batches);
        self.agents.push(start::fleet_agent(agent, self.start_ns));
    }

    /// Adds the agent on the server's host.
    pub fn add_server(&mut self, agent: ServerAgentOutcome) {
        self.server = Some(agent);
    }

    /// Adds all that `result` has, or nothing of it.
    fn add_result(&mut self, result: &RunResult) -> Result<Option<Batches>, DistributionError> {
        let scratch = &mut self.scratch;
        let distributions = totals::read(result, scratch)?;
        let pieces = result.pieces.as_ref().map(|stored| pieces::read(stored, scratch)).transpose()?;
        self.totals.add(&distributions);
        let (Some(grid), Some(pieces)) = (self.grid, pieces) else {
            self.pieces = None;
            return Ok(None);
        };
        if !pieces.fits(grid) {
            self.pieces = None;
            return Ok(None);
        }
        let batches = agree::batches(&pieces, grid, scratch);
        if let Some(sum) = &mut self.pieces {
            sum.add(pieces, scratch);
        }
        Ok(Some(batches))
    }

    /// The result of all.
    pub fn finish(self) -> FleetResult {
        let Self { plan, agents, batches, totals, pieces, mut scratch, server, .. } = self;
        let pieces: Option<Pieces> = pieces.and_then(|sum| sum.finish(&mut scratch));
        let mut merged = merged::merged(&plan, &agents, totals, pieces.as_ref());
        let start_spread = start::spread(&agents);
        let overlap_share = start::overlap_share(&agents);
        merged.findings = findings::findings(&merged, &agents, start_spread, overlap_share);
        merged.findings.extend(agree::agents_disagree(&agents, &batches, plan.seed));
        let server_agent =
            server.map(|outcome| server::add(&mut merged, outcome, pieces.as_ref(), agents.len()));
        withhold::withhold(&mut merged);
        merged.findings.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), finding.code));
        merged.verdict = Verdict::from_findings(&merged.findings);
        FleetResult {
            format: FLEET_FORMAT.to_owned(),
            version: FLEET_VERSION,
            verdict: merged.verdict,
            agents,
            start_spread,
            overlap_share,
            server_agent,
            merged,
        }
    }
}
