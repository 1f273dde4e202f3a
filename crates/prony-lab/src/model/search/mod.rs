//! Searching: what somebody writes (`query`), which builds that fits (`matching`), and what is found (`results`).

mod matching;
mod query;
mod results;

pub(crate) use matching::{SearchedBuild, fold};
pub use query::Operator;
pub(crate) use query::{Branches, QUERY_CHARS_MAX, SearchQuery};
pub use results::{FoundMonitor, FoundProject, SearchResults};
