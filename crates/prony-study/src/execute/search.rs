//! One search for a capacity: the loads of its trials, by the runner of the study.

use std::time::Duration;

use prony_model::{CapacityResult, CapacityTrial, RunPlan};

use super::{StudyEvent, Watch};
use crate::capacity::{LiveCapacity, TrialPlan, TrialRunner};
use crate::clock;
use crate::loads::{Cause, LoadError, LoadRunner, Loaded};
use crate::runner::RunnerError;

/// Puts the loads of a search on a target.
struct Trials<'a, 'b> {
    watch: &'a mut Watch<'b>,
    calibration: bool,
    began: Duration,
}

/// Searches by `live`. An error is in words for people.
pub(super) fn search(
    live: &LiveCapacity,
    calibration: bool,
    watch: &mut Watch<'_>,
) -> Result<CapacityResult, String> {
    let mut trials = Trials { watch, calibration, began: clock::now() };
    live.search(&mut trials).map_err(|error| match error {
        LoadError::Run(error) => error.to_string(),
        LoadError::Target(problem) | LoadError::Asked(problem) => problem.to_string(),
    })
}

impl LoadRunner for Trials<'_, '_> {
    type Error = RunnerError;

    fn run(&mut self, plan: &RunPlan) -> Result<Loaded, RunnerError> {
        let Watch { runner, sink, .. } = self.watch;
        let result = runner.run(plan, self.calibration, &mut |event| sink(StudyEvent::Run(&event)))?;
        Ok(result.into())
    }

    fn elapsed(&self) -> Duration {
        clock::since(self.began)
    }

    fn pause(&mut self, length: Duration) {
        self.watch.pause(length);
    }

    fn describe(error: &RunnerError) -> String {
        error.to_string()
    }

    fn cause(_: &RunnerError) -> Cause {
        Cause::Server
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
