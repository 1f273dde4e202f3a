//! Searching: what somebody writes (`query`), which builds that fits (`matching`), and what is found (`results`).

mod matching;
mod query;
mod results;

pub use matching::{SearchedBuild, fold};
pub use query::{Branches, Operator, QUERY_CHARS_MAX, SearchQuery};
pub use results::{FoundMonitor, FoundProject, SearchResults};
