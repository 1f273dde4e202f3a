//! Two servers, block by block or run by run: what is said of the differences.

mod block;
mod judge;

pub use block::{Block, BlockPair};
pub use judge::{Question, errors, estimate, is_final, judge, judge_primary, withhold};
