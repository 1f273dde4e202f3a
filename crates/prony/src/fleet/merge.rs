//! One report of the results in the folder of a run.

use prony_fleet::controller::{RunFolder, agent_outcome, server_outcome};
use prony_fleet::protocol::{AgentName, ResultKind};
use prony_model::{Absence, AbsenceKind, AgentOutcome, ClockOffset, FleetResult, RunPlan};
use prony_summary::{Grid, Merger};

/// An agent's part of a run.
pub(crate) struct Part {
    /// Whose it is.
    pub(crate) name: AgentName,
    /// How its clock stands.
    pub(crate) clock: Option<ClockOffset>,
    /// What is said of it where it has no result.
    pub(crate) absence: Absence,
}

/// Merges the results of `parts`, which shared the load `whole` that was to start at `start_ns`, and what the `observer`
/// measured on the server's host. Reads them one by one: those of a thousand agents are longer than what comes of them.
pub(crate) fn merged(
    whole: &RunPlan,
    start_ns: u64,
    parts: &[Part],
    observer: Option<&Part>,
    folder: &RunFolder,
) -> FleetResult {
    let grid = Grid::of(parts.iter().filter_map(|part| pieces(folder, &part.name)));
    let mut merger = Merger::new(whole.clone(), start_ns, grid);
    for part in parts {
        merger.add(outcome(part, folder));
    }
    if let Some(observer) = observer {
        let (result, otherwise) = stored(observer, folder);
        let result = result.as_ref().map(|(is, bytes)| (*is, bytes.as_slice()));
        merger.add_server(server_outcome(observer.name.as_str(), observer.clock, result, otherwise));
    }
    merger.finish()
}

/// The result of `part`, and what is said where it has none.
fn stored(part: &Part, folder: &RunFolder) -> (Option<(ResultKind, Vec<u8>)>, Absence) {
    match folder.result(&part.name) {
        Ok(result) => (result, part.absence.clone()),
        Err(error) => {
            let reason = format!("its result can't be read: {error}");
            (None, Absence { kind: AbsenceKind::Failed, reason })
        }
    }
}

fn outcome(part: &Part, folder: &RunFolder) -> AgentOutcome {
    let (result, otherwise) = stored(part, folder);
    let result = result.as_ref().map(|(is, bytes)| (*is, bytes.as_slice()));
    agent_outcome(part.name.as_str(), part.clock, result, otherwise)
}

/// Length and number of the pieces of time in an agent's result.
fn pieces(folder: &RunFolder, name: &AgentName) -> Option<(u64, usize)> {
    match folder.result(name).ok()?? {
        (ResultKind::Finished, json) => prony_model::stored_pieces(std::str::from_utf8(&json).ok()?),
        (ResultKind::Failed, _) => None,
    }
}
