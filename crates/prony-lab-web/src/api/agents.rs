//! Agents on other machines.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::{Answered, Call, Nothing};
use super::problem::Problem;
use prony_lab_model::Agents;

/// What a stop ended.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct StoppedAgents {
    /// How many agents had a load.
    busy: u64,
}

/// What was lifted.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Lifted {
    /// Whether loads were stopped before.
    was_stopped: bool,
}

/// One agent.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct OneAgent {
    /// Its name.
    name: String,
}

/// Whether an agent takes loads.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DrainState {
    /// Whether it takes none.
    is_drained: bool,
    /// Whether that was otherwise before.
    was_changed: bool,
}

pub(super) async fn drain(call: Call<OneAgent, Nothing, Nothing>) -> Answered<DrainState> {
    set_drained(call, true).await
}

pub(super) async fn resume(call: Call<OneAgent, Nothing, Nothing>) -> Answered<DrainState> {
    set_drained(call, false).await
}

async fn set_drained(call: Call<OneAgent, Nothing, Nothing>, is_drained: bool) -> Answered<DrainState> {
    let changed = call.lab.drain_agent(call.who.actor(), &call.path.name, is_drained).await?;
    let was_changed = changed.ok_or_else(|| Problem::missing("agent of that name"))?;
    Ok(DrainState { is_drained, was_changed }.into())
}

pub(super) async fn list(call: Call<Nothing, Nothing, Nothing>) -> Answered<Agents> {
    Ok(call.lab.agents().into())
}

pub(super) async fn stop(call: Call<Nothing, Nothing, Nothing>) -> Answered<StoppedAgents> {
    let busy = call.lab.stop_agents(call.who.actor()).await?;
    Ok(StoppedAgents { busy: busy as u64 }.into())
}

pub(super) async fn lift(call: Call<Nothing, Nothing, Nothing>) -> Answered<Lifted> {
    Ok(Lifted { was_stopped: call.lab.lift_agents(call.who.actor()).await? }.into())
}
