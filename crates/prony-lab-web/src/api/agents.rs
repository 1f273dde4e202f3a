//! Agents on other machines.

use schemars::JsonSchema;
use serde::Serialize;

use super::call::{Answered, Call, Nothing};
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
