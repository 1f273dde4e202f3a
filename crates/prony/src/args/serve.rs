//! The flags of `prony serve`.

use std::net::IpAddr;
use std::time::Duration;

use clap::{Subcommand, ValueEnum};
use prony_model::{parse_bytes, parse_duration};

use super::TruthArgs;
use super::run::whole_u32;

/// `prony serve`, as typed.
#[derive(Debug, clap::Args)]
#[command(
    subcommand_value_name = "NAME",
    subcommand_help_heading = "Servers",
    after_help = "Examples:\n  prony serve null\n  prony serve rudy --port 3000\n  prony serve rudy --model pool --workers 4 --delay 10ms"
)]
pub(crate) struct ServeArgs {
    #[command(subcommand)]
    pub(crate) server: Served,
}

/// The reference servers.
#[derive(Debug, Subcommand)]
pub(crate) enum Served {
    /// Answers as fast as it can: what the client itself can do
    Null(NullArgs),
    /// A small server that takes 40 ms for each request, in four ways to handle many
    Rudy(RudyArgs),
    /// Takes exactly as long as it is told to, and logs what it did: to check a measurement
    Truth(TruthArgs),
}

/// Where to listen.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct ListenArgs {
    /// Port; 0 takes a free one
    #[arg(short, long, value_name = "PORT", default_value_t = 3000)]
    pub(crate) port: u16,
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) listen: IpAddr,
    /// Let other machines connect; needed for any address that is not loopback
    #[arg(long)]
    pub(crate) allow_remote: bool,
}

/// `prony serve null`
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct NullArgs {
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    /// Threads
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole_u32)]
    pub(crate) workers: u32,
    /// Length of the answer's body
    #[arg(long, value_name = "BYTES", default_value = "12", value_parser = parse_bytes)]
    pub(crate) body_bytes: u64,
}

/// `prony serve rudy`
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct RudyArgs {
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    /// How it handles many clients
    #[arg(long, value_name = "MODEL", value_enum, default_value = "sequential")]
    pub(crate) model: Model,
    /// Sleep this long in each reply
    #[arg(long, value_name = "TIME", default_value = "40ms", value_parser = parse_duration)]
    pub(crate) delay: Duration,
    /// Workers of the pool
    #[arg(long, value_name = "N", default_value = "8", value_parser = whole_u32)]
    pub(crate) workers: u32,
    /// What the pool does with a connection when every worker is busy
    #[arg(long, value_name = "WHAT", value_enum, default_value = "hold")]
    pub(crate) when_full: WhenFull,
    /// Carry more than one request on a connection
    #[arg(long)]
    pub(crate) keepalive: bool,
}

/// How many clients are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Model {
    /// One request after the other.
    Sequential,
    /// A thread for each connection.
    Thread,
    /// A fixed number of threads.
    Pool,
    /// One thread, many connections.
    Async,
}

/// What becomes of a connection that finds every worker busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhenFull {
    /// It waits.
    Hold,
    /// It gets 503.
    Refuse,
}
