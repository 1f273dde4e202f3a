//! One search for a capacity: the loads of its trials, by the runner of the study.

use std::time::Duration;

use prony_model::{CapacityResult, CapacityTrial, RunAgents, RunPlan};

use super::{StudyEvent, Watch};
use crate::agents::{NotLoaded, SharedLoads};
use crate::capacity::{LiveCapacity, TrialPlan, TrialRunner};
use crate::clock;
use crate::loads::{Cause, LoadError, LoadRunner, Loaded};
use crate::runner::RunnerError;

/// Puts the loads of a search on a target.
struct Trials<'a, 'b> {
    watch: &'a mut Watch<'b>,
    by: By,
    began: Duration,
}

/// Who puts them on it.
enum By {
    /// This machine; whether its results are set against what it can do.
    Engine { calibration: bool },
    /// Agents, those that are left.
    Agents(SharedLoads),
}

/// Why a load could not be put on the target.
struct TrialFailure {
    cause: Cause,
    why: String,
}

/// Searches by `live`, with the loads of `agents` if there are some. An error is in words for people.
pub(super) fn search(
    live: &LiveCapacity,
    calibration: bool,
    agents: Option<&RunAgents>,
    watch: &mut Watch<'_>,
) -> Result<CapacityResult, String> {
    let by = match agents {
        None => By::Engine { calibration },
        Some(agents) => {
            let all = watch.runner.find_agents(agents).map_err(|error| error.to_string())?;
            By::Agents(SharedLoads::new(all, agents.server.clone()))
        }
    };
    let mut trials = Trials { watch, by, began: clock::now() };
    live.search(&mut trials).map_err(|error| match error {
        LoadError::Run(failure) => failure.why,
        LoadError::Target(problem) | LoadError::Asked(problem) => problem.to_string(),
    })
}

impl LoadRunner for Trials<'_, '_> {
    type Error = TrialFailure;

    fn run(&mut self, plan: &RunPlan) -> Result<Loaded, TrialFailure> {
        let Watch { runner, sink, .. } = self.watch;
        let mut sink = |event| sink(StudyEvent::Run(&event));
        match &mut self.by {
            By::Engine { calibration } => {
                let failed = |error: RunnerError| TrialFailure { cause: Cause::Server, why: error.0 };
                runner.run(plan, *calibration, &mut sink).map(Loaded::from).map_err(failed)
            }
            By::Agents(loads) => {
                let loaded = loads.load(plan, |plan, agents| runner.run_on_agents(plan, agents, &mut sink));
                loaded.map_err(|error| match error {
                    NotLoaded::NotLed(error) => TrialFailure { cause: Cause::Agents, why: error.0 },
                    NotLoaded::Failed { cause, why } => TrialFailure { cause, why },
                })
            }
        }
    }

    fn agents(&self) -> Vec<String> {
        match &self.by {
            By::Engine { .. } => Vec::new(),
            By::Agents(loads) => loads.all().to_vec(),
        }
    }

    fn lost(&self) -> Vec<String> {
        match &self.by {
            By::Engine { .. } => Vec::new(),
            By::Agents(loads) => loads.lost().cloned().collect(),
        }
    }

    fn elapsed(&self) -> Duration {
        clock::since(self.began)
    }

    fn pause(&mut self, length: Duration) {
        self.watch.pause(length);
    }

    fn describe(failure: &TrialFailure) -> String {
        failure.why.clone()
    }

    fn cause(failure: &TrialFailure) -> Cause {
        failure.cause
    }
}

impl TrialRunner for Trials<'_, '_> {
    fn begins(&mut self, plan: &TrialPlan) {
        self.watch.report(StudyEvent::TrialBegins(plan));
    }

    fn ended(&mut self, trial: &CapacityTrial) {
        self.watch.report(StudyEvent::TrialEnded(trial));
    }
}

#[cfg(test)]
mod tests;
