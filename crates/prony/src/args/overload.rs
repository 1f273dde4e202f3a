//! The flags of `prony overload`; those that `prony run` has too mean the same.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use prony_model::{Rate, parse_count_u32, parse_duration};

use super::capacity::CapacityFormat;
use super::shared::{HttpArgs, PaceArgs};

/// `prony overload`, as typed: `None` where nothing was.
#[derive(Debug, Clone, Default, clap::Args)]
// The short help has room for what only an overload has.
#[command(
    mut_arg("threads", |flag| flag.hide_short_help(true)),
    mut_arg("method", |flag| flag.hide_short_help(true)),
    mut_arg("headers", |flag| flag.hide_short_help(true)),
    mut_arg("body", |flag| flag.hide_short_help(true)),
    mut_arg("timeout", |flag| flag
        .hide_short_help(true)
        .help("Wait this long for a request with all its retries [default: as long as they can take]")),
    mut_arg("attempt_timeout", |flag| flag.help("Clients wait this long for a response [default: --slo]")),
    mut_arg("retries", |flag| flag
        .hide_short_help(false)
        .help("Retries of a request at most [default: 3]")),
    mut_arg("retry_on", |flag| flag
        .help("What to retry: `connect`, `reset`, `timeout`, status codes [default: connect,reset,timeout,5xx]")),
    mut_arg("no_keepalive", |flag| flag.hide_short_help(true)),
    mut_arg("http2", |flag| flag.hide_short_help(true)),
)]
pub(crate) struct OverloadArgs {
    /// The server
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// The rate before and after the pulse; it is carried
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<Rate>,
    /// The server's capacity, as `prony capacity` found it
    #[arg(long, value_name = "RATE")]
    pub(crate) capacity: Option<Rate>,
    /// The pulse: times --capacity, or --rate [default: 2]
    #[arg(long, value_name = "FACTOR")]
    pub(crate) times: Option<f64>,
    /// Length of the pulse [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) pulse: Option<Duration>,
    /// Length of the load before the pulse [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) before: Option<Duration>,
    /// Length of the load after it [default: 10 pulses]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) after: Option<Duration>,
    /// A good response takes at most this [default: 1s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) slo: Option<Duration>,
    /// `plain`, `retrying` or `both` [default: both]
    #[arg(long, value_name = "WHICH", value_enum, hide_possible_values = true)]
    pub(crate) clients: Option<Clients>,
    /// Connections at most [default: as many as requests can be under way, up to 10000]
    #[arg(short, long, value_name = "N", value_parser = parse_count_u32, hide_short_help = true)]
    pub(crate) connections: Option<u32>,
    #[command(flatten)]
    pub(crate) pace: PaceArgs,
    #[command(flatten)]
    pub(crate) http: HttpArgs,
    /// Don't compare with what `prony calibrate` measured
    #[arg(long, hide_short_help = true)]
    pub(crate) no_calibration: bool,
    /// Write the whole result to this file; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Replace the file of --json if it exists
    #[arg(long, hide_short_help = true)]
    pub(crate) force: bool,
    /// text, json, markdown or html [default: text]
    #[arg(short, long, value_name = "FORMAT", value_enum, hide_possible_values = true)]
    pub(crate) output: Option<CapacityFormat>,
    /// No progress
    #[arg(short, long, hide_short_help = true)]
    pub(crate) quiet: bool,
}

/// Whose load it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Clients {
    /// Clients that send nothing again.
    Plain,
    /// Clients that send again what failed.
    Retrying,
    /// First those, then these.
    #[default]
    Both,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  prony overload http://127.0.0.1:3000/ --rate 500 --capacity 1k
  prony overload http://127.0.0.1:3000/ --rate 500 --times 4 --pulse 5s
  prony overload http://127.0.0.1:3000/ --rate 500 --retry-budget 20%";
