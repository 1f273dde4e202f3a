//! The flags of `prony capacity`; those that `prony run` has too mean the same.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use prony_model::{Problem, Rate, Threshold, parse_count_u32, parse_duration};

use super::fleet::FleetArgs;
use super::run::PageFormat;
use super::shared::{HttpArgs, PaceArgs};

/// `prony capacity`, as typed: `None` where nothing was.
#[derive(Debug, Clone, Default, clap::Args)]
// The short help has room for what only a search has.
#[command(
    mut_arg("poisson", |flag| flag.conflicts_with("users")),
    mut_arg("arrivals", |flag| flag.conflicts_with("users")),
    mut_arg("threads", |flag| flag.hide_short_help(true)),
    mut_arg("method", |flag| flag.hide_short_help(true)),
    mut_arg("headers", |flag| flag.hide_short_help(true)),
    mut_arg("body", |flag| flag.hide_short_help(true)),
    mut_arg("timeout", |flag| flag.hide_short_help(true)),
    mut_arg("no_keepalive", |flag| flag.hide_short_help(true)),
    mut_arg("http2", |flag| flag.hide_short_help(true)),
)]
pub(crate) struct CapacityArgs {
    /// The server
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// What every trial must meet: 'response.p99 < 50ms'; may be repeated
    #[arg(long = "slo", value_name = "THRESHOLD", value_parser = objective, conflicts_with = "users")]
    pub(crate) objectives: Vec<Threshold>,
    /// Share of requests that may have no good answer: '< 0.1%' [default: 0.1%]
    #[arg(long, value_name = "SHARE", value_parser = errors, conflicts_with = "users")]
    pub(crate) errors: Option<f64>,
    /// Try no lower rate, and begin there
    #[arg(long, value_name = "RATE", conflicts_with = "users")]
    pub(crate) from: Option<Rate>,
    /// Try no higher rate
    #[arg(long, value_name = "RATE", conflicts_with = "users")]
    pub(crate) to: Option<Rate>,
    /// The rate that is planned for, to be shown against the capacity
    #[arg(long, value_name = "RATE")]
    pub(crate) peak: Option<Rate>,
    /// Instead: closed loops of so many users, and the law by which their rate grows: 1,2,4,8,16,32
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = parse_count_u32)]
    pub(crate) users: Vec<u32>,
    /// Load with the sessions of this file, whose paths begin at URL
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) scenario: Option<String>,
    /// Time for all trials [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) time: Option<Duration>,
    /// Length of a trial [default: 10s, or less if --time is short]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) trial: Option<Duration>,
    /// Connections at most [default: 1000]
    #[arg(short, long, value_name = "N", value_parser = parse_count_u32, conflicts_with = "users", hide_short_help = true)]
    pub(crate) connections: Option<u32>,
    #[command(flatten)]
    pub(crate) pace: PaceArgs,
    #[command(flatten)]
    pub(crate) http: HttpArgs,
    #[command(flatten)]
    pub(crate) fleet: FleetArgs,
    /// Wait this long for the last responses of a trial [default: 1s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) drain: Option<Duration>,
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

/// What stdout gets of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CapacityFormat {
    /// A report for people.
    Text,
    /// The whole result.
    Json,
    /// A report for issues and pull requests.
    Markdown,
    /// A page with a chart.
    Html,
}

impl From<PageFormat> for CapacityFormat {
    fn from(format: PageFormat) -> Self {
        match format {
            PageFormat::Text => Self::Text,
            PageFormat::Json => Self::Json,
            PageFormat::Markdown => Self::Markdown,
        }
    }
}

pub(super) const EXAMPLES: &str = "\
Examples:
  prony capacity http://127.0.0.1:3000/ --slo 'response.p99 < 50ms'
  prony capacity http://127.0.0.1:3000/ --slo 'p99 < 50ms' --peak 2k
  prony capacity http://127.0.0.1:3000/ --users 1,2,4,8,16,32";

fn objective(text: &str) -> Result<Threshold, Problem> {
    text.parse().map_err(|error: prony_model::ThresholdError| error.located(text))
}

/// `0.1%`, or as a threshold has it: `< 0.1%`.
fn errors(text: &str) -> Result<f64, Problem> {
    let share = text.trim_start().trim_start_matches("<=").trim_start_matches('<').trim();
    prony_model::parse_percent(share)
}
