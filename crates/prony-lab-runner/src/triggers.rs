//! Builds that nobody asked for by hand: at their time, and where a branch has a new commit.

use std::collections::HashMap;
use std::time::Duration;

use super::checkout::Fetcher;
use super::git::Credential;
use prony_lab_core::lab::Lab;
use prony_lab_model::clock::{self, Moment};
use prony_lab_model::{BuildRequest, Definition, Origin, ProjectId};
use prony_lab_store::background::Background;
use prony_lab_store::projects::{self, Project};
use prony_lab_store::{StoreError, builds, settings};

/// How often to check what is due.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// In whose name builds are requested.
const BY_CLOCK: &str = "the schedule";
const BY_COMMIT: &str = "a new commit";

/// Requests what is due, until it is dropped.
pub(super) fn start(lab: &Lab, fetcher: Fetcher) -> std::io::Result<Background> {
    let lab = lab.clone();
    let mut last_polled: HashMap<ProjectId, Duration> = HashMap::new();
    Background::start("lab-triggers", move || {
        let found = lab.store.read_blocking(projects::all).unwrap_or_default();
        for project in found.into_iter().filter(|project| project.archived_at.is_none()) {
            let Ok(definition) = lab.definitions.of(&project) else { continue };
            // What fails is tried again with the next poll.
            let _ = by_clock(&lab, &project, &definition);
            let due = definition.triggers.poll.is_some_and(|every| {
                last_polled.get(&project.id).is_none_or(|last| clock::steady().saturating_sub(*last) >= every)
            });
            if due {
                last_polled.insert(project.id, clock::steady());
                let _ = by_commit(&lab, &fetcher, &project, &definition);
            }
        }
        POLL_INTERVAL
    })
}

/// Requests a build of the project's branch where the last one by the clock is long enough ago. The first is due at once.
fn by_clock(lab: &Lab, project: &Project, definition: &Definition) -> Result<(), StoreError> {
    let Some(every) = definition.triggers.every else { return Ok(()) };
    let (key, now) = (format!("trigger-every:{}", project.name), clock::wall());
    let setting = key.clone();
    let last = lab.store.read_blocking(move |tx| settings::setting(tx, &setting))?;
    let last = last.and_then(|text| text.parse().ok()).map(Moment);
    if last.is_some_and(|last| last.after(every) > now) {
        return Ok(());
    }
    request(lab, project, definition, None, BY_CLOCK, (key, now.0.to_string()))
}

/// Requests a build of the newest commit of the project's branch, where it is another than the last time.
fn by_commit(
    lab: &Lab,
    fetcher: &Fetcher,
    project: &Project,
    definition: &Definition,
) -> Result<(), StoreError> {
    let Origin::Repository(address) = &definition.origin else { return Ok(()) };
    // A build that needs the same reports what is wrong with it.
    let Ok(credential) = Credential::of(lab, definition) else { return Ok(()) };
    let newest = fetcher.newest(address, &definition.branch, credential.as_ref());
    let Ok(Some(commit)) = newest else { return Ok(()) };
    let key = format!("trigger-poll:{}", project.name);
    let setting = key.clone();
    let last = lab.store.read_blocking(move |tx| settings::setting(tx, &setting))?;
    if last.as_deref() == Some(commit.as_str()) {
        return Ok(());
    }
    request(lab, project, definition, Some(commit.clone()), BY_COMMIT, (key, commit))
}

/// Requests a build of `commit`, or of the branch as it is then, and notes why in the same transaction.
fn request(
    lab: &Lab,
    project: &Project,
    definition: &Definition,
    commit: Option<String>,
    by: &'static str,
    (key, value): (String, String),
) -> Result<(), StoreError> {
    let request = BuildRequest {
        project: project.name.clone(),
        reference: commit.unwrap_or_default(),
        ..BuildRequest::default()
    };
    // It contains nothing that a definition could refuse.
    let Ok(new) = request.checked(project.id, definition, by, clock::wall()) else { return Ok(()) };
    let branch = definition.branch.clone();
    lab.store.write_blocking(move |tx| {
        builds::accept_of_branch(tx, &new, &branch)?;
        settings::set(tx, &key, &value)
    })
}
