//! `prony run --agents`: this process leads, agents load.

use prony_model::{AgentChoice, Threshold};

use crate::args::{Format, RunArgs};
use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::fleet::{Leader, Led};
use crate::render::{Named, render};
use crate::resolve::{ResolvedArgs, resolve};
use crate::{output, signals, terminal};

/// Leads the run that `args` mean.
pub(crate) fn run(args: &RunArgs, agents: &AgentChoice) -> Result<Exit, CliError> {
    refuse_local_flags(args)?;
    let resolved = resolve(args, super::run::seed()?)?;
    for note in &resolved.notes {
        output::write_stderr(&format!("{note}\n"));
    }
    // What can't be split is wrong before anybody is looked for.
    crate::fleet::shares(&resolved.plan, agents)?;
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
    let exit = report(args, &resolved, led)?;
    leader.reported();
    Ok(exit)
}

/// The report of a run that has begun; why there is none otherwise.
fn report(args: &RunArgs, resolved: &ResolvedArgs, led: Led) -> Result<Exit, CliError> {
    let Led { fleet, failure, interrupted } = led;
    let Some(mut fleet) = fleet else {
        return match failure {
            Some(failure) => Err(CliError::usage(failure)),
            None => Ok(Exit::Interrupted),
        };
    };
    fleet.merged.target_commit.clone_from(&resolved.target_commit);
    let thresholds: Vec<Threshold> = args.thresholds.all().collect();
    fleet.merged.thresholds = thresholds.iter().map(|threshold| threshold.evaluate(&fleet.merged)).collect();
    let rendered = match resolved.format {
        Format::Json => prony_model::fleet_to_json(&fleet),
        Format::Text => prony_report::fleet::text(&fleet, &terminal::style()),
        // The other formats know runs alone: the merged figures are one.
        format => render(&[Named { file: "", result: &fleet.merged }], format, resolved.clock)
            .map_err(|error| CliError::internal(error.to_string()))?,
    };
    output::print(&rendered)?;
    if let Some(destination) = &resolved.destination {
        destination.write(prony_model::fleet_to_json(&fleet))?;
    }
    if let Some(failure) = failure {
        output::write_stderr(&format!("error: {}\n", prony_report::clean(&failure)));
        return Ok(Exit::Invalid);
    }
    Ok(match Exit::of_required(&fleet.merged, args.thresholds.allow_undecided) {
        _ if interrupted => Exit::Interrupted,
        exit => exit,
    })
}

/// What only this machine could do.
fn refuse_local_flags(args: &RunArgs) -> Result<(), CliError> {
    let tls = &args.tls;
    let local = [
        (args.live, "--live"),
        (args.samples.is_some(), "--samples"),
        (args.abort_early, "--abort-early"),
        (args.unix.is_some(), "--unix"),
        (!args.sources.is_empty(), "--source"),
        (!args.server.target_pid.is_empty(), "--target-pid"),
        (args.server.target_cgroup.is_some(), "--target-cgroup"),
        (tls.cert.is_some(), "--cert"),
        (tls.key.is_some(), "--key"),
    ];
    match local.iter().find(|(given, _)| *given) {
        Some((_, flag)) => {
            Err(CliError::usage(format!("{flag} does not work with --agents: it is about one machine")))
        }
        None => Ok(()),
    }
}
