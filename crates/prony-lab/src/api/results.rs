//! What builds say, and what people say about them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::builds::{List, OneBuild};
use super::call::{Answer, Answered, Call, Nothing};
use super::problem::Problem;
use crate::clock;
use crate::store::figures::{self, Figure, Note};
use crate::store::thresholds::{self, Demand};
use crate::store::{StoreError, Tx, builds};

/// Figures of one build in one answer: a study of more is read in its own result.
const FIGURES_MAX: u32 = 10_000;
/// Notes of one build in one answer, the newest.
const NOTES_MAX: u32 = 500;
/// A note is a few sentences.
const NOTE_CHARACTERS_MAX: usize = 2_000;

/// What a build says.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Results {
    /// Its figures, each with the series that it belongs to.
    figures: Vec<Figure>,
    /// What its study file demanded, and what became of it.
    demands: Vec<Demand>,
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
        Ok(Results { figures: figures::of(tx, id, FIGURES_MAX)?, demands: thresholds::of_build(tx, id)? })
    };
    Ok(call.lab.store.read(read).await?.into())
}

pub(super) async fn notes(call: Call<OneBuild, Nothing, Nothing>) -> Answered<List<Note>> {
    let id = call.path.id;
    Ok(List { items: call.lab.store.read(move |tx| figures::notes(tx, id, NOTES_MAX)).await?, next: None }
        .into())
}

pub(super) async fn add_note(call: Call<OneBuild, Nothing, NewNote>) -> Answered<List<Note>> {
    let (id, by) = (call.path.id, call.who.name);
    let words = call.body.words.trim().to_owned();
    if words.is_empty() || words.chars().count() > NOTE_CHARACTERS_MAX {
        return Err(Problem::unfit(format!("a note has 1 to {NOTE_CHARACTERS_MAX} characters")));
    }
    let items = call
        .lab
        .store
        .write(move |tx| {
            figures::add_note(tx, id, &by, &words, clock::wall())?;
            figures::notes(tx, id, NOTES_MAX)
        })
        .await?;
    Ok(Answer::at(List { items, next: None }, &format!("/builds/{id}/notes")))
}
