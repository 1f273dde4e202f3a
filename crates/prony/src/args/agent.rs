//! The flags of `prony agent`.

use std::path::PathBuf;

use prony_fleet::protocol::AgentName;

use super::fleet::{BrokerArgs, agent_name};

pub(super) const EXAMPLES: &str = "\
Examples:
  prony agent --name a
  prony agent --name a --nats tls://lab.example:4222 --nkey a.nk --lab-key KEY
  prony agent --name a --nats-cacert ca.pem --policy agent.toml --check
  prony agent nats-config nats --agents a,b";

/// `prony agent`
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct AgentArgs {
    /// What to do instead of starting an agent
    #[command(subcommand)]
    pub(crate) action: Option<AgentAction>,
    /// How to start it
    #[command(flatten)]
    pub(crate) serve: AgentServeArgs,
}

/// What `prony agent` does beside starting one.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum AgentAction {
    /// Write a configuration of nats-server, and a key for each agent
    NatsConfig(NatsConfigArgs),
    /// Collect the results of runs whose controller has ended
    Results(ResultsArgs),
    /// Print the public key that agents know this user's runs by
    LabKey(LabKeyArgs),
}

/// An agent.
#[derive(Debug, clap::Args)]
pub(crate) struct AgentServeArgs {
    /// Its name, unlike that of any other agent [default: the machine's]
    #[arg(long, value_name = "NAME", value_parser = agent_name)]
    pub(crate) name: Option<AgentName>,
    #[command(flatten)]
    pub(crate) broker: BrokerArgs,
    /// The public key of anyone who may give it loads, or a file with it [default: yours on this machine]
    #[arg(long, value_name = "KEY")]
    pub(crate) lab_key: Option<String>,
    /// Which servers it may load, and how much: a TOML file [default: this machine only]
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Folder for its journal and for results that are not collected yet
    #[arg(long, value_name = "FOLDER")]
    pub(crate) state: Option<PathBuf>,
    /// End after one load, when its result is collected
    #[arg(long, conflicts_with = "check", hide_short_help = true)]
    pub(crate) once: bool,
    /// Say whether all is well with its files, keys and broker, and end
    #[arg(long)]
    pub(crate) check: bool,
}

/// `prony agent nats-config`
#[derive(Debug, clap::Args)]
pub(crate) struct NatsConfigArgs {
    /// Folder for nats.conf and the keys; it must not have them yet
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    /// Names of the agents, with commas
    #[arg(long, value_name = "NAMES", value_parser = agent_name, value_delimiter = ',', required = true)]
    pub(crate) agents: Vec<AgentName>,
    /// Where the broker listens
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4222")]
    pub(crate) listen: std::net::SocketAddr,
    /// The broker's certificate, PEM; it must be there where others may reach the broker
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(crate) cert: Option<PathBuf>,
    /// The certificate's key, PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
}

/// `prony agent results`
#[derive(Debug, clap::Args)]
pub(crate) struct ResultsArgs {
    #[command(flatten)]
    pub(crate) broker: BrokerArgs,
    /// The private key that signed the commands of those runs [default: yours]
    #[arg(long, value_name = "FILE")]
    pub(crate) lab_key: Option<PathBuf>,
}

/// `prony agent lab-key`
#[derive(Debug, clap::Args)]
pub(crate) struct LabKeyArgs {
    /// The private key [default: one of yours, made when it is needed]
    #[arg(long, value_name = "FILE")]
    pub(crate) lab_key: Option<PathBuf>,
}
