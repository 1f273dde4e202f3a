//! Flags about agents: which of them, and how they are reached.

use std::path::PathBuf;

use prony_fleet::protocol::AgentName;
use prony_model::{AgentChoice, Problem, RunAgents, check_agent_name};

/// The agents of a run.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(mut_arg("lab_key", |flag| flag.requires("agents")))]
pub(crate) struct FleetArgs {
    /// Have these agents put the load on the server together: `a,b`; or any so many: `3`
    #[arg(long, value_name = "AGENTS", value_parser = AgentChoice::parse, hide_short_help = true)]
    pub(crate) agents: Option<AgentChoice>,
    /// Have this agent, on the server's host, measure what the server uses
    #[arg(long, value_name = "AGENT", requires = "agents", hide_short_help = true)]
    pub(crate) server_agent: Option<String>,
    #[command(flatten)]
    pub(crate) lead: LeadArgs,
}

impl FleetArgs {
    /// The agents of a run, where it has some.
    pub(crate) fn agents(&self) -> Result<Option<RunAgents>, Problem> {
        let agents = self.agents.clone().map(|load| RunAgents::new(load, self.server_agent.clone()));
        agents.transpose()
    }
}

/// How agents are reached, and who leads them.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct LeadArgs {
    #[command(flatten)]
    pub(crate) broker: BrokerArgs,
    /// The private key that signs commands to agents [default: one of yours, made when it is needed]
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) lab_key: Option<PathBuf>,
}

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

/// Reads the name of an agent.
pub(super) fn agent_name(text: &str) -> Result<AgentName, Problem> {
    check_agent_name(text)?;
    Ok(AgentName::new(text).expect("invariant: what can be the name of an agent is a part of a subject"))
}
