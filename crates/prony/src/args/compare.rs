//! The flags of `prony compare`; those that `prony run` has too mean the same.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use prony_model::{Metric, parse_count_u32, parse_duration, parse_percent};

use super::fleet::FleetArgs;
use super::run::PageFormat;
use super::shared::{HttpArgs, LoadArgs, TraceArgs};

/// `prony compare`, as typed: `None` where nothing was.
#[derive(Debug, Clone, Default, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag that is there or not: nothing is inferred here"
)]
// The short help has room for what only a comparison has, and `-b` would be taken for B.
#[command(
    mut_arg("threads", |flag| flag.hide_short_help(true)),
    mut_arg("method", |flag| flag.hide_short_help(true)),
    mut_arg("body", |flag| flag.short(None).hide_short_help(true)),
    mut_arg("timeout", |flag| flag.hide_short_help(true)),
    mut_arg("no_keepalive", |flag| flag.hide_short_help(true)),
    mut_arg("http2", |flag| flag.hide_short_help(true)),
    mut_arg("expect_length", |flag| flag.help("Accept only bodies as long as the first one of the block")),
)]
pub(crate) struct CompareArgs {
    /// Baseline: a URL, a command in quotes, or stored results (a file or a folder)
    #[arg(value_name = "A")]
    pub(crate) a: Option<String>,
    /// Candidate, of the same kind
    #[arg(value_name = "B")]
    pub(crate) b: Option<String>,
    /// Results of A, with commas between; folders count for all results in them
    #[arg(
        long = "a",
        value_name = "FILES",
        value_delimiter = ',',
        conflicts_with = "a",
        hide_short_help = true
    )]
    pub(crate) files_a: Vec<PathBuf>,
    /// Results of B, likewise
    #[arg(
        long = "b",
        value_name = "FILES",
        value_delimiter = ',',
        conflicts_with = "b",
        hide_short_help = true
    )]
    pub(crate) files_b: Vec<PathBuf>,
    /// Load both with the sessions of this file, whose paths begin at A and at B
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) scenario: Option<String>,
    /// rate, p50, …, p99.9, cpu [default: rate or p50]
    #[arg(long, value_name = "METRIC", value_parser = metric(), hide_possible_values = true)]
    pub(crate) primary: Option<Metric>,
    /// Treat smaller changes as no change [default: 2%]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub(crate) margin: Option<f64>,
    /// Exit code 1 if slower, slower:5%, too-noisy, …
    #[arg(long, value_name = "CONDITION", value_delimiter = ',')]
    pub(crate) fail_if: Vec<String>,
    /// Measure this many pairs [default: 20]
    #[arg(long, value_name = "N", value_parser = parse_count_u32)]
    pub(crate) pairs: Option<u32>,
    /// Measure as many pairs as it takes to see a change of this size, 40 at most
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, conflicts_with_all = ["pairs", "sequential"], hide_short_help = true)]
    pub(crate) detect: Option<f64>,
    /// Look after 10, 16, 24 and 40, and stop when clear
    #[arg(long, conflicts_with = "pairs")]
    pub(crate) sequential: bool,
    /// Length of a block [default: 200ms, or what 100 requests and 20 rounds need]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) block: Option<Duration>,
    /// Connections [default: 50; with --rate, up to 1000]
    #[arg(short, long, value_name = "N", value_parser = parse_count_u32)]
    pub(crate) connections: Option<u32>,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    /// Warm-up time of each, not measured [default: 1s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) warmup: Option<Duration>,
    #[command(flatten)]
    pub(crate) http: HttpArgs,
    /// Wait this long for the last responses of a block [default: 1s, or 3 times the longest of the pilot]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) drain: Option<Duration>,
    #[command(flatten)]
    pub(crate) trace: TraceArgs,
    #[command(flatten)]
    pub(crate) fleet: FleetArgs,
    /// Don't compare with what `prony calibrate` measured
    #[arg(long, hide_short_help = true)]
    pub(crate) no_calibration: bool,
    /// Write the whole result to this file; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Replace the file of --json if it exists; show results that can't be compared, without a verdict
    #[arg(long, hide_short_help = true)]
    pub(crate) force: bool,
    /// text, json or markdown [default: text]
    #[arg(short, long, value_name = "FORMAT", value_enum, hide_possible_values = true)]
    pub(crate) output: Option<PageFormat>,
    /// Show the comparison while it is on: pairs, medians of both sides and their change so far
    #[arg(long, conflicts_with = "quiet", hide_short_help = true)]
    pub(crate) live: bool,
    /// No progress line
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  prony compare http://127.0.0.1:3000/ http://127.0.0.1:3001/
  prony compare http://old/ http://new/ --rate 2k --fail-if slower:5%
  prony compare before/ after/       stored results, at least 6 on each side";

/// Reads the name of a metric.
fn metric() -> impl TypedValueParser<Value = Metric> {
    PossibleValuesParser::new(Metric::ALL.map(Metric::name)).map(|name| {
        let named = Metric::ALL.into_iter().find(|metric| metric.name() == name);
        named.expect("invariant: only the names of metrics are possible")
    })
}
