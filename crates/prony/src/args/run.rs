//! The flags of `prony run`. A short help shows those that most runs need, `--help-all` every one.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use prony_model::{Clock, Rate, StatusSet, UnitError, parse_count, parse_duration};

/// `prony run`, as typed: `None` where nothing was.
#[derive(Debug, Clone, Default, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag that is there or not: nothing is inferred here"
)]
pub(crate) struct RunArgs {
    /// The server; `http://` may be left out
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Connections [default: 50; with --rate, 1000 at most]
    #[arg(short, long, value_name = "N", value_parser = whole_u32)]
    pub(crate) connections: Option<u32>,
    /// Measure this long [default: 10s]
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) duration: Option<Duration>,
    /// Measure this many requests, however long they take
    #[arg(short = 'n', long, value_name = "N", value_parser = parse_count)]
    pub(crate) requests: Option<u64>,
    /// Open loop: requests per second, come what may
    #[arg(short, long, value_name = "RATE")]
    pub(crate) rate: Option<Rate>,
    /// Open loop with exponential gaps, as of many independent users
    #[arg(long, hide_short_help = true)]
    pub(crate) poisson: bool,
    /// Worker threads [default: 1]
    #[arg(short, long, value_name = "N", value_parser = whole_u32)]
    pub(crate) threads: Option<u32>,
    /// Load before, not counted [default: 1s; 0 with -n]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) warmup: Option<Duration>,
    /// Method [default: GET; POST with a body]
    #[arg(short, long, value_name = "METHOD")]
    pub(crate) method: Option<String>,
    /// A header, `Name: value`; may be repeated
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub(crate) headers: Vec<String>,
    /// The request's body
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) body: Option<String>,
    /// The request's body, from a file; `-` is stdin
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) body_file: Option<PathBuf>,
    /// Wait this long for a response [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) timeout: Option<Duration>,
    /// Wait this long for a connection [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) connect_timeout: Option<Duration>,
    /// Wait this long for the last responses when the run is over [default: 1s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) drain: Option<Duration>,
    /// A new connection for each request
    #[arg(long)]
    pub(crate) no_keepalive: bool,
    /// Requests in flight on one connection [default: 1]
    #[arg(long, value_name = "N", value_parser = whole_u32, hide_short_help = true)]
    pub(crate) pipeline: Option<u32>,
    /// Speak HTTP/1.0
    #[arg(long = "http1.0", hide_short_help = true)]
    pub(crate) http10: bool,
    /// Connect to this Unix socket; the URL still names host and path
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    pub(crate) unix: Option<PathBuf>,
    /// Connect from these local addresses in turn: `127.0.0.2`, lists with commas, `127.0.0.2-127.0.0.9`
    #[arg(long = "source", value_name = "ADDRESS", value_delimiter = ',', hide_short_help = true)]
    pub(crate) sources: Vec<String>,
    /// How the kernel is asked
    #[arg(long, value_name = "DRIVER", value_enum, default_value = "auto", hide_short_help = true)]
    pub(crate) driver: Driver,
    /// The kernel's own time stamps, which tell the client's delays from the server's
    #[arg(long, value_name = "CLOCK", value_enum, default_value = "auto", hide_short_help = true)]
    pub(crate) kernel_clock: KernelStamps,
    /// Seed of everything random [default: from the system, and stored]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) seed: Option<u64>,
    /// Status codes that are good: `200`, `2xx`, `200-299`, lists with commas [default: 200-399]
    #[arg(long, value_name = "STATUS", value_parser = statuses, hide_short_help = true)]
    pub(crate) expect_status: Option<StatusSet>,
    /// Good is a body of exactly this text
    #[arg(long, value_name = "TEXT", hide_short_help = true)]
    pub(crate) expect_body: Option<String>,
    /// Good is a body that this regular expression matches somewhere
    #[arg(long, value_name = "REGEX", hide_short_help = true)]
    pub(crate) expect_body_regex: Option<String>,
    /// Good is a body as long as the first one
    #[arg(long, value_name = "LENGTH", value_enum, hide_short_help = true)]
    pub(crate) expect_length: Option<BodyLength>,
    /// Leave out the comparison with what `prony calibrate` measured
    #[arg(long, hide_short_help = true)]
    pub(crate) no_calibration: bool,
    /// What is loaded, kept with the result: a commit, a version, a variant
    #[arg(long, value_name = "TEXT", hide_short_help = true)]
    pub(crate) target_commit: Option<String>,
    /// Keep the whole result in this file; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Replace the files of --json and --samples if they exist
    #[arg(long, hide_short_help = true)]
    pub(crate) force: bool,
    /// Keep every request, one by one, in this file, as CSV
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) samples: Option<PathBuf>,
    /// What to print [default: text]
    #[arg(short, long, value_name = "FORMAT", value_enum)]
    pub(crate) output: Option<Format>,
    /// The distribution for `-o hgrm` [default: response]
    #[arg(long, value_name = "CLOCK", value_parser = super::report::clock(), hide_short_help = true)]
    pub(crate) clock: Option<Clock>,
    /// No progress line
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// What stdout gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A report for people.
    Text,
    /// The whole result.
    Json,
    /// A report for issues and pull requests.
    Markdown,
    /// A row for each clock and quantile.
    Csv,
    /// One distribution, as HdrHistogram prints it.
    Hgrm,
    /// Every distribution, as a log of HdrHistogram.
    Hlog,
}

/// What stdout gets of a result that no tool for distributions can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PageFormat {
    /// A report for people.
    Text,
    /// The whole result.
    Json,
    /// A report for issues and pull requests.
    Markdown,
}

/// How the kernel is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Driver {
    /// io_uring where the kernel has it, else epoll.
    #[default]
    Auto,
    /// Readiness.
    Epoll,
    /// Completions.
    #[value(name = "io_uring")]
    IoUring,
}

/// Whether the kernel's own time stamps are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum KernelStamps {
    /// Where the kernel has them.
    #[default]
    Auto,
    /// Not at all.
    Off,
}

/// What can be expected of a body's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BodyLength {
    /// That of the first one.
    Same,
}

/// A count that fits the engine's numbers.
pub(super) fn whole_u32(text: &str) -> Result<u32, UnitError> {
    parse_count(text)?.try_into().map_err(|_| UnitError::Count(text.to_owned()))
}

pub(super) fn statuses(text: &str) -> Result<StatusSet, StatusError> {
    StatusSet::parse(text).ok_or_else(|| StatusError(text.to_owned()))
}

/// A text that is no set of status codes.
#[derive(Debug)]
pub(super) struct StatusError(String);

impl std::fmt::Display for StatusError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "`{}` is not a set of status codes: write 200, 2xx, 200-299 or 200,404", self.0)
    }
}

impl std::error::Error for StatusError {}
