//! Flags about agents: which of them, and how they are reached.

use std::path::PathBuf;

use prony_fleet::controller::{AGENTS_MAX, Wanted};
use prony_fleet::protocol::AgentName;
use prony_model::Problem;

/// The agents of a run.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct FleetArgs {
    /// Have these agents put the load on the server together: `a,b`; or any so many: `3`
    #[arg(long, value_name = "AGENTS", value_parser = wanted, hide_short_help = true)]
    pub(crate) agents: Option<AgentsWanted>,
    #[command(flatten)]
    pub(crate) broker: BrokerArgs,
    /// The private key that signs commands to agents [default: one of yours, made when it is needed]
    #[arg(long, value_name = "FILE", requires = "agents", hide_short_help = true)]
    pub(crate) lab_key: Option<PathBuf>,
}

/// What `--agents` means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentsWanted(pub(crate) Wanted);

/// Where the broker is, and who we are there.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct BrokerArgs {
    /// The NATS server that carries messages [default: nats://127.0.0.1:4222]
    #[arg(long, value_name = "URL", hide_short_help = true)]
    pub(crate) nats: Option<String>,
    /// File with the nkey that the broker knows this side by
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) nkey: Option<PathBuf>,
    /// Trust the authority in this PEM file for the broker's certificate
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) nats_cacert: Option<PathBuf>,
}

/// Reads a number or names with commas.
fn wanted(text: &str) -> Result<AgentsWanted, Problem> {
    let advice = "write names with commas, or how many: --agents a,b or --agents 3";
    if let Ok(count) = text.parse::<usize>() {
        return if (1..=AGENTS_MAX).contains(&count) {
            Ok(AgentsWanted(Wanted::Any(count)))
        } else {
            Err(Problem::new(format!("a run has 1 to {AGENTS_MAX} agents"), advice))
        };
    }
    let mut names = Vec::new();
    for part in text.split(',') {
        let name = agent_name(part)?;
        if names.contains(&name) {
            return Err(Problem::new(format!("the agent {name} is named twice"), advice));
        }
        names.push(name);
    }
    if names.len() > AGENTS_MAX {
        return Err(Problem::new(format!("a run has 1 to {AGENTS_MAX} agents"), advice));
    }
    Ok(AgentsWanted(Wanted::Names(names)))
}

/// Reads the name of an agent. A number is none: `--agents 3` means any three.
pub(super) fn agent_name(text: &str) -> Result<AgentName, Problem> {
    let name = AgentName::new(text).filter(|_| !text.bytes().all(|byte| byte.is_ascii_digit()));
    name.ok_or_else(|| {
        Problem::new(
            format!("`{text}` is no name of an agent"),
            "write 1 to 64 letters, digits, `-` and `_`, not digits alone",
        )
    })
}
