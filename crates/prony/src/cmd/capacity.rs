//! `prony capacity`: how much a server carries.

use prony_model::{CapacityOutcome, CapacityResult, CapacityTrial, FindingCode, TrialPurpose, Verdict};
use prony_report::{capacity, rate, seconds};
use prony_study::{LoadError, LoadRunner as _, TrialPlan, TrialRunner};

use super::loads::{Loader, cli_error};
use crate::args::CapacityArgs;
use crate::cli_error::CliError;
use crate::cmd::run::seed;
use crate::exit::Exit;
use crate::render::render_capacity;
use crate::resolve::capacity::{ResolvedArgs, What, resolve};
use crate::{commit, output, terminal};

/// Searches what `args` mean, and reports.
pub(crate) fn capacity(args: &CapacityArgs) -> Result<Exit, CliError> {
    let ResolvedArgs { what, calibrated, format, destination, quiet } = resolve(args, seed()?)?;
    let plan = match &what {
        What::Rate(live) => &live.plan,
        What::Users(scaling) => &scaling.plan,
    };
    let mut loader = Loader::of(&args.fleet, &args.http.wire, plan, calibrated, quiet, args.time)?;
    let searched = match &what {
        What::Rate(live) => live.search(&mut loader),
        What::Users(scaling) => scaling.measure(&mut loader),
    };
    loader.status.write("");
    if let Err(LoadError::Asked(_) | LoadError::Target(_)) = &searched {
        // The agents' results are of the pilot alone: they need not be kept.
        loader.reported();
    }
    let mut result = searched.map_err(cli_error)?;
    commit::note(&mut result.environment);
    result.environment.load_average_after = prony_engine::load_average();
    output::print(&render_capacity(&result, format, &terminal::style()))?;
    if let Some(destination) = destination {
        destination.write(prony_model::capacity_to_json(&result))?;
    }
    loader.reported();
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

impl TrialRunner for Loader {
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
        self.line(&capacity::trial_line(trial));
    }
}
