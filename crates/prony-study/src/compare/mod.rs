//! Two servers, block by block or run by run: how they differ.

mod block;
mod evaluate;
mod findings;
mod requests;

pub use block::{Block, BlockPair};
pub use evaluate::{Question, estimate, evaluate, evaluate_primary, is_final, withhold};
pub use findings::{LEAST_REQUESTS, LEAST_ROUNDS, figure_findings};
pub use requests::{SideRequests, side_requests};
