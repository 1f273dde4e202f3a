//! Agents: machines that put a load on a server together, and what a lab knows of them.

use prony_model::{AgentChoice, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Moment;

/// Which agents put a load on its server together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum LoadAgents {
    /// Any so many that are idle.
    Any(u32),
    /// These.
    Names(Vec<String>),
}

impl LoadAgents {
    /// As people type it: `a,b` or `2`; nothing for a load from the lab's own machine.
    pub fn parse(text: &str) -> Result<Option<Self>, Problem> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        Ok(Some(match AgentChoice::parse(text.trim())? {
            AgentChoice::Names(names) => Self::Names(names),
            AgentChoice::Any(count) => Self::Any(u32::try_from(count).unwrap_or(u32::MAX)),
        }))
    }

    /// As the controller takes it; what is wrong with it otherwise.
    pub fn choice(&self) -> Result<AgentChoice, Problem> {
        match self {
            Self::Any(count) => AgentChoice::parse(&count.to_string()),
            Self::Names(names) => AgentChoice::named(names.clone()),
        }
    }

    /// As it is typed.
    pub fn typed(&self) -> String {
        match self {
            Self::Any(count) => count.to_string(),
            Self::Names(names) => names.join(","),
        }
    }
}

/// Who stopped all loads of agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentsStop {
    /// Who.
    pub by: String,
    /// When.
    pub at: Moment,
}

impl AgentsStop {
    /// Why a load with agents is refused.
    pub fn sentence(&self) -> String {
        format!(
            "all loads on agents were stopped by {} ({} UTC): an administrator lifts that on the page /agents",
            self.by,
            self.at.utc()
        )
    }
}

/// The agents that a lab hears.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Agents {
    /// Whether the lab was started with a broker (`prony lab --nats`).
    pub has_broker: bool,
    /// Whether the connection to it is there.
    pub is_connected: bool,
    /// What the broker, or the connection to it, last reported.
    pub problem: Option<String>,
    /// Who stopped all loads of agents; new ones are refused until that is lifted.
    pub stopped: Option<AgentsStop>,
    /// The run that is led now.
    pub run: Option<String>,
    /// Every agent that was heard in the last day, by name.
    pub agents: Vec<AgentRow>,
}

impl Agents {
    /// How many are in `state`.
    pub fn count(&self, state: &str) -> usize {
        self.agents.iter().filter(|agent| agent.state == state).count()
    }
}

/// An agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentRow {
    /// Its name.
    pub name: String,
    /// `idle`, `busy`, `draining`, `suspect` (not heard for 3 s), `lost` (for 10 s), or `doubled` (two agents have this name).
    pub state: String,
    /// Whether it takes no load of this lab until it is resumed.
    pub is_drained: bool,
    /// Its prony.
    pub version: String,
    /// Whether that is the lab's, without which it gets no load.
    pub is_same_version: bool,
    /// Cores that it may use.
    pub cores: u32,
    /// Its clock, as it stood before its last load of this lab's process.
    pub clock: Option<AgentClock>,
    /// How long ago it was heard, milliseconds.
    pub silence_ms: u64,
    /// Results in its spool that nobody has collected.
    pub spooled: u32,
    /// Commands that it refused since its start: forged, stale, repeated or unreadable.
    pub refused: u64,
}

/// How the monotonic clock of an agent stands to that of the lab's machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentClock {
    /// The agent's clock less the lab's, nanoseconds. Clocks of machines that started at other times are days apart.
    pub offset_ns: i64,
    /// The offset is right to within this, nanoseconds.
    pub bound_ns: u64,
    /// How long ago they were compared, milliseconds.
    pub age_ms: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_names_or_a_number() {
        let names = || LoadAgents::Names(vec!["a".to_owned(), "b".to_owned()]);
        for (text, expected) in
            [("", None), (" ", None), ("2", Some(LoadAgents::Any(2))), ("a, b", Some(names()))]
        {
            assert_eq!(LoadAgents::parse(text), Ok(expected), "{text}");
        }
        assert_eq!((names().typed().as_str(), LoadAgents::Any(2).typed().as_str()), ("a,b", "2"));
        for (json, expected) in [("2", LoadAgents::Any(2)), ("[\"a\",\"b\"]", names())] {
            assert_eq!(serde_json::from_str::<LoadAgents>(json).expect(json), expected);
            assert_eq!(serde_json::to_string(&expected).expect("JSON"), json);
        }
    }

    #[test]
    fn what_means_no_agent_is_refused() {
        for agents in [
            LoadAgents::Any(0),
            LoadAgents::Names(Vec::new()),
            LoadAgents::Names(vec!["a".to_owned(), "a".to_owned()]),
            LoadAgents::Names(vec!["a.b".to_owned()]),
            LoadAgents::Names(vec!["2".to_owned()]),
        ] {
            assert!(agents.choice().is_err(), "{agents:?}");
        }
        assert!(LoadAgents::parse("a,,b").is_err());
    }
}
