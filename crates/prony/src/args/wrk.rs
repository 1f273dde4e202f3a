//! The flags of `prony wrk`: those of wrk 4.

use super::shared::TlsArgs;

/// `prony wrk`, as typed: `None` where nothing was.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(
    // As getopt has it: the last of several wins, and a long flag may be cut short.
    args_override_self = true,
    infer_long_args = true,
    override_usage = "prony wrk [OPTIONS] http[s]://HOST[:PORT]/PATH",
    after_help = EXAMPLES,
    after_long_help = DETAILS
)]
pub(crate) struct WrkArgs {
    /// The server and the document
    #[arg(value_name = "URL", required_unless_present = "version")]
    pub(crate) url: Option<String>,
    /// Connections over all threads [default: 10]
    #[arg(short, long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) connections: Option<String>,
    /// Load this long: 30s, 2m, 1h [default: 10s]
    #[arg(short, long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) duration: Option<String>,
    /// Threads [default: 2]
    #[arg(short, long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) threads: Option<String>,
    /// A header, `Name: value`; may be repeated
    #[arg(short = 'H', long = "header", value_name = "HEADER", allow_hyphen_values = true)]
    pub(crate) headers: Vec<String>,
    /// Print the distribution of latencies
    #[arg(short = 'L', long)]
    pub(crate) latency: bool,
    /// Wait this long for a response [default: 2s]
    #[arg(short = 'T', long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) timeout: Option<String>,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
    /// Print the version
    #[arg(short, long)]
    pub(crate) version: bool,
    /// End with prony's exit codes: 3 if the run is invalid, 4 if no answer was good
    #[arg(long)]
    pub(crate) strict: bool,
    /// Refused: prony has no scripts
    #[arg(short, long, value_name = "FILE", allow_hyphen_values = true)]
    pub(crate) script: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  prony wrk http://127.0.0.1:3000/
  prony wrk -t4 -c400 -d30s --latency http://127.0.0.1:3000/
  prony wrk -c 50 -d 1m -H 'Accept: text/html' http://127.0.0.1:3000/";

const DETAILS: &str = "\
The report on stdout is wrk's, line for line; the verdict and what speaks
against the numbers are on stderr.

What differs from wrk:
  Latencies are the measured ones: wrk adds others, to make up for requests that
  it did not send while it waited.
  A response that comes later than --timeout is a failure; its connection is
  closed. wrk only counts it.
  All connections are opened, also those that don't divide by the threads.
  Answers to what was sent in time are awaited for up to a second.
  With --strict exit codes are prony's own (prony --help-all); without it, a
  load that was made ends with 0, as wrk's does, whatever was answered.
  Certificates are verified; wrk accepts any, as prony does with --insecure.
  Refused: scripts (-s). For a body or a method: prony run --body.";
