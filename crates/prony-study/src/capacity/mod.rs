//! How much a server carries.
//!
//! Reading order: `search` (which load to try next; pure), `trial` (what came of one, by its result; pure), `outcome` and
//! `findings` (what a search is worth; pure), `live` (a search on a server), `users` (the rate of more and more users).

mod findings;
mod live;
mod outcome;
mod search;
mod trial;
mod users;

pub use live::{LiveCapacity, TrialRunner};
pub use search::TrialPlan;
pub use trial::Objectives;
pub use users::LiveScaling;
