//! The flags of `prony serve express`.

use std::time::Duration;

use clap::ValueEnum;
use prony_model::{Problem, parse_count_u32, parse_duration};
use prony_targets::postgres::{DatabaseUrl, DatabaseUrlError};

use super::ListenArgs;

/// `prony serve express`
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Examples:\n  \
    prony serve express --postgres auto\n  \
    prony serve express --database postgresql://me:secret@127.0.0.1:5432/shop")]
pub(crate) struct ExpressArgs {
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    /// Threads, beside the one of the database
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_count_u32)]
    pub(crate) workers: u32,
    /// Use this PostgreSQL; else that of DATABASE_URL
    #[arg(long, value_name = "URL", conflicts_with = "postgres", value_parser = database)]
    pub(crate) database: Option<DatabaseUrl>,
    /// `auto` starts a private PostgreSQL, gone at the end
    #[arg(long, value_name = "HOW", value_enum, hide_possible_values = true)]
    pub(crate) postgres: Option<StartPostgres>,
    /// Connections in the pool
    #[arg(long, value_name = "N", default_value = "10", value_parser = parse_count_u32)]
    pub(crate) pool: u32,
    /// Wait this long for a connection of the pool
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) pool_timeout: Duration,
    /// Wait this long for a new connection to the database
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) connect_timeout: Duration,
    /// Wait this long for a query
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) statement_timeout: Duration,
    /// Sleep in the query of /pg2; the original: 100ms
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_duration)]
    pub(crate) pg_sleep: Duration,
    /// Answer errors with 500 or 503, not with 200 as the original
    #[arg(long)]
    pub(crate) errors_500: bool,
}

/// Where a private PostgreSQL comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StartPostgres {
    /// From the programs that are installed.
    Auto,
}

fn database(text: &str) -> Result<DatabaseUrl, Problem> {
    text.parse::<DatabaseUrl>().map_err(|error| match error {
        DatabaseUrlError::Tls => {
            Problem::new("connections are made without TLS", "leave sslmode=require out")
        }
        other => Problem::without_advice(other.to_string()),
    })
}
