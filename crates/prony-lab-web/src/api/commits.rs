//! The commits between two builds.

use schemars::JsonSchema;
use serde::Deserialize;

use super::builds::OneBuild;
use super::call::{Answer, Answered, Call, Nothing};
use super::problem::Problem;
use prony_lab_core::actions::{self, Ctx};
use prony_lab_core::lab::Refused;
use prony_lab_model::{BuildId, CommitRange};
use prony_lab_store::{Tx, builds, commits};

/// Since which build.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Since {
    /// Since this build; absent: since the baseline, or between the two commits of a comparison.
    base: Option<BuildId>,
}

/// Since which build, in any case.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Base {
    /// Another build of the same project.
    base: BuildId,
}

pub(super) async fn between(call: Call<OneBuild, Since, Nothing>) -> Answered<CommitRange> {
    let (id, base) = (call.path.id, call.query.base);
    let read = move |tx: &mut Tx<'_>| {
        let Some(build) = builds::one(tx, id)?.map(|found| found.build) else { return Ok(Ok(None)) };
        let span = match base {
            None => commits::span(tx, id)?,
            Some(base) => match actions::commits::ends(tx, base, id) {
                Ok(ends) => Some(ends.commits),
                Err(Refused::Store(error)) => return Err(error),
                Err(refused) => return Ok(Err(refused)),
            },
        };
        let Some(((base, tip), project)) = span.zip(build.project) else { return Ok(Ok(None)) };
        commits::range(tx, project, &base, &tip).map(Ok)
    };
    let found = call.lab.store.read(read).await??;
    found.map(Answer::from).ok_or_else(|| {
        Problem::missing(&format!(
            "list of these commits of a build {id}; have it made: POST /api/v1/builds/{id}/commits"
        ))
    })
}

pub(super) async fn list(call: Call<OneBuild, Nothing, Base>) -> Answered<CommitRange> {
    let (id, base) = (call.path.id, call.body.base);
    let list = move |tx: &mut Tx<'_>, _: &Ctx| actions::commits::list(tx, base, id);
    Ok(call.lab.act(call.who.actor(), list).await?.into())
}
