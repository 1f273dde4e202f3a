//! A load that agents make: led by this process, measured by theirs. Decision 026 has the reasons.

use prony_lab_core::fleet::{Fleet, Led, LoadOrder, merged_files};
use prony_lab_core::policy::{Kind, kind};
use prony_lab_model::{AdHocLoad, BuildVerdict, LoadAgents, TaskState};
use prony_model::Verdict;
use prony_report::Style;

use super::build::{Done, Job};
use super::study::Study;
use super::task::Log;

/// Has agents make the load, and takes in what they measured.
pub(super) fn run(job: &mut Job<'_>, load: &AdHocLoad, agents: &LoadAgents, log: &mut Log<'_>) -> Done {
    let lab = &job.tools.lab;
    let Some(fleet) = lab.fleet.get() else {
        return Done::failed("this lab leads no agents: start it with `prony lab --nats URL`");
    };
    let agents = match agents.choice() {
        Ok(agents) => agents,
        Err(problem) => return Done::failed(problem.to_string()),
    };
    // Checked here, and on each agent again: the load goes to these addresses and to no others.
    let (mut plan, addresses) = match lab.planned_load_blocking(load, &job.detail.build.requested_by) {
        Ok(planned) => planned,
        Err(reason) => return Done::failed(reason),
    };
    let is_public = addresses.iter().any(|address| kind(address.ip()) == Kind::Public);
    plan.target.connect_to = addresses;
    let build = &job.detail.build;
    let order = LoadOrder { build: build.id, attempt: build.attempt, plan, agents, is_public };
    let cancel = job.cancel;
    let led = fleet.lead(&order, &|| cancel.is_cancelled(), &mut |line| log.line(&prony_report::clean(line)));
    match led {
        Ok(led) => taken_in(job, led, log),
        Err(reason) => {
            log.line(&reason);
            Done::failed(reason)
        }
    }
}

/// Takes in what agents measured.
fn taken_in(job: &mut Job<'_>, led: Led, log: &mut Log<'_>) -> Done {
    let Led { run, received, result, failure, is_interrupted } = led;
    let mut study = Study { agent_run: Some((run, received)), ..Study::default() };
    if let Some(result) = &result {
        log.write(prony_report::fleet::text(result, &Style::default()).as_bytes());
        let is_invalid = result.verdict == Verdict::Invalid;
        study.files = merged_files(result, 1).into();
        study.verdict = Some(if is_invalid { BuildVerdict::Invalid } else { BuildVerdict::NoBaseline });
        study.is_doubtful = is_invalid;
        study.words = is_invalid.then(|| "the numbers are unusable: see the output".to_owned());
    }
    let words = study.words.clone();
    let has_result = result.is_some();
    job.study = Some(study);
    let stopped = job.tools.lab.fleet.get().and_then(Fleet::stopped);
    match failure {
        Some(failure) => {
            log.line(&format!("error: {failure}"));
            Done::failed(failure)
        }
        None if is_interrupted => match stopped {
            Some(stop) => Done::failed(stop.sentence()),
            None => Done { state: TaskState::Cancelled, exit_code: None, reason: None },
        },
        None if !has_result => Done::failed("no agent left a result"),
        None => Done { reason: words, ..Done::good() },
    }
}
