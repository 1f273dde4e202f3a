//! Hurl files (<https://hurl.dev/docs/grammar.html>): each entry becomes a step of one session.
//!
//! What a step is sent, and what must come back, are Hurl's; what would change a request without being there (another
//! server, a value that nothing extracts) is refused, and what only fewer checks follow from is listed.
//!
//! Reading order: `parse.rs` (a file as entries, of `lines.rs`), `body.rs` (where a body ends), `text.rs` (strings and
//! their templates), `words.rs` (queries and predicates), then `convert.rs`, `request.rs` and `response.rs`.

mod body;
mod convert;
mod lines;
mod parse;
mod request;
mod response;
#[cfg(test)]
mod tests;
mod text;
mod words;

use prony_model::Problem;

use crate::ImportedScenario;
use crate::scenario::{Context, check_size};

/// Reads `text`, a Hurl file.
///
/// # Errors
/// What is wrong with the file, or can't be part of a load, with its line.
pub fn read_hurl(text: &str, context: &Context<'_>) -> Result<ImportedScenario, Problem> {
    check_size(text)?;
    let entries = parse::entries(text)?;
    convert::scenario(&entries, context)?.checked()
}

/// Whether the first line of `text` that says something begins a request.
pub(crate) fn begins(text: &str) -> bool {
    parse::begins(text)
}
