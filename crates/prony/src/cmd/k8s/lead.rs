//! `prony k8s-lead`: the process in a bundle's pod that leads the agents, and holds the result until somebody has it.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use prony_model::{Clock, RunAgents};

use super::result::{RECEIVED, RESULT};
use super::run_file::{RunFile, choice};
use crate::args::{BrokerArgs, Format, K8sLeadArgs, LeadArgs};
use crate::cli_error::CliError;
use crate::clock;
use crate::cmd::fleet::Report;
use crate::exit::Exit;
use crate::fleet::Leader;
use crate::output::{self, Destination};
use crate::{lab_key, signals};

/// How often it is looked whether the result was collected.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Leads the run in the folder of `args`; the exit code is the run's.
pub(crate) fn lead(args: &K8sLeadArgs) -> Result<Exit, CliError> {
    let file = RunFile::read(&args.folder.join("run.json"))?;
    let thresholds = file.thresholds()?;
    let destination = Destination::prepare("--results", &args.results.join(RESULT), false)?;
    let folder =
        tempfile::tempdir().map_err(|error| CliError::internal(format!("no temporary folder ({error})")))?;
    let plan =
        prony_fleet::agent::place(file.plan, &folder.path().join("authorities")).map_err(CliError::usage)?;
    plan.check()?;
    let mut leader = Leader::connect(&lead_args(args, folder.path())?, "prony k8s-lead")?;
    let stopped = Arc::new(AtomicBool::new(false));
    let (stop, flag) = (leader.stopper(), Arc::clone(&stopped));
    signals::on_interrupt(move || {
        flag.store(true, Ordering::Release);
        stop();
    })?;
    let agents = RunAgents::from(choice(file.agents));
    let until = clock::monotonic() + Duration::from_secs(file.agents_within_s);
    let mut shown = String::new();
    while let Err(error) = leader.find(&[&agents]) {
        if stopped.load(Ordering::Acquire) {
            return Ok(Exit::Interrupted);
        }
        if clock::monotonic() >= until {
            return Err(error.hint("are its pods pending? kubectl get pods, kubectl describe pod NAME"));
        }
        let line = error.in_a_line();
        if line != shown {
            output::write_stderr(&format!("waits: {line}\n"));
            shown = line;
        }
    }
    let led = leader.lead(&plan, &agents, &mut |event| {
        output::write_stderr(&format!("{}\n", prony_report::clean(&prony_lab::describe_event(&event))));
    })?;
    let report = Report {
        target_commit: file.target_commit,
        thresholds,
        allow_undecided: file.allow_undecided,
        format: Format::Text,
        clock: Clock::default(),
        destination: Some(&destination),
        step_summary: None,
    };
    let exit = report.write(led)?;
    leader.reported();
    hold(&args.results, Duration::from_secs(file.hold_s), &stopped)?;
    Ok(exit)
}

/// Waits until the result was collected. What nobody collects in time goes to the log.
fn hold(results: &Path, within: Duration, stopped: &AtomicBool) -> Result<(), CliError> {
    output::write_stderr("the result waits to be collected: prony k8s-result\n");
    let until = clock::monotonic() + within;
    while !results.join(RECEIVED).exists() {
        if stopped.load(Ordering::Acquire) || clock::monotonic() >= until {
            output::write_stderr("nobody has collected the result: here it is\n");
            let path = results.join(RESULT);
            let text = fs::read_to_string(&path);
            return output::print(
                &text.map_err(|error| CliError::internal(format!("{}: {error}", path.display())))?,
            );
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// How the broker is reached. The key that signs is copied to `folder`: its epoch is written beside it, and a Secret is read-only.
fn lead_args(args: &K8sLeadArgs, folder: &Path) -> Result<LeadArgs, CliError> {
    let key = folder.join("lab.key");
    let text = lab_key::secret(&args.folder.join("lab.key"))?;
    lab_key::write_secret(&key, &text)
        .map_err(|error| CliError::internal(format!("{}: {error}", key.display())))?;
    Ok(LeadArgs {
        broker: BrokerArgs {
            nats: Some(args.nats.clone()),
            nkey: Some(args.folder.join("lab.nk")),
            nats_cacert: Some(args.folder.join("ca.pem")),
        },
        lab_key: Some(key),
    })
}
