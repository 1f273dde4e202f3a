//! `run.json` in a bundle: the run as the pod that leads it reads it. The plan has its secrets, so the file is in a Secret; and
//! nothing that was typed is ever a word of a command line there.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use prony_fleet::protocol::WirePlan;
use prony_model::{AgentChoice, Threshold};
use serde::{Deserialize, Serialize};

use crate::cli_error::CliError;

/// Bytes at most: a Secret holds 1 MiB, and keys and names need some of it.
pub(super) const BYTES_MAX: usize = 1_040_000;

/// A run and what is required of it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunFile {
    /// How many: `agent-0`, `agent-1` and so on.
    pub(super) agents: u32,
    pub(super) plan: WirePlan,
    /// As they are typed.
    pub(super) thresholds: Vec<String>,
    pub(super) allow_undecided: bool,
    pub(super) target_commit: Option<String>,
    /// Seconds within which all agents must be there.
    pub(super) agents_within_s: u64,
    /// Seconds that the result waits for somebody to collect it.
    pub(super) hold_s: u64,
}

impl RunFile {
    /// As text, if it fits into a Secret.
    pub(super) fn text(&self) -> Result<String, CliError> {
        let text = serde_json::to_string(self).map_err(|error| CliError::internal(error.to_string()))?;
        if text.len() > BYTES_MAX {
            return Err(CliError::usage(format!(
                "the load takes {} bytes to describe, and a Secret holds {BYTES_MAX}",
                text.len()
            ))
            .hint("is the body, or a feed of the scenario, that long?"));
        }
        Ok(text)
    }

    /// Reads the file at `path`.
    pub(super) fn read(path: &Path) -> Result<Self, CliError> {
        let mut text = String::new();
        let limit = BYTES_MAX as u64 + 1;
        let read = File::open(path).and_then(|file| file.take(limit).read_to_string(&mut text));
        read.map_err(|error| CliError::usage(format!("{}: {error}", path.display())))?;
        Self::parse(&text).map_err(|error| CliError::usage(format!("{}: {error}", path.display())))
    }

    fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// What is required.
    pub(super) fn thresholds(&self) -> Result<Vec<Threshold>, CliError> {
        let read = |text: &String| {
            text.parse().map_err(|error: prony_model::ThresholdError| CliError::from(error.located(text)))
        };
        self.thresholds.iter().map(read).collect()
    }
}

/// The agents of a run with `count` of them.
pub(super) fn choice(count: u32) -> AgentChoice {
    AgentChoice::Names((0..count).map(agent).collect())
}

/// The name of the agent with this completion index.
pub(super) fn agent(index: u32) -> String {
    format!("agent-{index}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_read_as_they_were_typed() {
        for text in ["response.p99 < 50ms", "errors == 0", "errors > 0.1%", "rate < 5k", "checks > 99.9%"] {
            let typed: Threshold = text.parse().expect(text);
            assert_eq!(typed.to_string().parse::<Threshold>().ok(), Some(typed), "{text}");
        }
    }
}
