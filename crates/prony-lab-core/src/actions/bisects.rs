//! Bisects: requested and cancelled.

use super::commits::{Ends, ends};
use super::{Ctx, Refused};
use crate::bisect;
use prony_lab_model::{
    Bisect, BisectId, BisectRequest, BisectState, BuildKind, Definition, FieldMistake, Origin,
};
use prony_lab_store::{StoreError, Tx, bisects, builds, projects, queue, series};

/// Bisects of one project at once: each keeps the machine busy for hours.
const OPEN_MAX: u64 = 2;

/// Accepts a bisect between two builds; of the project of this name, if one is named.
pub fn request(
    tx: &mut Tx<'_>,
    ctx: &Ctx,
    project: Option<&str>,
    request: &BisectRequest,
) -> Result<Bisect, Refused> {
    let Ends { base: good, tip: bad, commits: (base, tip) } = ends(tx, request.good, request.bad)?;
    let found = bad.project.map(|id| projects::by_id(tx, id)).transpose()?.flatten();
    let found = found.filter(|found| project.is_none_or(|name| name == found.name));
    let Some(found) = found else { return Err(refused("bad", "it is no build of this project")) };
    let definition = Definition::read(&found.definition)
        .map_err(|error| StoreError::Damaged(format!("project {}: {error}", found.name)))?;
    if found.archived_at.is_some() || definition.study.is_none() {
        return Err(refused(
            "bad",
            "its project is archived or has no study, so there is nothing to measure",
        ));
    }
    if matches!(definition.origin, Origin::Folder(_)) {
        return Err(refused("bad", "a folder has no commits: register the project as a repository"));
    }
    if good.kind != BuildKind::Project || bad.kind != BuildKind::Project || good.variant != bad.variant {
        return Err(refused("good", "choose two builds of single commits, of the same variant"));
    }
    if !series::has_loads(tx, bad.id)? {
        let message = "its study has commands or probes only, and a bisect measures loads in turn";
        return Err(refused("bad", message));
    }
    if bisects::count_open(tx, found.id)? >= OPEN_MAX {
        let message = format!("{OPEN_MAX} bisects of this project are not over: wait for one, or cancel it");
        return Err(refused("good", &message));
    }
    let new = Bisect {
        id: BisectId(0),
        project: found.id,
        variant: bad.variant.unwrap_or_default(),
        good: good.id,
        bad: bad.id,
        base,
        tip,
        state: BisectState::Listing,
        reason: None,
        candidates: Vec::new(),
        build: None,
        requested_by: ctx.who.name.clone(),
        requested_at: ctx.now,
        ended_at: None,
    };
    let id = bisects::add(tx, &new)?;
    let detail = format!("builds {} and {} of {}", new.good, new.bad, found.name);
    ctx.note(tx, "bisect.request", &format!("bisect {id}"), &detail)?;
    Ok(Bisect { id, ..new })
}

/// Cancels a bisect, and the comparison that it alone waits for.
pub fn cancel(tx: &mut Tx<'_>, ctx: &Ctx, id: BisectId) -> Result<Bisect, StoreError> {
    let found = bisects::one(tx, id)?.ok_or_else(|| StoreError::Missing(format!("bisect {id}")))?;
    if !found.state.is_open() {
        return Err(StoreError::Conflict(format!("bisect {id}, which is {}", found.state.name())));
    }
    let (from, build) = (found.state, found.build);
    let cancelled = Bisect {
        state: BisectState::Cancelled,
        reason: Some(format!("cancelled by {}", ctx.who.name)),
        build: None,
        ended_at: Some(ctx.now),
        ..found
    };
    bisects::advance(tx, from, &cancelled, ctx.now)?;
    ctx.note(tx, "bisect.cancel", &format!("bisect {id}"), "")?;
    if let Some(build) = build {
        let is_its = builds::one(tx, build)?.is_some_and(|found| found.build.requested_by == bisect::BY);
        let is_shared = bisects::open(tx)?.iter().any(|other| other.build == Some(build));
        if is_its && !is_shared {
            // Where its results are taken in already, it ends by itself.
            queue::cancel(tx, build, &ctx.who.name, ctx.now)?;
        }
    }
    Ok(cancelled)
}

fn refused(field: &str, message: &str) -> Refused {
    Refused::Fields(vec![FieldMistake { field: field.to_owned(), message: message.to_owned() }])
}
