//! `prony run --agents`: this process leads, agents load.

use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use prony_fleet::bus::NatsBus;
use prony_fleet::controller::{EVENTS_MAX, Line, Outcome, RunSettings, Signer, UNATTENDED, drive};
use prony_fleet::protocol::{PAYLOAD_MAX, RunName, Subject, WirePlan};
use prony_model::{RunPlan, Threshold, split};

use super::agent::broker;
use crate::args::{AgentsWanted, Format, RunArgs};
use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::render::{Named, render};
use crate::resolve::{ResolvedArgs, resolve};
use crate::{lab_key, output, signals, terminal};

/// Bytes of a plan at most: one message, less what is around it.
const PLAN_BYTES_MAX: usize = PAYLOAD_MAX - (16 << 10);

/// Leads the run that `args` mean.
pub(crate) fn run(args: &RunArgs, wanted: &AgentsWanted) -> Result<Exit, CliError> {
    refuse_local_flags(args)?;
    let resolved = resolve(args, super::run::seed()?)?;
    for note in &resolved.notes {
        output::write_stderr(&format!("{note}\n"));
    }
    let plan = &resolved.plan;
    let agents = wanted.0.count();
    // `--threads` is about a machine, here about each.
    let plans = split(plan, &vec![plan.threads; agents])?;
    let of = plan.threads.saturating_mul(u32::try_from(agents).unwrap_or(u32::MAX));
    let whole = RunPlan { threads: of, ..plan.clone() };
    let (key, path) = lab_key::private(args.fleet.lab_key.as_deref())?;
    let epoch = lab_key::Epoch::next(&path)?;
    let settings = RunSettings {
        run: RunName::new(&format!("r{}", epoch.number)).expect("invariant: digits make a name"),
        signer: Arc::new(Signer::new(Arc::new(key), epoch.number)),
        wanted: wanted.0.clone(),
        plans: packed(plans)?,
        version: env!("PRONY_VERSION").to_owned(),
        deadline_ms: milliseconds(deadline(plan)?),
        max_unattended_ms: milliseconds(UNATTENDED),
    };
    let outcome = lead(args, settings)?;
    report(args, &resolved, &whole, outcome)
}

/// Plans as they are sent.
fn packed(plans: Vec<RunPlan>) -> Result<Vec<WirePlan>, CliError> {
    let packed: Vec<WirePlan> = plans.into_iter().map(WirePlan::pack).collect();
    match packed.iter().map(WirePlan::bytes).max() {
        Some(bytes) if bytes > PLAN_BYTES_MAX => Err(CliError::usage(format!(
            "the load takes {bytes} bytes to describe, and agents are sent {PLAN_BYTES_MAX} at most"
        ))
        .hint("is the body, or a feed of the scenario, that long?")),
        _ => Ok(packed),
    }
}

/// Connects to the broker and leads the run to its end.
fn lead(args: &RunArgs, settings: RunSettings) -> Result<Outcome, CliError> {
    let options = broker(&args.fleet.broker, "prony run".to_owned(), false)?;
    let (sender, events) = sync_channel(EVENTS_MAX);
    let arrived = sender.clone();
    let sink = move |event| {
        // What finds no room is sent again by the agents.
        drop(arrived.try_send(Line::Bus(event)));
    };
    let patterns = Subject::OF_CONTROLLER.map(str::to_owned);
    let bus = NatsBus::connect(options, &patterns, Box::new(sink))
        .map_err(|error| CliError::target_failed(error.to_string()))?;
    signals::on_interrupt(move || {
        output::write_stderr("stopping all agents; Ctrl-C again leaves without a report\n");
        drop(sender.send(Line::Interrupt));
    })?;
    let quiet = args.quiet;
    // Results are in the memory of this process, which writes them to the file of --json when all are there.
    let mut store = |_, _, _: &[u8]| true;
    Ok(drive(settings, &bus, &events, &mut store, &mut |event| {
        if !quiet {
            output::write_stderr(&format!("{}\n", prony_report::clean(&prony_lab::describe_event(&event))));
        }
    }))
}

/// The report of a run that has begun; why there is none otherwise.
fn report(
    args: &RunArgs,
    resolved: &ResolvedArgs,
    whole: &RunPlan,
    outcome: Outcome,
) -> Result<Exit, CliError> {
    let measured = outcome.agents.iter().any(|agent| agent.result.is_some());
    let (Some(start_ns), true) = (outcome.start_ns, measured) else {
        return match outcome.failure {
            Some(failure) => Err(CliError::usage(failure)),
            None => Ok(Exit::Interrupted),
        };
    };
    let agents = outcome.agents.iter().map(|agent| agent.outcome(outcome.failure.as_deref())).collect();
    let mut fleet = prony_summary::merge(whole, start_ns, agents);
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
    if let Some(failure) = outcome.failure {
        output::write_stderr(&format!("error: {}\n", prony_report::clean(&failure)));
        return Ok(Exit::Invalid);
    }
    Ok(match Exit::of_required(&fleet.merged, args.thresholds.allow_undecided) {
        _ if outcome.interrupted => Exit::Interrupted,
        exit => exit,
    })
}

/// When the load of an agent is ended, whatever happens.
fn deadline(plan: &RunPlan) -> Result<Duration, CliError> {
    prony_fleet::controller::deadline(plan).ok_or_else(|| {
        CliError::usage("a number of requests alone has no known end, and agents need one")
            .hint("add --duration TIME")
    })
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
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
        (!tls.cacert.is_empty(), "--cacert"),
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
