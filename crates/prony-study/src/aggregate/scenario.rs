//! Steps and flows of a cell whose load is a scenario: the same figures over its runs as for all requests, row by row.

use std::collections::BTreeMap;

use prony_model::{
    FlowResult, Reading, RunResult, SessionCounts, StepFigure, StepName, StepResult, StudyFlow,
    StudyScenario, StudyStep, Timeline,
};
use prony_stats::DecodeError;

use super::figure::CellFigure;
use super::timeline::{is_kept, step_timeline};
use super::times::{Times, success};

/// Courses of a step at most: a study has many steps, and its chart of each is small.
const COURSES_MAX: u32 = 3;
/// What is known of the valid runs of a cell.
#[derive(Default)]
pub(super) struct ScenarioRecord {
    sessions: SessionCounts,
    flows: Vec<FlowRecord>,
    steps: Vec<StepRecord>,
}

#[derive(Default)]
struct FlowRecord {
    name: String,
    sessions: SessionCounts,
    success: Vec<Reading>,
    time: Times,
    without_think: Times,
}

#[derive(Default)]
struct StepRecord {
    flow: String,
    name: String,
    request: String,
    ended: u64,
    done: u64,
    failed: BTreeMap<String, u64>,
    success: Vec<Reading>,
    response: Times,
    service: Times,
    timelines: Vec<Timeline>,
}

/// The record of this name, which is begun where there is none.
pub(super) fn named<T: Default>(records: &mut Vec<T>, name: impl Fn(&T) -> bool) -> &mut T {
    let at = records.iter().position(name).unwrap_or_else(|| {
        records.push(T::default());
        records.len() - 1
    });
    &mut records[at]
}

impl ScenarioRecord {
    /// Adds a valid run, which is `repeat` of `repeats`.
    pub(super) fn add(&mut self, result: &RunResult, repeat: u32, repeats: u32) -> Result<(), DecodeError> {
        let Some(found) = &result.scenario else { return Ok(()) };
        self.sessions.add(found.sessions);
        for flow in &found.flows {
            named(&mut self.flows, |known| known.name == flow.name).add(flow, result)?;
        }
        for step in &found.steps {
            let record = named(&mut self.steps, |known| known.name == step.name);
            record.add(step, result)?;
            if is_kept(repeat, repeats, COURSES_MAX) && !step.timeline.is_empty() {
                record.timelines.push(step_timeline(repeat, &step.timeline));
            }
        }
        Ok(())
    }

    /// The figure of a step that a threshold is about, where all runs together may support what single ones do not.
    pub(super) fn figure(&self, name: StepName, of: StepFigure) -> Option<CellFigure> {
        let step = self.steps.iter().find(|step| step.name == name.as_str())?;
        match of {
            StepFigure::Response(level) => step.response.of_level(level),
            StepFigure::Service(level) => step.service.of_level(level),
            StepFigure::Success => None,
        }
    }

    /// What is stored of it; `None` without a run.
    pub(super) fn summary(&self) -> Option<StudyScenario> {
        (!self.steps.is_empty()).then(|| StudyScenario {
            sessions: self.sessions,
            flows: self.flows.iter().map(FlowRecord::summary).collect(),
            steps: self.steps.iter().map(StepRecord::summary).collect(),
        })
    }
}

impl FlowRecord {
    fn add(&mut self, flow: &FlowResult, result: &RunResult) -> Result<(), DecodeError> {
        let SessionCounts { completed, failed, .. } = flow.sessions;
        self.name.clone_from(&flow.name);
        self.sessions.add(flow.sessions);
        let ended = completed + failed;
        self.success.push(Reading::of_share(completed, ended, "no session of the flow has ended"));
        self.time.add(&flow.time, &flow.time_histogram, (ended, failed), result)?;
        let without = &flow.time_without_think_histogram;
        self.without_think.add(&flow.time_without_think, without, (ended, failed), result)
    }

    fn summary(&self) -> StudyFlow {
        StudyFlow {
            name: self.name.clone(),
            sessions: self.sessions,
            success: success(&self.success),
            time: self.time.figures(),
            time_without_think: self.without_think.figures(),
        }
    }
}

impl StepRecord {
    fn add(&mut self, step: &StepResult, result: &RunResult) -> Result<(), DecodeError> {
        self.flow.clone_from(&step.flow);
        self.name.clone_from(&step.name);
        self.request.clone_from(&step.request);
        self.ended += step.ended;
        self.done += step.done;
        for (cause, count) in &step.failed {
            *self.failed.entry(cause.clone()).or_default() += count;
        }
        self.success.push(Reading::of_share(step.done, step.ended, "the step was never due"));
        let counts = (step.ended, step.ended.saturating_sub(step.done));
        self.response.add(&step.response, &step.response_histogram, counts, result)?;
        self.service.add(&step.service, &step.service_histogram, counts, result)
    }

    fn summary(&self) -> StudyStep {
        let mut timelines = self.timelines.clone();
        timelines.sort_by_key(|timeline| timeline.repeat);
        StudyStep {
            flow: self.flow.clone(),
            name: self.name.clone(),
            request: self.request.clone(),
            ended: self.ended,
            done: self.done,
            failed: self.failed.clone(),
            success: success(&self.success),
            response: self.response.figures(),
            service: self.service.figures(),
            timelines,
        }
    }
}
