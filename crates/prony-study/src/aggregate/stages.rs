//! The stages of a cell's load: the same figures over its runs as for all requests, stage by stage.

use prony_model::{Reading, RunResult, StageResult, StepFigure, StepName, StudyMetric, StudyStage};
use prony_stats::DecodeError;

use super::figure::CellFigure;
use super::scenario::named;
use super::times::{Times, of_metric, success};

/// What is known of the valid runs of a cell, in the order of the stages.
#[derive(Default)]
pub(super) struct StagesRecord(Vec<StageRecord>);

#[derive(Default)]
struct StageRecord {
    name: String,
    from_s: f64,
    asked_per_s: Option<f64>,
    intended: u64,
    done: u64,
    rate: Vec<Reading>,
    success: Vec<Reading>,
    response: Times,
    service: Times,
}

impl StagesRecord {
    /// Adds a valid run.
    pub(super) fn add(&mut self, result: &RunResult) -> Result<(), DecodeError> {
        for stage in &result.stages {
            named(&mut self.0, |known: &StageRecord| known.name == stage.name).add(stage, result)?;
        }
        Ok(())
    }

    /// The figure of a stage that a threshold is about, where all runs together may support what single ones do not.
    pub(super) fn figure(&self, name: StepName, of: StepFigure) -> Option<CellFigure> {
        let by_name = self.0.iter().find(|stage| stage.name == name.as_str());
        let by_number = || self.0.get(name.as_str().parse::<usize>().ok()?.checked_sub(1)?);
        let stage = by_name.or_else(by_number)?;
        match of {
            StepFigure::Response(level) => stage.response.of_level(level),
            StepFigure::Service(level) => stage.service.of_level(level),
            StepFigure::Success => None,
        }
    }

    /// What is stored of them; nothing without a run.
    pub(super) fn summary(&self) -> Vec<StudyStage> {
        self.0.iter().map(StageRecord::summary).collect()
    }
}

impl StageRecord {
    fn add(&mut self, stage: &StageResult, result: &RunResult) -> Result<(), DecodeError> {
        let requests = &stage.requests;
        self.name.clone_from(&stage.name);
        self.from_s = stage.from_s;
        self.asked_per_s = stage.asked_per_s;
        self.intended += requests.intended;
        self.done += requests.done;
        self.rate.push(Reading {
            value: Some(stage.done_per_s),
            samples: requests.done,
            ..Reading::default()
        });
        let share = Reading::of_share(requests.done, requests.intended, "no request was due in the stage");
        self.success.push(share);
        let counts = (requests.intended, requests.intended.saturating_sub(requests.done));
        self.response.add(&stage.response, &stage.response_histogram, counts, result)?;
        self.service.add(&stage.service, &stage.service_histogram, counts, result)
    }

    fn summary(&self) -> StudyStage {
        StudyStage {
            name: self.name.clone(),
            from_s: self.from_s,
            asked_per_s: self.asked_per_s,
            intended: self.intended,
            done: self.done,
            rate: of_metric(StudyMetric::Rate, &self.rate),
            success: success(&self.success),
            response: self.response.figures(),
            service: self.service.figures(),
        }
    }
}
