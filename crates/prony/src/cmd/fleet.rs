//! `prony run --agents`: this process leads, agents load.

use prony_model::{Clock, RunAgents, Threshold};
use prony_study::Led;

use crate::args::{Format, RunArgs};
use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::fleet::Leader;
use crate::output::Destination;
use crate::render::{Named, render};
use crate::resolve::{refuse_local_flags, resolve};
use crate::step_summary::StepSummary;
use crate::{output, signals, terminal};

/// Leads the run that `args` mean.
pub(crate) fn run(args: &RunArgs, agents: &RunAgents) -> Result<Exit, CliError> {
    refuse_local_flags(args)?;
    let resolved = resolve(args, super::run::seed()?)?;
    for note in &resolved.notes {
        output::write_stderr(&format!("{note}\n"));
    }
    // What can't be split is wrong before anybody is looked for.
    crate::fleet::shares(&resolved.plan, &agents.load)?;
    let mut leader = Leader::connect(&args.fleet.lead, "prony run")?;
    let stop = leader.stopper();
    signals::on_interrupt(move || {
        output::write_stderr("stopping all agents; Ctrl-C again leaves without a report\n");
        stop();
    })?;
    let quiet = args.quiet;
    let led = leader.lead(&resolved.plan, agents, &mut |event| {
        if !quiet {
            let line = prony_report::clean(&prony_lab::describe_event(&event));
            output::write_stderr(&format!("{line}\n"));
        }
    })?;
    let report = Report {
        target_commit: resolved.target_commit.clone(),
        thresholds: args.thresholds.all().collect(),
        allow_undecided: args.thresholds.allow_undecided,
        format: resolved.format,
        clock: resolved.clock,
        destination: resolved.destination.as_ref(),
        step_summary: resolved.step_summary.as_ref(),
    };
    let exit = report.write(led)?;
    leader.reported();
    Ok(exit)
}

/// What is to be made of a run of agents.
pub(super) struct Report<'a> {
    /// What the target is, as typed.
    pub(super) target_commit: Option<String>,
    /// What is required.
    pub(super) thresholds: Vec<Threshold>,
    /// Whether a threshold that is neither met nor missed is good enough.
    pub(super) allow_undecided: bool,
    /// What stdout gets.
    pub(super) format: Format,
    /// The distribution for formats of one.
    pub(super) clock: Clock,
    /// Where the whole result goes.
    pub(super) destination: Option<&'a Destination>,
    /// The summary of the pipeline's step, which gets the report, too.
    pub(super) step_summary: Option<&'a StepSummary>,
}

impl Report<'_> {
    /// Writes the report of a run that has begun; says why there is none otherwise.
    pub(super) fn write(self, led: Led) -> Result<Exit, CliError> {
        let Led { fleet, failure, interrupted, .. } = led;
        let Some(mut fleet) = fleet else {
            return match failure {
                Some(failure) => Err(CliError::usage(failure)),
                None => Ok(Exit::Interrupted),
            };
        };
        fleet.merged.target_commit = self.target_commit;
        fleet.merged.thresholds =
            self.thresholds.iter().map(|threshold| threshold.evaluate(&fleet.merged)).collect();
        let rendered = match self.format {
            Format::Json => prony_model::fleet_to_json(&fleet),
            Format::Text => prony_report::fleet::text(&fleet, &terminal::style()),
            Format::Html => prony_report::html::fleet(&fleet),
            // The other formats know runs alone: the merged figures are one.
            format => render(&[Named { file: "", result: &fleet.merged }], format, self.clock)
                .map_err(|error| CliError::internal(error.to_string()))?,
        };
        output::print(&rendered)?;
        if let Some(destination) = self.destination {
            destination.write(prony_model::fleet_to_json(&fleet))?;
        }
        if let Some(summary) = self.step_summary {
            summary.append(&prony_report::fleet::markdown(&fleet))?;
        }
        if let Some(failure) = failure {
            output::write_stderr(&format!("error: {}\n", prony_report::clean(&failure)));
            return Ok(Exit::Invalid);
        }
        Ok(match Exit::of_required(&fleet.merged, self.allow_undecided) {
            _ if interrupted => Exit::Interrupted,
            exit => exit,
        })
    }
}
