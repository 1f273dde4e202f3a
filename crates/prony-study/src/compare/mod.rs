//! Two servers, block by block or run by run: what is said of the differences.

mod block;
mod findings;
mod judge;
mod requests;

pub use block::{Block, BlockPair};
pub use findings::{LEAST_REQUESTS, LEAST_ROUNDS, figure_findings};
pub use judge::{Question, estimate, is_final, judge, judge_primary, withhold};
pub use requests::{SideRequests, side_requests};
