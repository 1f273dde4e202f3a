//! How much a server carries.
//!
//! Reading order: `options` (what is asked for), `search` (which load to try next; pure), `trial` (whether one passed, by its
//! result; pure), `outcome` and `findings` (what a search is worth; pure), `live` (a search on a server), `users` (the rate of
//! more and more users).

mod findings;
mod live;
mod options;
mod outcome;
mod search;
mod trial;
mod users;

#[cfg(test)]
pub(crate) use live::tests::Rig;
pub use live::{LiveCapacity, TrialRunner};
pub use options::CapacityOptions;
pub use search::TrialPlan;
pub use trial::Objectives;
pub use users::LiveScaling;
