//! Which agents share a load: `2`, `"a,b"` or `["a", "b"]`; `0` is none.

use std::borrow::Cow;

use prony_model::{AGENTS_MAX, AgentChoice, RunAgents, RunPlan, check_agent_name, split};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use super::carried::Carried;
use super::format;
use super::load::refused;
use super::mistake::Mistakes;
use super::scalar::Scalar;
use super::target::Context;
use super::tree::Section;

/// The agents of a key; `None` where it says that this process puts the load.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Written")]
pub(super) struct AgentsKey(pub(super) Option<AgentChoice>);

/// The name of the agent that measures the servers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", inline)]
pub(super) struct ServerAgentKey(pub(super) String);

impl TryFrom<String> for ServerAgentKey {
    type Error = Carried;

    fn try_from(name: String) -> Result<Self, Carried> {
        check_agent_name(&name)?;
        Ok(Self(name))
    }
}

/// What may stand there.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a number of agents, or their names")]
enum Written {
    Names(Vec<String>),
    One(Scalar),
}

impl TryFrom<Written> for AgentsKey {
    type Error = Carried;

    fn try_from(written: Written) -> Result<Self, Carried> {
        match written {
            Written::One(Scalar::Whole(0)) => Ok(Self(None)),
            Written::One(scalar) => Ok(Self(Some(AgentChoice::parse(&scalar.to_string())?))),
            Written::Names(names) => Ok(Self(Some(AgentChoice::named(names)?))),
        }
    }
}

impl JsonSchema for AgentsKey {
    fn schema_name() -> Cow<'static, str> {
        "Agents".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [
            {"type": "integer", "minimum": 0},
            {"type": "string"},
            {"type": "array", "items": {"type": "string"}, "minItems": 1}
        ]})
    }
}

/// The agents that share a load of `plan`: its `own`, or those of the study.
#[expect(clippy::option_option, reason = "agents that can't share it are something else than no agents")]
pub(super) fn of_load(
    section: &Section<'_>,
    own: Option<AgentsKey>,
    plan: &RunPlan,
    context: &Context<'_>,
    mistakes: &mut Mistakes,
) -> Option<Option<RunAgents>> {
    let chosen = own.map_or_else(|| context.agents.cloned(), |AgentsKey(own)| own);
    let Some(chosen) = chosen else { return Some(None) };
    check(section, plan, &chosen, mistakes)?;
    match RunAgents::new(chosen, context.server_agent.map(str::to_owned)) {
        Ok(agents) => Some(Some(agents)),
        Err(problem) => refused(section, problem, mistakes),
    }
}

/// `words`, which describe a load, with the agents that share it.
pub(super) fn described(words: String, agents: Option<&RunAgents>) -> String {
    match agents {
        Some(agents) => format!("{words}, by {}", agents.load),
        None => words,
    }
}

/// Finds what keeps `plan` from being shared by `agents`.
fn check(section: &Section<'_>, plan: &RunPlan, agents: &AgentChoice, mistakes: &mut Mistakes) -> Option<()> {
    let count = agents.count();
    if count > AGENTS_MAX {
        let message = format!("{count} agents are too many");
        mistakes.add(section.span("agents"), message, format!("{AGENTS_MAX} are the most"));
        return None;
    }
    if !plan.sources.is_empty() {
        let message = "`source` is about one machine, and agents are on others";
        mistakes.add(section.span("source"), message, "leave it out, or the agents");
        return None;
    }
    let (connections, threads) = (plan.load.connections() as usize, plan.threads as usize);
    let least = threads.saturating_mul(count);
    if connections < least {
        let message = format!("{agents} can't share {connections} connections");
        let help = format!("each of their threads needs one: use {least} or more");
        mistakes.add(section.span("connections"), message, help);
        return None;
    }
    match split(plan, &vec![plan.threads; count]) {
        Ok(_) => Some(()),
        Err(error) => refused(section, error.problem(format::spelled), mistakes),
    }
}
