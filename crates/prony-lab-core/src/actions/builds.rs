//! Builds: written about, and cancelled all at once.

use super::{Ctx, Refused};
use prony_lab_model::{BuildId, FieldMistake};
use prony_lab_store::{StoreError, Tx, bisects, builds, figures, queue};

/// Longer notes are documents.
const NOTE_CHARACTERS_MAX: usize = 2_000;
/// Builds that are read at once; all that there are will be cancelled.
const TOGETHER: u32 = 1_000;

/// Adds a note to a build.
pub fn add_note(tx: &mut Tx<'_>, ctx: &Ctx, id: BuildId, words: &str) -> Result<(), Refused> {
    let words = words.trim();
    if !(1..=NOTE_CHARACTERS_MAX).contains(&words.chars().count()) {
        let message = format!("a note has 1 to {NOTE_CHARACTERS_MAX} characters");
        return Err(Refused::Fields(vec![FieldMistake { field: "words".to_owned(), message }]));
    }
    Ok(figures::add_note(tx, id, &ctx.who.name, words, ctx.now)?)
}

/// Cancels every build that is not over, and every bisect, which would request more; how many builds these were.
pub fn stop_all(tx: &mut Tx<'_>, ctx: &Ctx) -> Result<u64, StoreError> {
    let mut stopped = 0;
    loop {
        let mut cancelled = 0;
        for build in builds::open(tx, TOGETHER)? {
            cancelled += u64::from(queue::cancel(tx, build.id, &ctx.who.name, ctx.now)?);
        }
        stopped += cancelled;
        // What remains is being stopped already.
        if cancelled == 0 {
            break;
        }
    }
    for bisect in bisects::open(tx)? {
        super::bisects::cancel(tx, ctx, bisect.id)?;
    }
    ctx.note(tx, "stop", "everything", &format!("{stopped} builds"))?;
    Ok(stopped)
}
