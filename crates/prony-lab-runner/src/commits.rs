//! The commits between two builds. They are listed in the worker's own thread, from the lab's own copy of the repository:
//! never while something is measured, and never for a request that somebody waits for.

use prony_supervisor::Cancel;

use super::build::Job;
use super::checkout::Fetcher;
use super::worker::{Tools, persist};
use prony_lab_model::clock;
use prony_lab_model::{
    Bisect, BisectState, BuildId, CANDIDATES_MAX, Candidate, CommitRange, Definition, Origin, RangeState,
};
use prony_lab_store::{StoreError, bisects, builds, commits, projects};

/// Commits of a list: who reads on reads at the code host.
const LISTED_MAX: u32 = 50;

/// The commits from `base` to `tip`, or why they can't be listed.
fn list(fetcher: &Fetcher, definition: &Definition, [base, tip]: [&str; 2], cancel: &Cancel) -> CommitRange {
    let found = match &definition.origin {
        Origin::Repository(address) => fetcher
            .commits_between(address, [base, tip], (LISTED_MAX, false), cancel)
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

/// The commits from `base` to `tip` of a build, unless they are listed already. What can't be read or listed fails no build.
pub(super) fn between(job: &Job<'_>, base: &str, tip: &str) -> Option<CommitRange> {
    let (definition, project) = (job.definition?, job.detail.build.project?);
    if base == tip || matches!(definition.origin, Origin::Folder(_)) {
        return None;
    }
    let known = job.tools.lab.store.read_blocking(|tx| commits::range(tx, project, base, tip)).ok()?;
    if known.is_some_and(|range| range.state == RangeState::Listed) {
        return None;
    }
    let found = list(&job.tools.fetcher, definition, [base, tip], job.cancel);
    Some(found).filter(|_| !job.cancel.is_cancelled())
}

/// The same since the baseline.
pub(super) fn since(job: &Job<'_>, baseline: BuildId) -> Option<CommitRange> {
    let found = job.tools.lab.store.read_blocking(|tx| builds::one(tx, baseline)).ok()??;
    between(job, &found.build.commit?, &job.sources.last()?.commit)
}

/// Makes the lists that have waited longest, if some wait: one for pages, and one for a bisect.
pub(super) fn list_wanted(tools: &Tools, cancel: &Cancel) -> Result<(), StoreError> {
    list_range(tools, cancel)?;
    begin_bisect(tools, cancel)
}

fn list_range(tools: &Tools, cancel: &Cancel) -> Result<(), StoreError> {
    let store = &tools.lab.store;
    let Some((id, wanted)) = store.read_blocking(commits::wanted)? else { return Ok(()) };
    let project = store.read_blocking(|tx| projects::by_id(tx, id))?;
    let definition = project.map(|project| Definition::read(&project.definition));
    let found = if let Some(Ok(definition)) = definition {
        list(&tools.fetcher, &definition, [&wanted.base, &wanted.tip], cancel)
    } else {
        let error = "the definition of its project can't be read: correct it".to_owned();
        CommitRange { state: RangeState::Failed, error: Some(error), ..wanted }
    };
    // The lab ends: the next one makes the list.
    if cancel.is_cancelled() {
        return Ok(());
    }
    persist(store, move |tx| commits::keep(tx, id, &found))
}

/// Gives a bisect the commits that it is to choose from.
fn begin_bisect(tools: &Tools, cancel: &Cancel) -> Result<(), StoreError> {
    let store = &tools.lab.store;
    let Some(bisect) = store.read_blocking(bisects::listing)? else { return Ok(()) };
    let project = store.read_blocking(|tx| projects::by_id(tx, bisect.project))?;
    let definition = project.and_then(|project| Definition::read(&project.definition).ok());
    let found = candidates(&tools.fetcher, definition.as_ref(), &bisect, cancel);
    if cancel.is_cancelled() {
        return Ok(());
    }
    let now = clock::wall();
    let next = match found {
        Ok(candidates) => Bisect { state: BisectState::Running, candidates, ..bisect },
        Err(reason) => {
            Bisect { state: BisectState::Failed, reason: Some(reason), ended_at: Some(now), ..bisect }
        }
    };
    match persist(store, move |tx| bisects::advance(tx, BisectState::Listing, &next, now)) {
        // Somebody cancelled it meanwhile.
        Err(StoreError::Conflict(_)) => Ok(()),
        done => done,
    }
}

/// The commits that may be the first slow one, the oldest first; or why there is no choosing.
fn candidates(
    fetcher: &Fetcher,
    definition: Option<&Definition>,
    of: &Bisect,
    cancel: &Cancel,
) -> Result<Vec<Candidate>, String> {
    let Some(Definition { origin: Origin::Repository(address), .. }) = definition else {
        return Err("its project is no repository any more: correct its definition".to_owned());
    };
    let most = (CANDIDATES_MAX, true);
    let found = fetcher.commits_between(address, [&of.base, &of.tip], most, cancel);
    let found = found.map_err(|error| error.summary())?;
    if found.behind > 0 {
        return Err(format!(
            "the commit of build {} is no descendant of that of build {}: choose two builds of one branch",
            of.bad, of.good
        ));
    }
    if found.ahead > u64::from(CANDIDATES_MAX) || found.commits.is_empty() {
        return Err(format!(
            "{} commits lie between the two builds, and 1 to {CANDIDATES_MAX} can be bisected: choose builds that are \
             closer to each other",
            found.ahead
        ));
    }
    let candidate = |commit| Candidate { commit, build: None, outcome: None };
    Ok(found.commits.into_iter().rev().map(candidate).collect())
}
