//! What leads a run: [`Controller`] decides, [`drive`] does. Results that a run left behind are put together by a [`Collector`]:
//! that of a process that leads one run after the other, with a [`Roster`] beside it, or that of a [`Collection`], which
//! [`collect`] does.

mod assembly;
mod collection;
mod collector;
mod discovery;
mod drive;
mod folder;
mod machine;
mod outcome;
mod roster;
mod signer;
mod slot;

pub use collection::{CollectAction, CollectInput, CollectSettings, Collection};
pub use collector::{Collector, Next, ResultKey};
pub use drive::{EVENTS_MAX, Line, collect, drive, find};
pub use folder::{AboutAgent, AboutRun, Reported, RunFolder};
pub use machine::{Action, Controller, Event, Input, Observer, RunSettings, Wanted};
pub use outcome::{AgentResult, Arrived, Outcome, agent_outcome, server_outcome};
pub use roster::{Listed, Presence, Roster};
pub use signer::{About, Signer};
pub use slot::SliceState;

use std::time::Duration;

pub use prony_model::AGENTS_MAX;
use prony_model::RunPlan;

/// Heartbeats are collected this long before the agents of a run are chosen: two of each agent, so that two agents of one
/// name are seen.
const DISCOVER_MIN_NS: u64 = 2_200_000_000;
/// And this long at most.
const DISCOVER_MAX_NS: u64 = 4_000_000_000;
/// A command without an answer is sent again after this.
const RESEND_NS: u64 = 500_000_000;
/// And given up after this: an agent may have to look up a name.
const ANSWER_LIMIT_NS: u64 = 20_000_000_000;
/// Agents whose clocks are compared at once. More would measure each other's pings: with a thousand at once on two cores, the
/// answers came too late for any comparison.
const ARMED_AT_ONCE_MAX: usize = 32;
/// Between two signs of life of the controller.
const BEAT_NS: u64 = 1_000_000_000;
/// An agent that was silent for so long is suspect,
const SUSPECT_NS: u64 = 3_000_000_000;
/// and for so long, lost.
const LOST_NS: u64 = 10_000_000_000;
/// Results are waited for so long after the load's end.
const RESULT_LIMIT_NS: u64 = 60_000_000_000;
/// After an end by hand or by a failure, results are waited for so long.
const STOP_LIMIT_NS: u64 = 20_000_000_000;
/// Agents that are to delete their copies are waited for so long.
const LINGER_NS: u64 = 3_000_000_000;
/// Agents that are remembered beside those of a run.
const SEEN_MAX: usize = 10_000;
/// An agent that hears nothing from its controller ends its load after this.
pub const UNATTENDED: Duration = Duration::from_mins(1);
/// Beyond its planned length, a load is ended after this, whatever happens.
const DEADLINE_MARGIN: Duration = Duration::from_secs(10);

/// When the load of an agent is ended after its start, whatever happens; `None` for a number of requests alone, which has
/// no known end.
pub fn deadline(plan: &RunPlan) -> Option<Duration> {
    let measured = plan.end.duration()?;
    Some(
        plan.warmup
            .saturating_add(measured)
            .saturating_add(plan.timeouts.drain)
            .saturating_add(DEADLINE_MARGIN),
    )
}

/// `duration` as [`RunSettings`] have it, in whole milliseconds.
pub fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
