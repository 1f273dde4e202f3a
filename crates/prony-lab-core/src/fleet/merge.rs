//! One result of all agents: for a load that was led to its end, and again for results that arrive after it.

use prony_fleet::clock::Offset;
use prony_fleet::controller::agent_outcome;
use prony_fleet::protocol::ResultKind;
use prony_lab_model::clock;
use prony_lab_store::agent_runs::{self, AgentResultKind, AgentRun, AgentSlice};
use prony_lab_store::{Store, StoreError, figures, files};
use prony_model::{Absence, AbsenceKind, AgentOutcome, FleetResult, RunPlan, fleet_to_json, to_json};

/// Who writes the notes about results that arrive late.
const AUTHOR: &str = "lab";

/// The files of revision `revision` of a merged result, which is 1 for the first: what all agents measured, and the merged
/// figures as those of one run. No revision replaces another.
pub fn merged_files(result: &FleetResult, revision: u32) -> [(String, Vec<u8>); 2] {
    let number = if revision <= 1 { String::new() } else { format!("-{revision}") };
    [
        (format!("agents{number}.json"), fleet_to_json(result).into_bytes()),
        (format!("run{number}.json"), to_json(&result.merged).into_bytes()),
    ]
}

/// Merges all results of `run` that are here into a new revision, with a note on its build. The build's verdict stands.
pub(super) fn revise(store: &Store, run: &AgentRun) -> Result<(), StoreError> {
    let bytes = store.read_blocking(|tx| agent_runs::results(tx, run))?;
    let merged = merged(run, &bytes);
    let run = run.clone();
    store.write_blocking(move |tx| {
        // Another result may have arrived since: then all of this is done again, with that.
        let revision = agent_runs::set_merged(tx, &run.name, run.received)?;
        let Some(result) = &merged else { return Ok(()) };
        let files = merged_files(result, revision);
        for (name, bytes) in &files {
            files::put(tx, run.build, name, bytes)?;
        }
        figures::add_note(tx, run.build, AUTHOR, &note(&run, &files[0].0), clock::wall())
    })
}

fn note(run: &AgentRun, file: &str) -> String {
    let here = run.slices.iter().filter(|slice| slice.result.is_some()).map(|slice| slice.agent.as_str());
    let here: Vec<&str> = here.take(8).collect();
    let more = if run.received as usize > here.len() { ", …" } else { "" };
    format!(
        "Results of agents arrived after the load was over for the lab: {file} has what is here now ({}{more}; {} of {} \
         agents). The build's verdict stands.",
        here.join(", "),
        run.received,
        run.slices.len()
    )
}

/// The parts of a load, each with its result as `bytes` has it.
pub(super) fn results<'a>(
    run: &'a AgentRun,
    bytes: &'a [Option<Vec<u8>>],
) -> impl Iterator<Item = (&'a AgentSlice, Option<(ResultKind, &'a [u8])>)> {
    run.slices.iter().zip(bytes).map(|(slice, bytes)| {
        let result = slice.result.zip(bytes.as_deref()).map(|(is, bytes)| match is {
            AgentResultKind::Finished => (ResultKind::Finished, bytes),
            AgentResultKind::Failed => (ResultKind::Failed, bytes),
        });
        (slice, result)
    })
}

/// The merged result; `None` where no load began.
fn merged(run: &AgentRun, bytes: &[Option<Vec<u8>>]) -> Option<FleetResult> {
    let start_ns = run.start_ns?;
    let plan: RunPlan = serde_json::from_str(&run.plan).ok()?;
    let outcomes: Vec<AgentOutcome> = results(run, bytes)
        .map(|(slice, result)| {
            let offset = slice.clock.map(|(offset_ns, bound_ns)| Offset { offset_ns, bound_ns, rtt_ns: 0 });
            let clock = offset.map(|offset| offset.of_agent());
            let failed = match result {
                Some((ResultKind::Failed, why)) => Some(String::from_utf8_lossy(why).into_owned()),
                _ => None,
            };
            let reason = failed.or(slice.failure.clone()).or(run.failure.clone());
            let kind = if slice.result.is_some() { AbsenceKind::Failed } else { AbsenceKind::Lost };
            let reason = reason.unwrap_or_else(|| "no result arrived".to_owned());
            agent_outcome(&slice.agent, clock, result, Absence { kind, reason })
        })
        .collect();
    let has_any = outcomes.iter().any(|outcome| outcome.result.is_ok());
    has_any.then(|| prony_summary::merge(&plan, start_ns, outcomes))
}
