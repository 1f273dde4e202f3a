//! What each agent did, where agents shared the load of a cell.

use prony_model::{FleetAgent, FleetResult, StudyAgents, StudyCell};
use prony_stats::DecodeError;

use super::cell::CellRecord;
use crate::{Cell, Step};

/// Agents of a cell that are kept, each with its distributions: as many as a report shows.
const SHARES_MAX: usize = 20;

/// What is known of the agents of a cell while its results are read.
#[derive(Default)]
pub(super) struct AgentsRecord {
    /// By name, in the order in which the load was split first.
    shares: Vec<(String, CellRecord)>,
    /// Names of those beyond.
    more: Vec<String>,
    start_spread_ns: Option<u64>,
    overlap_share: Option<f64>,
}

impl AgentsRecord {
    /// Takes what stays of each agent of a run of a cell that is run `repeats` times.
    pub(super) fn add(&mut self, step: &Step, fleet: &FleetResult, repeats: u32) -> Result<(), DecodeError> {
        for agent in &fleet.agents {
            self.add_agent(step, agent, repeats)?;
        }
        let spread_ns = fleet.start_spread.map(|spread| spread.spread_ns);
        self.start_spread_ns = self.start_spread_ns.max(spread_ns);
        let shares = [self.overlap_share, fleet.overlap_share];
        self.overlap_share = shares.into_iter().flatten().reduce(f64::min);
        Ok(())
    }

    fn add_agent(&mut self, step: &Step, agent: &FleetAgent, repeats: u32) -> Result<(), DecodeError> {
        let known = self.shares.iter().position(|(name, _)| *name == agent.name);
        let place = match known {
            Some(place) => place,
            None if self.shares.len() < SHARES_MAX => {
                self.shares.push((agent.name.clone(), CellRecord::of_agent(repeats)));
                self.shares.len() - 1
            }
            None => {
                if !self.more.contains(&agent.name) {
                    self.more.push(agent.name.clone());
                }
                return Ok(());
            }
        };
        match &agent.result {
            Some(result) => self.shares[place].1.add_share(step, result),
            None => Ok(()),
        }
    }

    /// Puts everything in the order of time.
    pub(super) fn sort(&mut self) {
        self.shares.iter_mut().for_each(|(_, share)| share.sort());
    }

    /// What is stored of the agents of `cell`, of which `planned` runs are in the schedule; `None` without agents.
    pub(super) fn summary(&self, cell: &Cell, planned: u32) -> Option<StudyAgents> {
        let share = |(name, record): &(String, CellRecord)| {
            let mut share = record.summary(cell, planned);
            share.name.clone_from(name);
            // What the server can do is seen in the whole load, and so are curves and timelines.
            share.runs.iter_mut().for_each(|run| run.limiter = None);
            StudyCell { curve: Vec::new(), bins: Vec::new(), timelines: Vec::new(), scenario: None, ..share }
        };
        (!self.shares.is_empty()).then(|| StudyAgents {
            shares: self.shares.iter().map(share).collect(),
            more: u32::try_from(self.more.len()).unwrap_or(u32::MAX),
            start_spread_ms: self.start_spread_ns.map(|nanos| nanos as f64 / 1e6),
            overlap_share: self.overlap_share,
        })
    }
}
