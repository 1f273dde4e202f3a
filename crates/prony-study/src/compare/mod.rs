//! Two servers, block by block or run by run: how they differ.
//!
//! Reading order: `live` (two servers now; `pairs` measures them, `doubt` finds what speaks against it), `stored` (runs
//! of two servers), `searches` (for the capacities of two servers), `studies` (cells of two studies); and what all of them
//! use: `block`, `evaluate`, `findings`, `requests`. `fail_if` is what must not be true of the outcome.

mod block;
mod doubt;
mod evaluate;
mod fail_if;
mod findings;
mod live;
mod pairs;
mod requests;
mod searches;
mod stored;
mod studies;

pub use block::{Block, BlockPair};
pub(crate) use evaluate::withhold;
pub use evaluate::{Question, SoFar, estimate, evaluate, so_far};
pub use fail_if::ComparisonCondition;
pub use pairs::{LEAST_BLOCK, LiveComparison, LiveError, RunLoad};
pub(crate) use searches::compare_bounds;
pub use searches::{StoredSearch, compare_searches};
pub use stored::{DIFFERENCES_LISTED_MAX, IncomparableRuns, StoredQuestion, StoredRun, compare_stored};
pub use studies::{CellPair, LeftOut, StudyPair};
