//! The commits between two builds. They are listed in the worker's own thread, from the lab's own copy of the repository:
//! never while something is measured, and never for a request that somebody waits for.

use prony_supervisor::Cancel;

use super::checkout::Fetcher;
use super::worker::{Tools, persist};
use crate::model::{CommitRange, Definition, Origin, ProjectId, RangeState};
use crate::store::{StoreError, commits, projects};

/// Commits of a list: who reads on reads at the code host.
const LISTED_MAX: u32 = 50;

/// The commits from `base` to `tip`, or why they can't be listed.
pub(super) fn list(
    fetcher: &Fetcher,
    definition: &Definition,
    [base, tip]: [&str; 2],
    cancel: &Cancel,
) -> CommitRange {
    let found = match &definition.origin {
        Origin::Repository(address) => fetcher
            .commits_between(address, [base, tip], LISTED_MAX, cancel)
            .map_err(|error| error.summary()),
        Origin::Folder(_) => {
            Err("a folder has no list of commits: register the project as a repository".to_owned())
        }
    };
    let range = CommitRange {
        base: base.to_owned(),
        tip: tip.to_owned(),
        state: RangeState::Listed,
        commits: Vec::new(),
        ahead: 0,
        behind: 0,
        error: None,
    };
    match found {
        Ok(found) => {
            CommitRange { commits: found.commits, ahead: found.ahead, behind: found.behind, ..range }
        }
        Err(error) => CommitRange { state: RangeState::Failed, error: Some(error), ..range },
    }
}

/// Makes the list that has waited longest, if one waits.
pub(super) fn list_wanted(tools: &Tools, cancel: &Cancel) -> Result<(), StoreError> {
    let store = &tools.lab.store;
    let Some((id, wanted)) = store.read_blocking(commits::wanted)? else { return Ok(()) };
    let project = store.read_blocking(|tx| projects::by_id(tx, id))?;
    let definition = project.map(|project| Definition::read(&project.definition));
    let found = match definition {
        Some(Ok(definition)) => list(&tools.fetcher, &definition, [&wanted.base, &wanted.tip], cancel),
        _ => {
            let error = "the definition of its project can't be read: correct it".to_owned();
            CommitRange { state: RangeState::Failed, error: Some(error), ..wanted }
        }
    };
    // The lab ends: the next one makes the list.
    if cancel.is_cancelled() {
        return Ok(());
    }
    keep(tools, id, found)
}

/// Keeps a list; one that can't be kept now is made again when somebody wants it.
pub(super) fn keep(tools: &Tools, project: ProjectId, found: CommitRange) -> Result<(), StoreError> {
    persist(&tools.lab.store, move |tx| commits::keep(tx, project, &found))
}
