//! Settings, measured.

use std::time::Duration;

use prony_engine::Control;
use prony_model::{
    CalibrationNoise, CalibrationPoint, DriverChoice, Phase, RunEvent, RunPlan, RunResult, Target,
};
use prony_study::{
    CALIBRATION_PAUSE, CalibrationStep, NOISE_BLOCKS, calibration_load, calibration_noise, calibration_point,
    noise_step,
};

use super::server::{Sample, Server};
use crate::cli_error::CliError;
use crate::resolve::BODY_BYTES_MAX;

/// How every setting is measured.
#[derive(Debug, Clone)]
pub(super) struct Manner {
    pub(super) duration: Duration,
    pub(super) driver: DriverChoice,
    /// A null server elsewhere.
    pub(super) target: Option<Target>,
    pub(super) cpus: u32,
    pub(super) seed: u64,
}

impl Manner {
    /// Finds what contradicts itself in `steps`, before anything is measured.
    pub(super) fn check(&self, steps: &[CalibrationStep]) -> Result<(), CliError> {
        // Any will do: a server for this machine is not started yet.
        let nowhere = Target::parse("http://127.0.0.1/").expect("invariant: this is a URL");
        steps.iter().try_for_each(|step| self.plan(step, &nowhere).map(drop))
    }

    /// The load of `step` on `target`.
    fn plan(&self, step: &CalibrationStep, target: &Target) -> Result<RunPlan, CliError> {
        if step.request_bytes > BODY_BYTES_MAX {
            return Err(CliError::usage("--request-bytes: choose at most 64 MiB"));
        }
        Ok(calibration_load(step, target, self.duration, self.driver, self.seed)?)
    }

    /// Measures how much two loads of one null server differ; `None` if that was interrupted.
    pub(super) fn noise(&self, control: &Control) -> Result<Option<Vec<CalibrationNoise>>, CliError> {
        let mut found = Vec::new();
        for blocks in &NOISE_BLOCKS {
            let manner = Self { duration: blocks.length, ..self.clone() };
            let Some(runs) = manner.repeat(&noise_step(), 2 * blocks.pairs, control)? else {
                return Ok(None);
            };
            found.extend(calibration_noise(blocks, &runs));
        }
        Ok(Some(found))
    }

    /// Loads one null server with `step`, so many `times` in a row; `None` if that was interrupted.
    fn repeat(
        &self,
        step: &CalibrationStep,
        times: u32,
        control: &Control,
    ) -> Result<Option<Vec<RunResult>>, CliError> {
        let server = match &self.target {
            None => Server::start(step, self.cpus)?,
            Some(target) => Server::remote(target),
        };
        let mut plan = self.plan(step, &server.target)?;
        let mut runs = Vec::new();
        for _ in 0..times {
            let result = prony_engine::run(&plan, control, &mut |_| ())?;
            if result.timing.interrupted {
                return Ok(None);
            }
            runs.push(result);
            // As in a comparison: what the first load warmed up stays warm.
            plan.warmup = CALIBRATION_PAUSE;
        }
        Ok(Some(runs))
    }

    /// Loads a null server with `step`; `None` if that was interrupted.
    pub(super) fn measure(
        &self,
        step: &CalibrationStep,
        control: &Control,
    ) -> Result<Option<CalibrationPoint>, CliError> {
        let server = match &self.target {
            None => Server::start(step, self.cpus)?,
            Some(target) => Server::remote(target),
        };
        let plan = self.plan(step, &server.target)?;
        let (mut before, mut after) = (Sample::default(), Sample::default());
        let result = prony_engine::run(&plan, control, &mut |event| match event {
            RunEvent::Phase(Phase::Measure) => before = server.sample(),
            RunEvent::Phase(Phase::Drain) => after = server.sample(),
            _ => {}
        })?;
        if result.timing.interrupted {
            return Ok(None);
        }
        if result.requests.done == 0 {
            return Err(CliError::target_failed(format!("{} gave no good answer", server.target))
                .hint("is it a null server? `prony serve null` starts one"));
        }
        let host = self.target.as_ref().map(|target| target.host.clone());
        Ok(Some(calibration_point(step, &result, after.since(&before), host, server.has_room)))
    }
}
