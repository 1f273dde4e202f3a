//! `prony run --k8s`: a run whose agents are pods. A bundle has all that it needs: agents, a broker, the process that leads,
//! keys for this one run. It is printed for `kubectl create`, or created here and followed to its end (`--apply`).

mod apply;
mod bundle;
mod checks;
mod keys;
mod kubectl;
pub(crate) mod lead;
mod pods;
pub(crate) mod result;
mod run_file;

use std::time::Duration;

use prony_model::Threshold;

use super::fleet::Report;
use crate::args::{Format, RunArgs};
use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::fleet::{packed, shares};
use crate::resolve::{refuse_local_flags, resolve};
use crate::{args, output};
use bundle::Bundle;
use run_file::RunFile;

/// Images may have to be fetched and nodes started before the load: agents are waited for so long.
const AGENTS_WITHIN: Duration = Duration::from_mins(10);
/// The result waits so long for somebody to collect it.
const HOLD: Duration = Duration::from_hours(1);

/// Prints the bundle of what `args` mean with `count` agents, or has a cluster run it.
pub(crate) fn run(args: &RunArgs, count: u32) -> Result<Exit, CliError> {
    refuse_local_flags(args)?;
    let pods = checks::pods(&args.k8s, count)?;
    if !args.k8s.apply {
        refuse_what_needs_a_result(args)?;
    }
    let resolved = resolve(args, super::run::seed()?)?;
    for note in &resolved.notes {
        output::write_stderr(&format!("{note}\n"));
    }
    let choice = run_file::choice(count);
    let (plans, whole) = shares(&resolved.plan, &choice)?;
    let cpus = checks::cpus(&args.k8s, resolved.plan.threads)?;
    let policy = checks::policy(&resolved.plan, &plans)?;
    let thresholds: Vec<Threshold> = args.thresholds.all().collect();
    let wire = packed(vec![resolved.plan.clone()])?.remove(0);
    let file = RunFile {
        agents: count,
        plan: wire,
        thresholds: thresholds.iter().map(ToString::to_string).collect(),
        allow_undecided: args.thresholds.allow_undecided,
        target_commit: resolved.target_commit.clone(),
        agents_within_s: AGENTS_WITHIN.as_secs(),
        hold_s: HOLD.as_secs(),
    };
    let bundle = Bundle::new(&file, &pods, cpus, &policy, &whole)?;
    if pods_may_share_a_node(&args.k8s) {
        output::write_stderr(
            "note: agents may land on the node of the server, and slow it down: --avoid LABEL=VALUE, a label of its pods\n",
        );
    }
    if !args.k8s.apply {
        output::print(&bundle.text())?;
        output::write_stderr(&format!(
            "agents: {count}, and what leads them, with keys for this one run: keep them out of repositories\n{}",
            bundle.advice()
        ));
        return Ok(Exit::Good);
    }
    let report = Report {
        target_commit: resolved.target_commit.clone(),
        thresholds,
        allow_undecided: args.thresholds.allow_undecided,
        format: resolved.format,
        clock: resolved.clock,
        destination: resolved.destination.as_ref(),
        step_summary: resolved.step_summary.as_ref(),
    };
    apply::apply(&bundle, report, args.quiet)
}

/// What the printed bundle has no use for.
fn refuse_what_needs_a_result(args: &RunArgs) -> Result<(), CliError> {
    let flags = [
        (args.json.is_some(), "--json"),
        (args.output.is_some_and(|it| it != Format::Text), "--output"),
        (args.github_summary, "--github-summary"),
    ];
    match flags.iter().find(|(given, _)| *given) {
        Some((_, flag)) => {
            Err(CliError::usage(format!("{flag} is about a result, and --k8s prints manifests"))
                .hint("add --apply, which fetches the result, or leave it out"))
        }
        None => Ok(()),
    }
}

fn pods_may_share_a_node(args: &args::K8sArgs) -> bool {
    args.avoid.is_none()
}
