//! Having two commits compared, measured in turn.

use prony_lab_model::clock::Moment;
use prony_lab_model::{BuildId, BuildRequest, Definition, Origin, ProjectId};
use prony_lab_store::{StoreError, Tx, builds, projects};

/// Who asks for comparisons that follow from results.
pub const LAB: &str = "lab";

/// The build that compares the commits of the builds `before` and `after`; it is asked for if there is none yet. `None`
/// where there are no two commits that could be had again.
pub(super) fn compare(
    tx: &mut Tx<'_>,
    project: ProjectId,
    variant: &str,
    before: BuildId,
    after: BuildId,
    now: Moment,
) -> Result<Option<BuildId>, StoreError> {
    let commit =
        |tx: &mut Tx<'_>, id| Ok::<_, StoreError>(builds::one(tx, id)?.and_then(|found| found.build.commit));
    let (Some(base), Some(commit)) = (commit(tx, before)?, commit(tx, after)?) else { return Ok(None) };
    if base == commit {
        // The same files, another result: the machine changed, which no comparison of files can show.
        return Ok(None);
    }
    if let Some(known) = builds::comparison(tx, project, variant, &base, &commit)? {
        return Ok(Some(known));
    }
    request(tx, project, variant, [&base, &commit], &[], LAB, now)
}

/// Accepts a build for `by` that compares two commits, of low priority, with these tasks, or all. `None` where the project
/// has no commits, or can't be compared any more.
pub(crate) fn request(
    tx: &mut Tx<'_>,
    project: ProjectId,
    variant: &str,
    [base, commit]: [&str; 2],
    tasks: &[&str],
    by: &str,
    now: Moment,
) -> Result<Option<BuildId>, StoreError> {
    let found = projects::by_id(tx, project)?.filter(|project| project.archived_at.is_none());
    let Some(found) = found else { return Ok(None) };
    // A definition that was changed since may no longer have the study, or the variant: then there is nothing to do.
    let Ok(definition) = Definition::read(&found.definition) else { return Ok(None) };
    if matches!(definition.origin, Origin::Folder(_)) {
        return Ok(None);
    }
    let request = BuildRequest {
        project: found.name,
        reference: commit.to_owned(),
        base: base.to_owned(),
        variant: variant.to_owned(),
        tests: tasks.iter().copied().map(str::to_owned).collect(),
        priority: "low".to_owned(),
        ..BuildRequest::default()
    };
    match request.checked(project, &definition, by, now) {
        Ok(new) => Ok(Some(builds::accept(tx, &new)?)),
        Err(_) => Ok(None),
    }
}
