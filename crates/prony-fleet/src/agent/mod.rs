//! What an agent does. [`Agent`] decides, [`serve`] does: files, threads and the bus.

mod journal;
mod machine;
mod serve;
mod slice;
mod spool;
mod upload;

pub use journal::{Entry, Journal};
pub use machine::{Action, Agent, Identity, Input};
pub use serve::{AgentSettings, Assignment, EVENTS_MAX, Line, ServeError, place, serve};
pub use spool::{Spool, SpoolError, Spooled, sha256};

use prony_model::RunPlan;

use crate::protocol::Live;

/// What puts the load on a server, or measures it: the engine, which the binary plugs in.
pub trait Load: Send + Sync {
    /// Checks a plan against what this machine may do, and resolves its target once for all: the load goes to the
    /// addresses that were checked and to no others. Says why not, and what to try.
    fn prepare(&self, plan: RunPlan) -> Result<RunPlan, String>;

    /// Runs a plan that [`Self::prepare`] returned, from this moment of CLOCK_MONOTONIC on, and returns its result as
    /// JSON. Blocks until the load is over.
    fn run(&self, plan: &RunPlan, at_ns: u64, live: &mut dyn FnMut(Live)) -> Result<Vec<u8>, String>;

    /// Checks whether the server of a plan may be measured here, and is here. Says why not, and what to try.
    fn prepare_observation(&self, plan: RunPlan) -> Result<RunPlan, String>;

    /// Measures the server of a plan that [`Self::prepare_observation`] returned, which others load from this moment of
    /// CLOCK_MONOTONIC on, and returns a [`prony_model::ServerObservation`] as JSON. Blocks until the measured part is over.
    fn observe(&self, plan: &RunPlan, at_ns: u64) -> Result<Vec<u8>, String>;

    /// Ends what is on, or is about to begin: `run` or `observe` then returns what was measured. May be called at any time.
    fn stop(&self, reason: &str);
}

/// A load may begin at the earliest this long after its command arrived: less can't be kept.
const START_MARGIN_NS: u64 = 50_000_000;
/// And at the latest this long after it.
const START_AHEAD_MAX_NS: u64 = 600_000_000_000;
/// The longest that an agent loads a server without having heard the controller.
const UNATTENDED_MAX_NS: u64 = 60_000_000_000;
/// A ping without an answer for so long is lost.
const PING_LIMIT_NS: u64 = 250_000_000;
/// The comparison of clocks takes this long at most.
const ARM_LIMIT_NS: u64 = 15_000_000_000;
/// A load that was stopped and isn't over after this: the process ends itself.
const STOP_LIMIT_NS: u64 = 15_000_000_000;
/// An agent that is to end waits so long for its results to be committed; they stay in the spool otherwise.
const DRAIN_LIMIT_NS: u64 = 10_000_000_000;
/// Answers that are remembered.
const ANSWERS_MAX: usize = 1_024;
