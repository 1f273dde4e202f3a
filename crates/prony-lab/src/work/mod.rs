//! What runs builds.
//!
//! Everything that is started here is started through a guardian (`prony keep`, docs/decisions/017-guardians.md), so
//! that nothing of it outlives the lab, however the lab ends.
//!
//! Reading order: `process.rs` (one command within its limits), `sandbox.rs` and `room.rs` (where it runs),
//! `checkout.rs` (what is put there).

mod checkout;
mod git;
mod pipes;
mod process;
mod room;
mod sandbox;
mod usage;

pub use checkout::{CheckoutError, Fetcher, Revision};
pub use process::{Bounds, Cancel, Ended, LOOK, Order, RARE_LOOK, Ran, StartError, Starter, Why};
pub use room::Room;
pub use sandbox::Sandbox;
