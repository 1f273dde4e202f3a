//! The flags of `prony replay`; those that `prony run` has too mean the same.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use prony_import::replay::FormatChoice;
use prony_model::{Clock, Problem, parse_count_u32, parse_duration};

use super::run::{Format, ServerArgs};
use super::shared::{TraceArgs, WireArgs};
use super::thresholds::ThresholdArgs;

/// `prony replay`, as typed: `None` where nothing was.
#[derive(Debug, Clone, Default, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
// The short help has room for what only a replay has.
#[command(
    mut_arg("http2", |flag| flag.hide_short_help(true)),
)]
pub(crate) struct ReplayArgs {
    /// An access log or a HAR file, also compressed (gzip); `-` is stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The server to replay it to
    #[arg(long, value_name = "URL")]
    pub(crate) to: String,
    /// What the file is: combined, common, json, har, or nginx's log_format in quotes [default: found out]
    #[arg(long, value_name = "FORMAT", value_parser = FormatChoice::parse)]
    pub(crate) format: Option<FormatChoice>,
    /// Let time pass so many times as fast [default: 1]
    #[arg(long, value_name = "FACTOR")]
    pub(crate) speed: Option<f64>,
    /// Replay these methods, or `all` [default: GET,HEAD]
    #[arg(long, value_name = "METHODS", value_delimiter = ',')]
    pub(crate) methods: Vec<String>,
    /// Replay what was recorded from this moment on: 2026-11-23T14:00:00Z
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    pub(crate) since: Option<i64>,
    /// Replay what was recorded before this moment
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    pub(crate) until: Option<i64>,
    /// Replay so much of the file, in its own time
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    pub(crate) length: Option<Duration>,
    /// Replay requests to these hosts of a HAR file [default: that of the first one]
    #[arg(long = "host", value_name = "HOST", value_delimiter = ',')]
    pub(crate) hosts: Vec<String>,
    /// A header of every request, `Name: value`; may be repeated
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub(crate) headers: Vec<String>,
    /// Connections at most [default: 1000]
    #[arg(short, long, value_name = "N", value_parser = parse_count_u32)]
    pub(crate) connections: Option<u32>,
    /// Worker threads [default: 1]
    #[arg(short, long, value_name = "N", value_parser = parse_count_u32, hide_short_help = true)]
    pub(crate) threads: Option<u32>,
    /// Wait this long for a response [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) timeout: Option<Duration>,
    /// Wait this long for a connection [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) connect_timeout: Option<Duration>,
    /// A new connection for each request
    #[arg(long, hide_short_help = true)]
    pub(crate) no_keepalive: bool,
    #[command(flatten)]
    pub(crate) trace: TraceArgs,
    #[command(flatten)]
    pub(crate) wire: WireArgs,
    /// Connect to this Unix socket; the URL still names host and path
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    pub(crate) unix: Option<PathBuf>,
    /// Connect to this address, `ADDRESS:PORT`, or to several, with commas; the URL still names host and path
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',', hide_short_help = true)]
    pub(crate) connect_to: Vec<SocketAddr>,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Don't compare with what `prony calibrate` measured
    #[arg(long, hide_short_help = true)]
    pub(crate) no_calibration: bool,
    /// Label stored with the result: commit, version or variant of the server
    #[arg(long, value_name = "TEXT", hide_short_help = true)]
    pub(crate) target_commit: Option<String>,
    #[command(flatten)]
    pub(crate) thresholds: ThresholdArgs,
    /// Write the whole result to this file; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Overwrite existing files of --json and --samples
    #[arg(long, hide_short_help = true)]
    pub(crate) force: bool,
    /// Write every request to this CSV file
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) samples: Option<PathBuf>,
    /// What to print [default: text]
    #[arg(short, long, value_name = "FORMAT", value_enum)]
    pub(crate) output: Option<Format>,
    /// The distribution for `-o hgrm` [default: response]
    #[arg(long, value_name = "CLOCK", value_parser = super::report::clock(), hide_short_help = true)]
    pub(crate) clock: Option<Clock>,
    /// Show the replay while it is on
    #[arg(long, conflicts_with = "quiet", hide_short_help = true)]
    pub(crate) live: bool,
    /// No progress line
    #[arg(short, long, hide_short_help = true)]
    pub(crate) quiet: bool,
}

/// Nanoseconds since 1970.
fn moment(text: &str) -> Result<i64, Problem> {
    let read = prony_import::replay::stamp(text).map(|stamp| stamp.nanos);
    read.ok_or_else(|| {
        Problem::new(
            format!("`{text}` is not a moment"),
            "write it as 2026-11-23T14:00:00Z, or with a zone, +02:00",
        )
    })
}

pub(super) const EXAMPLES: &str = "\
Examples:
  prony replay access.log --to http://127.0.0.1:3000
  prony replay access.log.gz --to http://127.0.0.1:3000 --speed 2 --for 10m
  prony replay session.har --to http://127.0.0.1:3000 --methods all";
