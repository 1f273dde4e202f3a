//! Searches.

use schemars::JsonSchema;
use serde::Deserialize;

use super::builds::rows;
use super::call::{Answered, Call, Nothing};
use super::problem::Problem;
use prony_lab_core::search::{self, Part};
use prony_lab_model::{BuildId, QUERY_CHARS_MAX, SearchQuery, SearchResults};

/// What is searched for.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Search {
    /// Words, "phrases" and operators such as `author:ann`, `branch:release/*` or `after:2026-01-31`; `12` is build 12.
    #[schemars(length(min = 1, max = QUERY_CHARS_MAX))]
    q: String,
    /// Builds before this one: `next` of the page before.
    before: Option<BuildId>,
    /// At most so many builds, 500 at most.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
}

pub(super) async fn find(call: Call<Nothing, Search, Nothing>) -> Answered<SearchResults> {
    let Search { q, before, limit } = call.query;
    let query: SearchQuery = q.parse().map_err(|mistake| Problem::bad(format!("q: {mistake}")))?;
    let part = Part { before, limit: rows(limit)?, role: call.who.role };
    let definitions = call.lab.definitions.clone();
    Ok(call.lab.store.read(move |tx| search::find(tx, &definitions, query, part)).await?.into())
}
