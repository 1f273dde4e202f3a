//! Which agents take part in a run, as command lines and study files name them: those that put the load on the server, and
//! the one that measures the server on its own host.

use std::fmt;

use crate::Problem;
use crate::words::plural;

/// Characters of an agent's name at most.
const NAME_MAX: usize = 64;
/// What to write instead.
const ADVICE: &str = "write names with commas, or how many: a,b or 3";

/// The agents that share a load.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum AgentChoice {
    /// These, each once.
    Names(Vec<String>),
    /// Any so many that are idle, at least 1.
    Any(usize),
}

/// Whether `text` can be a part of a subject of the agents' protocol: 1 to 64 letters, digits, `-` and `_`.
pub fn is_name_part(text: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=NAME_MAX).contains(&text.len()) && text.bytes().all(good)
}

/// Checks the name of an agent. A number is none: `--agents 3` means any three.
pub fn check_agent_name(text: &str) -> Result<(), Problem> {
    let is_number = text.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit());
    if is_name_part(text) && !is_number {
        return Ok(());
    }
    Err(Problem::new(
        format!("`{text}` is no name of an agent"),
        "write 1 to 64 letters, digits, `-` and `_`, not digits alone",
    ))
}

impl AgentChoice {
    /// Reads a number or names with commas.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        match text.parse::<usize>() {
            Ok(0) => Err(Problem::new("no agent makes no load", ADVICE)),
            Ok(count) => Ok(Self::Any(count)),
            Err(_) => Self::named(text.split(',').map(|name| name.trim().to_owned()).collect()),
        }
    }

    /// The agents of these names.
    pub fn named(names: Vec<String>) -> Result<Self, Problem> {
        if names.is_empty() {
            return Err(Problem::new("no agent makes no load", ADVICE));
        }
        for (place, name) in names.iter().enumerate() {
            check_agent_name(name)?;
            if names[..place].contains(name) {
                return Err(Problem::new(format!("the agent {name} is named twice"), ADVICE));
            }
        }
        Ok(Self::Names(names))
    }

    /// How many.
    pub fn count(&self) -> usize {
        match self {
            Self::Names(names) => names.len(),
            Self::Any(count) => *count,
        }
    }
}

/// The agents of a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunAgents {
    /// Those that share the load.
    pub load: AgentChoice,
    /// The one on the server's host, which puts no load on it and measures what it uses.
    pub server: Option<String>,
}

impl RunAgents {
    /// `load` with `server` beside the server. No agent does both.
    pub fn new(load: AgentChoice, server: Option<String>) -> Result<Self, Problem> {
        if let Some(server) = &server {
            check_agent_name(server)?;
            if matches!(&load, AgentChoice::Names(names) if names.contains(server)) {
                return Err(Problem::new(
                    format!("the agent {server} can't load the server and measure it"),
                    "start a second agent on the server's host, with a name of its own",
                ));
            }
        }
        Ok(Self { load, server })
    }
}

impl From<AgentChoice> for RunAgents {
    fn from(load: AgentChoice) -> Self {
        Self { load, server: None }
    }
}

impl fmt::Display for RunAgents {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.server {
            Some(server) => write!(to, "{}, server measured by {server}", self.load),
            None => self.load.fmt(to),
        }
    }
}

impl fmt::Display for AgentChoice {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Names(names) if names.len() == 1 => write!(to, "agent {}", names[0]),
            Self::Names(names) => write!(to, "agents {}", names.join(", ")),
            Self::Any(count) => to.write_str(&plural(*count as u64, "agent")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_or_names() {
        let names = |names: &[&str]| AgentChoice::Names(names.iter().map(|&name| name.to_owned()).collect());
        for (text, expected, words) in [
            ("3", AgentChoice::Any(3), "3 agents"),
            ("1", AgentChoice::Any(1), "1 agent"),
            ("a", names(&["a"]), "agent a"),
            ("a, b-2", names(&["a", "b-2"]), "agents a, b-2"),
        ] {
            let read = AgentChoice::parse(text).expect(text);
            assert_eq!((&read, read.to_string().as_str()), (&expected, words));
        }
    }

    #[test]
    fn an_agent_loads_or_measures_the_server() {
        let new = |load: &str, server: &str| {
            RunAgents::new(AgentChoice::parse(load).expect("a choice"), Some(server.to_owned()))
        };
        assert_eq!(new("a,b", "t").expect("three agents").to_string(), "agents a, b, server measured by t");
        assert!(new("3", "t").is_ok());
        for (load, server, expected) in [
            ("a,t", "t", "can't load the server and measure it"),
            ("a", "3", "`3` is no name"),
            ("a", "", "no name"),
        ] {
            let problem = new(load, server).expect_err(expected).to_string();
            assert!(problem.contains(expected), "{problem}");
        }
    }

    #[test]
    fn what_is_neither_is_refused() {
        for (text, expected) in [
            ("0", "no agent makes no load"),
            ("", "`` is no name"),
            ("a,a", "a is named twice"),
            ("a,2", "`2` is no name"),
            ("a.b", "`a.b` is no name"),
            ("-1", "`-1` is no name"),
            ("a,", "`` is no name"),
            ("ä", "`ä` is no name"),
        ] {
            let problem = AgentChoice::parse(text).expect_err(text).to_string();
            assert!(problem.contains(expected), "{text}: {problem}");
        }
        assert!(AgentChoice::named(Vec::new()).is_err());
    }
}
