//! Loads one after the other, by the engine of this process or by agents: for `prony capacity` and `prony overload`.

mod agents;

use std::time::Duration;

use prony_engine::Control;
use prony_model::{Calibration, RunEvent, RunPlan, RunResult};
use prony_study::{Cause, LoadError, LoadRunner, Loaded};

use self::agents::Agents;
use crate::args::{FleetArgs, WireArgs};
use crate::cli_error::CliError;
use crate::progress::StatusLine;
use crate::resolve::refuse_local_means;
use crate::{calibration, clock, output, signals, terminal};

/// What puts the loads on a server, with a line for what it does.
pub(super) struct Loader {
    began: Duration,
    by: By,
    pub(super) status: StatusLine,
    /// Whether a line is written for each load, where no terminal shows progress.
    lines: bool,
    /// Limit on the time of all loads, to be shown.
    pub(super) time: Option<Duration>,
}

/// Who puts them on it.
enum By {
    /// This machine, whose results are compared with what is known of it.
    Engine { control: Control, known: Option<Box<Calibration>> },
    /// Others, which do that themselves.
    Agents(Box<Agents>),
}

/// Why a load could not be put on the server.
#[derive(Debug)]
pub(super) struct LoadFailure {
    error: CliError,
    cause: Cause,
}

impl Loader {
    /// The engine, which compares its results with what is known of this machine where `calibrated`.
    pub(super) fn engine(calibrated: bool, quiet: bool, time: Option<Duration>) -> Result<Self, CliError> {
        let control = signals::control()?;
        let known = if calibrated { calibration::load(&prony_engine::environment()) } else { None };
        Ok(Self::new(By::Engine { control, known: known.map(Box::new) }, quiet, time))
    }

    /// The agents of `fleet` for loads like `plan` where some are asked for, else the engine.
    pub(super) fn of(
        fleet: &FleetArgs,
        wire: &WireArgs,
        plan: &RunPlan,
        calibrated: bool,
        quiet: bool,
        time: Option<Duration>,
    ) -> Result<Self, CliError> {
        let Some(agents) = fleet.agents()? else { return Self::engine(calibrated, quiet, time) };
        refuse_local_means(wire)?;
        let agents = Agents::find(&fleet.lead, agents, plan)?;
        Ok(Self::new(By::Agents(Box::new(agents)), quiet, time))
    }

    fn new(by: By, quiet: bool, time: Option<Duration>) -> Self {
        Self {
            began: clock::monotonic(),
            by,
            status: StatusLine::new(quiet),
            lines: !quiet && !terminal::has_progress_line(),
            time,
        }
    }

    /// Puts the load of `plan` on its target; only the engine has events.
    pub(super) fn load(
        &mut self,
        plan: &RunPlan,
        sink: &mut dyn FnMut(&StatusLine, RunEvent),
    ) -> Result<Loaded, LoadFailure> {
        match &mut self.by {
            By::Engine { control, known } => {
                let run = prony_engine::run(plan, control, &mut |event| sink(&self.status, event));
                let failed = |error| LoadFailure { error: CliError::from(error), cause: Cause::Server };
                let mut result: RunResult = run.map_err(failed)?;
                if let Some(known) = known {
                    result.compare_with(known);
                }
                Ok(result.into())
            }
            By::Agents(agents) => agents.load(plan),
        }
    }

    /// Says what came of a load.
    pub(super) fn line(&self, line: &str) {
        if self.lines {
            output::write_stderr(&format!("{}\n", prony_report::clean(line)));
        }
    }

    /// What agents measured is in a report: it need not be kept.
    pub(super) fn reported(&mut self) {
        if let By::Agents(agents) = &mut self.by {
            agents.reported();
        }
    }
}

impl LoadRunner for Loader {
    type Error = LoadFailure;

    fn run(&mut self, plan: &RunPlan) -> Result<Loaded, LoadFailure> {
        self.load(plan, &mut |_, _| {})
    }

    fn agents(&self) -> Vec<String> {
        match &self.by {
            By::Engine { .. } => Vec::new(),
            By::Agents(agents) => agents.all().to_vec(),
        }
    }

    fn lost(&self) -> Vec<String> {
        match &self.by {
            By::Engine { .. } => Vec::new(),
            By::Agents(agents) => agents.lost().cloned().collect(),
        }
    }

    fn elapsed(&self) -> Duration {
        clock::monotonic().saturating_sub(self.began)
    }

    fn pause(&mut self, length: Duration) {
        std::thread::sleep(length);
    }

    fn describe(failure: &LoadFailure) -> String {
        failure.error.in_a_line()
    }

    fn cause(failure: &LoadFailure) -> Cause {
        failure.cause
    }
}

/// Why nothing was measured.
pub(super) fn cli_error(error: LoadError<LoadFailure>) -> CliError {
    match error {
        LoadError::Run(failure) => failure.error,
        LoadError::Target(problem) => CliError::of_target(problem),
        LoadError::Asked(problem) => CliError::from(problem),
    }
}
