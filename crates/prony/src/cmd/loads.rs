//! Loads one after the other, by the engine of this process: for `prony capacity` and `prony overload`.

use std::time::Duration;

use prony_engine::Control;
use prony_model::{Calibration, RunEvent, RunPlan, RunResult};
use prony_study::{LoadError, LoadRunner};

use crate::cli_error::CliError;
use crate::progress::StatusLine;
use crate::{calibration, clock, output, signals, terminal};

/// The engine, with a line for what it does.
pub(super) struct LoadEngine {
    began: Duration,
    control: Control,
    known: Option<Calibration>,
    pub(super) status: StatusLine,
    /// Whether a line is written for each load, where no terminal shows progress.
    lines: bool,
    /// Limit on the time of all loads, to be shown.
    pub(super) time: Option<Duration>,
}

impl LoadEngine {
    /// Compares its runs with what is known of this machine, where `calibrated`.
    pub(super) fn new(calibrated: bool, quiet: bool, time: Option<Duration>) -> Result<Self, CliError> {
        let control = signals::control()?;
        Ok(Self {
            began: clock::monotonic(),
            control,
            known: if calibrated { calibration::load(&prony_engine::environment()) } else { None },
            status: StatusLine::new(quiet),
            lines: !quiet && !terminal::has_progress_line(),
            time,
        })
    }

    /// Puts the load of `plan` on its target.
    pub(super) fn load(
        &mut self,
        plan: &RunPlan,
        sink: &mut dyn FnMut(&StatusLine, RunEvent),
    ) -> Result<RunResult, CliError> {
        let mut result = prony_engine::run(plan, &self.control, &mut |event| sink(&self.status, event))?;
        if let Some(known) = &self.known {
            result.compare_with(known);
        }
        Ok(result)
    }

    /// Says what came of a load.
    pub(super) fn line(&self, line: &str) {
        if self.lines {
            output::write_stderr(&format!("{}\n", prony_report::clean(line)));
        }
    }
}

impl LoadRunner for LoadEngine {
    type Error = CliError;

    fn run(&mut self, plan: &RunPlan) -> Result<RunResult, CliError> {
        self.load(plan, &mut |_, _| {})
    }

    fn elapsed(&self) -> Duration {
        clock::monotonic().saturating_sub(self.began)
    }

    fn pause(&mut self, length: Duration) {
        std::thread::sleep(length);
    }

    fn describe(error: &CliError) -> String {
        error.in_a_line()
    }
}

/// Why nothing was measured.
pub(super) fn cli_error(error: LoadError<CliError>) -> CliError {
    match error {
        LoadError::Run(error) => error,
        LoadError::Target(problem) => CliError::of_target(problem),
        LoadError::Asked(problem) => CliError::from(problem),
    }
}
