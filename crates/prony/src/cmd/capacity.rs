//! `prony capacity`: how much a server carries.

use std::time::Duration;

use prony_engine::Control;
use prony_model::{
    Calibration, CapacityOutcome, CapacityResult, CapacityTrial, FindingCode, RunPlan, RunResult,
    TrialPurpose, Verdict,
};
use prony_report::{capacity, rate, seconds};
use prony_study::{CapacityError, TrialPlan, TrialRunner};

use crate::args::CapacityArgs;
use crate::cli_error::CliError;
use crate::cmd::run::seed;
use crate::exit::Exit;
use crate::progress::StatusLine;
use crate::render::render_capacity;
use crate::resolve::capacity::{ResolvedArgs, What, resolve};
use crate::{calibration, clock, commit, output, signals, terminal};

/// Searches what `args` mean, and reports.
pub(crate) fn capacity(args: &CapacityArgs) -> Result<Exit, CliError> {
    let ResolvedArgs { what, calibrated, format, destination, quiet } = resolve(args, seed()?)?;
    let control = signals::control()?;
    let known = if calibrated { calibration::load(&prony_engine::environment()) } else { None };
    let mut runner = Runner {
        began: clock::monotonic(),
        control,
        known,
        status: StatusLine::new(quiet),
        lines: !quiet && !terminal::has_progress_line(),
        time: args.time,
    };
    let searched = match &what {
        What::Rate(live) => live.search(&mut runner),
        What::Users(scaling) => scaling.measure(&mut runner),
    };
    drop(runner);
    let mut result = searched.map_err(|error| match error {
        CapacityError::Run(error) => error,
        CapacityError::Target(problem) => CliError::of_target(problem),
        CapacityError::Asked(problem) => CliError::from(problem),
    })?;
    commit::note(&mut result.environment);
    result.environment.load_average_after = prony_engine::load_average();
    output::print(&render_capacity(&result, format, &terminal::style()))?;
    if let Some(destination) = destination {
        destination.write(prony_model::capacity_to_json(&result))?;
    }
    Ok(exit(&result))
}

/// By hand before all, then whether anything is known, then whether the planned peak is carried.
fn exit(result: &CapacityResult) -> Exit {
    let peak_is_missed = |most: f64| result.peak_per_s.is_some_and(|peak| peak > most);
    let is_gone = result.findings.iter().any(|finding| finding.code == FindingCode::NotRecovered);
    if result.interrupted {
        return Exit::Interrupted;
    }
    match result.outcome {
        // Nothing is known of a server that is gone.
        CapacityOutcome::Unknown { .. } if is_gone => Exit::TargetFailed,
        CapacityOutcome::Unknown { .. } => Exit::Invalid,
        _ if result.verdict == Verdict::Invalid => Exit::Invalid,
        CapacityOutcome::Below { .. } => Exit::ThresholdMissed,
        CapacityOutcome::Between { upper_per_s, .. } if peak_is_missed(upper_per_s) => Exit::ThresholdMissed,
        CapacityOutcome::Between { lower_per_s, .. } | CapacityOutcome::AtLeast { lower_per_s, .. }
            if peak_is_missed(lower_per_s) =>
        {
            Exit::Invalid
        }
        _ => Exit::Good,
    }
}

/// The engine, with a line for what it does.
struct Runner {
    began: Duration,
    control: Control,
    known: Option<Calibration>,
    status: StatusLine,
    /// Whether a line is written for each trial, where no terminal shows progress.
    lines: bool,
    time: Option<Duration>,
}

impl TrialRunner for Runner {
    type Error = CliError;

    fn run(&mut self, plan: &RunPlan) -> Result<RunResult, CliError> {
        let mut result = prony_engine::run(plan, &self.control, &mut |_| {})?;
        if let Some(known) = &self.known {
            result.compare_with(known);
        }
        Ok(result)
    }

    fn elapsed(&self) -> Duration {
        clock::monotonic().saturating_sub(self.began)
    }

    fn pause(&mut self, length: Duration) {
        std::thread::sleep(length);
    }

    fn begins(&mut self, plan: &TrialPlan) {
        let limit = self.time.map(|time| format!(" of {}", seconds(time.as_secs_f64()))).unwrap_or_default();
        let what = match plan.purpose {
            TrialPurpose::Users => format!("{} users", rate(plan.rate_per_s)),
            purpose => format!("{} /s ({})", rate(plan.rate_per_s), purpose.name()),
        };
        self.status.write(&format!(
            "{what} for {} · {}{limit}",
            seconds(plan.length.as_secs_f64()),
            seconds(self.elapsed().as_secs_f64().round())
        ));
    }

    fn ended(&mut self, trial: &CapacityTrial) {
        if self.lines {
            output::write_stderr(&format!("{}\n", prony_report::clean(&capacity::trial_line(trial))));
        }
    }

    fn describe(error: &CliError) -> String {
        error.in_a_line()
    }
}
