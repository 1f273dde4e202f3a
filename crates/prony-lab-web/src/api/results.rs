//! Results of builds, and people's notes about them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::builds::{List, OneBuild};
use super::call::{Answer, Answered, Call, Nothing};
use prony_lab_core::actions::{self, Ctx};
use prony_lab_core::lab::Refused;
use prony_lab_store::figures::{self, Figure, Note};
use prony_lab_store::thresholds::{self, Threshold};
use prony_lab_store::{StoreError, Tx, builds};

/// Figures of one build in one answer: a study of more is read in its own result.
const FIGURES_MAX: u32 = 10_000;
/// Notes of one build in one answer, the newest.
const NOTES_MAX: u32 = 500;

/// What a build says.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Results {
    /// Its figures, each with the series that it belongs to.
    figures: Vec<Figure>,
    /// The thresholds of its study file and how they came out.
    #[serde(rename = "demands")]
    thresholds: Vec<Threshold>,
}

/// What somebody says about a build.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewNote {
    /// A few sentences.
    words: String,
}

pub(super) async fn results(call: Call<OneBuild, Nothing, Nothing>) -> Answered<Results> {
    let id = call.path.id;
    let read = move |tx: &mut Tx<'_>| -> Result<Results, StoreError> {
        builds::state(tx, id)?;
        Ok(Results { figures: figures::of(tx, id, FIGURES_MAX)?, thresholds: thresholds::of_build(tx, id)? })
    };
    Ok(call.lab.store.read(read).await?.into())
}

pub(super) async fn notes(call: Call<OneBuild, Nothing, Nothing>) -> Answered<List<Note>> {
    let id = call.path.id;
    Ok(List { items: call.lab.store.read(move |tx| figures::notes(tx, id, NOTES_MAX)).await?, next: None }
        .into())
}

pub(super) async fn add_note(call: Call<OneBuild, Nothing, NewNote>) -> Answered<List<Note>> {
    let (id, words) = (call.path.id, call.body.words);
    let add = move |tx: &mut Tx<'_>, ctx: &Ctx| -> Result<Vec<Note>, Refused> {
        actions::builds::add_note(tx, ctx, id, &words)?;
        Ok(figures::notes(tx, id, NOTES_MAX)?)
    };
    let items = call.lab.act(call.who.actor(), add).await?;
    Ok(Answer::at(List { items, next: None }, &format!("/builds/{id}/notes")))
}
