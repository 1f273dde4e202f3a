//! Commits: which ones lie between two builds.

use super::Refused;
use prony_lab_model::{Build, BuildId, CommitRange, Definition, FieldMistake, Origin};
use prony_lab_store::{StoreError, Tx, builds, commits, projects};

/// Two builds of one project, by which commits are asked for.
#[derive(Debug)]
pub struct Ends {
    /// The build whose commits are left out.
    pub base: Build,
    /// The build that has them.
    pub tip: Build,
    /// The whole commits of both.
    pub commits: (String, String),
}

/// The builds `base` and `tip`, if something can lie between their commits.
pub fn ends(tx: &mut Tx<'_>, base: BuildId, tip: BuildId) -> Result<Ends, Refused> {
    let mut one = |id: BuildId| {
        let found = builds::one(tx, id)?.map(|found| found.build);
        found.ok_or_else(|| StoreError::Missing(format!("build {id}")))
    };
    let (base, tip) = (one(base)?, one(tip)?);
    let Some(commits) = base.commit.clone().zip(tip.commit.clone()) else {
        return Err(refused("it is not known yet which commit it is of: wait until both are checked out"));
    };
    if base.project.is_none() || base.project != tip.project {
        return Err(refused("both builds must be of the same project: choose another"));
    }
    if commits.0 == commits.1 {
        return Err(refused("both builds are of the same commit: choose another"));
    }
    Ok(Ends { base, tip, commits })
}

/// Has the worker list the commits that the build `tip` has and `base` has not; what is known of them.
pub fn list(tx: &mut Tx<'_>, base: BuildId, tip: BuildId) -> Result<CommitRange, Refused> {
    let Ends { tip, commits: (from, to), .. } = ends(tx, base, tip)?;
    let project = tip.project.map(|id| projects::by_id(tx, id)).transpose()?.flatten();
    let project = project.ok_or_else(|| StoreError::Missing(format!("project of build {}", tip.id)))?;
    let definition = Definition::read(&project.definition)
        .map_err(|error| StoreError::Damaged(format!("project {}: {error}", project.name)))?;
    if matches!(definition.origin, Origin::Folder(_)) {
        return Err(refused("a folder has no list of commits: register the project as a repository"));
    }
    if !commits::want(tx, project.id, &from, &to)? {
        return Err(refused("too many lists of commits wait for the worker: try again later"));
    }
    let found = commits::range(tx, project.id, &from, &to)?;
    found.ok_or_else(|| StoreError::Missing("the list of commits".to_owned()).into())
}

fn refused(message: &str) -> Refused {
    Refused::Fields(vec![FieldMistake { field: "base".to_owned(), message: message.to_owned() }])
}
