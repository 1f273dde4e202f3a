//! Subjects: where a message goes. With permissions of the broker, a subject proves which agent sent a message, so
//! messages don't repeat the agent's name.

use std::fmt;

use prony_model::is_name_part;
use serde::{Deserialize, Serialize};

/// Every subject begins with this; the number is the major version of the protocol.
const ROOT: &str = "lab.v1.";
macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// `None` unless `text` is 1 to 64 letters, digits, `-` and `_`.
            pub fn new(text: &str) -> Option<Self> {
                is_name_part(text).then(|| Self(text.to_owned()))
            }

            /// As text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = &'static str;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                Self::new(&text).ok_or("a name is 1 to 64 letters, digits, `-` and `_`")
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str(&self.0)
            }
        }
    };
}

name!(
    /// An agent's name: 1 to 64 letters, digits, `-` and `_`.
    AgentName
);
name!(
    /// A run's name, chosen by the controller; made like an agent's.
    RunName
);

/// Where a message goes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// From the controller to one agent.
    Command(AgentName),
    /// From the controller to every agent: stop.
    StopAll,
    /// Clock pings of one agent.
    Clock(AgentName),
    /// An agent is there; once a second, may be lost.
    Heartbeat(AgentName),
    /// How far an agent's load is; once a second, may be lost.
    Live(AgentName, RunName),
    /// Answers to commands.
    Event(AgentName, RunName),
    /// Parts of results.
    Result(AgentName, RunName),
}

impl Subject {
    /// What a controller subscribes to.
    pub const OF_CONTROLLER: [&str; 5] =
        ["lab.v1.clk.*", "lab.v1.hb.*", "lab.v1.live.*.*", "lab.v1.evt.*.*", "lab.v1.res.*.*"];

    /// What an agent subscribes to.
    pub fn of_agent(agent: &AgentName) -> [String; 2] {
        [Self::Command(agent.clone()).to_string(), Self::StopAll.to_string()]
    }

    /// Reads a subject; `None` for one that this version doesn't know.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.strip_prefix(ROOT)?.split('.');
        let (kind, agent, run) = (parts.next()?, parts.next(), parts.next());
        if parts.next().is_some() {
            return None;
        }
        if (kind, agent) == ("bcast", None) {
            return Some(Self::StopAll);
        }
        let agent = AgentName::new(agent?)?;
        match (kind, run) {
            ("cmd", None) => Some(Self::Command(agent)),
            ("clk", None) => Some(Self::Clock(agent)),
            ("hb", None) => Some(Self::Heartbeat(agent)),
            ("live", Some(run)) => Some(Self::Live(agent, RunName::new(run)?)),
            ("evt", Some(run)) => Some(Self::Event(agent, RunName::new(run)?)),
            ("res", Some(run)) => Some(Self::Result(agent, RunName::new(run)?)),
            _ => None,
        }
    }

    /// The agent that it names.
    pub fn agent(&self) -> Option<&AgentName> {
        match self {
            Self::StopAll => None,
            Self::Command(agent)
            | Self::Clock(agent)
            | Self::Heartbeat(agent)
            | Self::Live(agent, _)
            | Self::Event(agent, _)
            | Self::Result(agent, _) => Some(agent),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(ROOT)?;
        match self {
            Self::Command(agent) => write!(to, "cmd.{agent}"),
            Self::StopAll => to.write_str("bcast"),
            Self::Clock(agent) => write!(to, "clk.{agent}"),
            Self::Heartbeat(agent) => write!(to, "hb.{agent}"),
            Self::Live(agent, run) => write!(to, "live.{agent}.{run}"),
            Self::Event(agent, run) => write!(to, "evt.{agent}.{run}"),
            Self::Result(agent, run) => write!(to, "res.{agent}.{run}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_are_read_as_they_are_written() {
        let (agent, run) = (AgentName::new("a-1").expect("a name"), RunName::new("r_2").expect("a name"));
        for subject in [
            Subject::Command(agent.clone()),
            Subject::StopAll,
            Subject::Clock(agent.clone()),
            Subject::Heartbeat(agent.clone()),
            Subject::Live(agent.clone(), run.clone()),
            Subject::Event(agent.clone(), run.clone()),
            Subject::Result(agent, run),
        ] {
            assert_eq!(Subject::parse(&subject.to_string()), Some(subject));
        }
    }

    #[test]
    fn foreign_subjects_are_none() {
        for text in
            ["", "lab.v1.", "lab.v2.bcast", "lab.v1.cmd", "lab.v1.cmd.*", "lab.v1.cmd.a.b", "lab.v1.bcast.a"]
        {
            assert_eq!(Subject::parse(text), None, "{text}");
        }
        for name in ["", "a.b", "*", ">", "a b", "ä", &"a".repeat(65)] {
            assert_eq!(AgentName::new(name), None, "{name}");
        }
    }
}
