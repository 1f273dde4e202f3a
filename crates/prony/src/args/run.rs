//! The flags of `prony run`. A short help shows those that most runs need, `--help-all` every one.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use prony_model::{Clock, ServerHint, Stages, parse_count, parse_count_u32, parse_duration};

use super::fleet::FleetArgs;
use super::k8s::K8sArgs;
use super::push::PushArgs;
use super::shared::{HttpArgs, LoadArgs, TraceArgs};
use super::thresholds::ThresholdArgs;

/// `prony run`, as typed: `None` where nothing was.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(mut_arg("http2", |flag| flag.hide_short_help(true)))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct RunArgs {
    /// The server, `http://` or not; or a scenario: NAME.toml, NAME.hurl
    #[arg(value_name = "URL", required_unless_present = "curl")]
    pub(crate) url: Option<String>,
    /// The request of this curl command, as browsers copy it; `-` reads it from stdin
    #[arg(long, value_name = "COMMAND", hide_short_help = true)]
    pub(crate) curl: Option<String>,
    /// Where the paths of a scenario begin, instead of its `base`
    #[arg(long, value_name = "URL", hide_short_help = true)]
    pub(crate) base: Option<String>,
    /// The value of a variable of a Hurl file or a collection of Postman, `NAME=VALUE`; may be repeated
    #[arg(long = "variable", value_name = "NAME=VALUE", hide_short_help = true)]
    pub(crate) variables: Vec<String>,
    /// Connections [default: 50; with --rate, 1000 at most]
    #[arg(short, long, value_name = "N", value_parser = parse_count_u32)]
    pub(crate) connections: Option<u32>,
    /// Measure this long [default: 10s]
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) duration: Option<Duration>,
    /// Measure this many requests, however long they take
    #[arg(short = 'n', long, value_name = "N", value_parser = parse_count)]
    pub(crate) requests: Option<u64>,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    /// Open loop whose rate changes: `100/s:30s,100..1000/s:60s,peak=1000/s:30s`
    #[arg(long, value_name = "STAGES", value_parser = Stages::parse, hide_short_help = true)]
    pub(crate) stages: Option<Stages>,
    /// Open loop: requests are due at these moments, a number of seconds on each line
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) arrivals_file: Option<PathBuf>,
    /// Warm-up time, not measured [default: 1s; 0 with -n]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) warmup: Option<Duration>,
    #[command(flatten)]
    pub(crate) http: HttpArgs,
    /// Wait this long for the last responses when the run is over [default: 1s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) drain: Option<Duration>,
    #[command(flatten)]
    pub(crate) trace: TraceArgs,
    /// Connect to this Unix socket; the URL still names host and path
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    pub(crate) unix: Option<PathBuf>,
    /// Connect to this address, `ADDRESS:PORT`, or to several, with commas; the URL still names host and path
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',', hide_short_help = true)]
    pub(crate) connect_to: Vec<SocketAddr>,
    /// Responses are streams of events (SSE, JSON lines): measure each event
    #[arg(long, hide_short_help = true)]
    pub(crate) events: bool,
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
    /// End the run as soon as one of its thresholds can't be met any more
    #[arg(long, hide_short_help = true)]
    pub(crate) abort_early: bool,
    /// Write the whole result to this file; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Overwrite existing files of --json and --samples
    #[arg(long, hide_short_help = true)]
    pub(crate) force: bool,
    /// Write every request to this CSV file
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) samples: Option<PathBuf>,
    /// Append the report as Markdown to the file that GITHUB_STEP_SUMMARY names
    #[arg(long, hide_short_help = true)]
    pub(crate) github_summary: bool,
    /// What to print [default: text]
    #[arg(short, long, value_name = "FORMAT", value_enum)]
    pub(crate) output: Option<Format>,
    /// The distribution for `-o hgrm` [default: response]
    #[arg(long, value_name = "CLOCK", value_parser = super::report::clock(), hide_short_help = true)]
    pub(crate) clock: Option<Clock>,
    #[command(flatten)]
    pub(crate) push: PushArgs,
    #[command(flatten)]
    pub(crate) fleet: FleetArgs,
    #[command(flatten)]
    pub(crate) k8s: K8sArgs,
    /// Show the run while it is on: rate, both clocks, failures, limiter and findings so far
    #[arg(long, conflicts_with = "quiet", hide_short_help = true)]
    pub(crate) live: bool,
    /// No progress line
    #[arg(short, long, hide_short_help = true)]
    pub(crate) quiet: bool,
}

/// Which processes of this machine are the server. Nobody has to say: its listening socket tells.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ServerArgs {
    /// The server's process, children included; may be repeated [default: found by its listening socket]
    #[arg(long, value_name = "PID", value_parser = parse_count_u32, hide_short_help = true)]
    pub(crate) target_pid: Vec<u32>,
    /// The server's control group: `/sys/fs/cgroup/…`, or a path below it
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    pub(crate) target_cgroup: Option<PathBuf>,
}

impl ServerArgs {
    /// For the engine.
    pub(crate) fn hint(&self) -> ServerHint {
        ServerHint { pids: self.target_pid.clone(), cgroup: self.target_cgroup.clone() }
    }
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
    /// Thresholds as JUnit XML, for CI servers.
    Junit,
    /// A row for each second.
    Timeline,
    /// Bencher Metric Format, for trackers of benchmarks.
    Bencher,
    /// As k6's `--summary-export`.
    K6Summary,
    /// A page with charts.
    Html,
}

/// What stdout gets of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StudyFormat {
    /// A report for people.
    Text,
    /// The whole result.
    Json,
    /// A report for issues and pull requests.
    Markdown,
    /// Thresholds and cells as JUnit XML, for CI servers.
    Junit,
}

impl From<PageFormat> for StudyFormat {
    fn from(format: PageFormat) -> Self {
        match format {
            PageFormat::Text => Self::Text,
            PageFormat::Json => Self::Json,
            PageFormat::Markdown => Self::Markdown,
        }
    }
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
