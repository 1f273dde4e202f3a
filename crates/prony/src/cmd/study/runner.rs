//! The engine, for studies: what `prony run`, `probe` and `exec` do, without their reports.

use prony_model::{ExecEvent, ExecPlan, ExecResult, ProbePlan, ProbeResult, RunEvent, RunPlan, RunResult};
use prony_study::{Runner, RunnerError};
use prony_supervisor::Watchdog;

use crate::cli_error::CliError;
use crate::progress::ProgressLine;
use crate::{calibration, commit, signals};

/// Measures on this machine.
pub(super) struct Local {
    control: prony_engine::Control,
    series: prony_exec::Control,
    /// Started with the first command.
    watchdog: Option<Watchdog>,
}

impl Local {
    /// One that the first Ctrl-C ends, and the second one for good.
    pub(super) fn new() -> Result<Self, CliError> {
        let local = Self {
            control: prony_engine::Control::default(),
            series: prony_exec::Control::new()?,
            watchdog: None,
        };
        let (control, series, leaving) = (local.control.clone(), local.series.clone(), local.series.clone());
        let stop = move || {
            control.stop();
            series.stop();
            ProgressLine::stopping();
        };
        // Targets need no word: their guardians see that this process is gone.
        signals::on_interrupts(stop, move || leaving.kill())?;
        Ok(local)
    }

    /// What decides whether the study is to end.
    pub(super) fn control(&self) -> prony_engine::Control {
        self.control.clone()
    }
}

impl Runner for Local {
    fn run(
        &mut self,
        plan: &RunPlan,
        calibration: bool,
        sink: &mut dyn FnMut(RunEvent),
    ) -> Result<RunResult, RunnerError> {
        let mut result = prony_engine::run(plan, &self.control, &mut |event| sink(event)).map_err(refused)?;
        commit::note(&mut result.environment);
        if calibration {
            calibration::compare(&mut result);
        }
        Ok(result)
    }

    fn probe(&mut self, plan: &ProbePlan) -> Result<ProbeResult, RunnerError> {
        let mut result = prony_engine::probe(plan, &self.control, None, &mut |_| ()).map_err(refused)?;
        commit::note(&mut result.environment);
        Ok(result)
    }

    fn exec(&mut self, plan: &ExecPlan, sink: &mut dyn FnMut(&ExecEvent)) -> Result<ExecResult, RunnerError> {
        if self.watchdog.is_none() {
            let failed = |error| RunnerError(format!("can't start a process beside the command ({error})"));
            let (watchdog, ledger) = Watchdog::start().map_err(failed)?;
            self.series.note_in(ledger);
            self.watchdog = Some(watchdog);
        }
        let mut environment = prony_engine::environment();
        commit::note(&mut environment);
        let mut result =
            prony_exec::run(plan, environment, &self.series, &mut |event| sink(event)).map_err(refused)?;
        result.environment.load_average_after = prony_engine::load_average();
        Ok(result)
    }
}

/// What a command of its own would have reported.
fn refused(error: impl Into<CliError>) -> RunnerError {
    RunnerError(error.into().problem().to_string())
}
