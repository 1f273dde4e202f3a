//! What runs a lab's builds: takes them from the queue, checks them out, and starts what they consist of.
//!
//! Everything that is started here is started through a guardian (prony-supervisor, docs/decisions/017-guardians.md), so
//! that nothing of it outlives the lab, however the lab ends.
//!
//! Reading order: `workspace.rs` and `sandbox/` (where commands run), `checkout.rs` (what is put there), `commits.rs` (what
//! lies between two commits), `worker.rs` (which build is next), `build.rs` (its way from task to task), `task.rs` and
//! `ending.rs` (one command), `cache/` (what is kept for the next build), `study.rs` and `comparison.rs` (what is
//! measured), `verdict.rs` (the verdict), `inspect.rs` (what may become a project),
//! `triggers.rs` (what is due by itself).
//!
//! This crate must never answer a request, and never measure anything itself: it starts `prony study` and `prony run`, and
//! has agents measure (`agents.rs`).

#![forbid(unsafe_code)]

mod agents;
mod baseline;
mod build;
mod cache;
mod checkout;
mod commits;
mod comparison;
pub mod egress;
mod ending;
mod folder;
mod git;
mod inspect;
mod load;
mod mask;
mod sandbox;
mod study;
mod task;
mod triggers;
mod verdict;
mod worker;
mod workspace;

pub use checkout::{Between, CheckoutError, Fetcher, Revision};
pub use git::Credential;
pub use sandbox::{Mount, Network, Sandbox, Scope, Use};
pub use worker::{Surroundings, Worker};
pub use workspace::Workspace;
