//! What runs builds.
//!
//! Everything that is started here is started through a guardian (`prony keep`, docs/decisions/017-guardians.md), so
//! that nothing of it outlives the lab, however the lab ends.
//!
//! Reading order: `process.rs` (one command within its limits), `sandbox.rs` and `room.rs` (where it runs),
//! `checkout.rs` (what is put there), `worker.rs` (which build is next), `build.rs` (its way from task to task),
//! `study.rs` and `comparison.rs` (what is measured), `verdict.rs` (what that says), `desk.rs` (who asks for builds).

mod build;
mod checkout;
mod comparison;
mod desk;
mod git;
mod load;
mod pipes;
mod process;
mod room;
mod sandbox;
mod study;
mod task;
mod usage;
mod verdict;
mod worker;

pub use checkout::{CheckoutError, Fetcher, Revision};
pub use desk::DeskError;
pub use process::{Bounds, Cancel, Ended, LOOK, Order, RARE_LOOK, Ran, StartError, Starter, Why};
pub use room::Room;
pub use sandbox::Sandbox;
pub use worker::{Surroundings, Worker};
