//! The flags of `prony calibrate`.

use std::path::PathBuf;
use std::time::Duration;

use prony_model::{parse_bytes, parse_count_u32, parse_duration};

use super::Driver;
use super::shared::ConnectionArgs;

/// `prony calibrate`, as typed.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(after_help = "\
Examples:
  prony calibrate                      the usual settings, in a minute
  prony calibrate --threads 2 -c 200   one more, like a run of yours
  prony calibrate --show               what is known of this machine")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag that is there or not: nothing is inferred here"
)]
pub(crate) struct CalibrateArgs {
    /// Connections: a number, or several with commas
    #[arg(short, long, value_name = "N", value_delimiter = ',', value_parser = parse_count_u32)]
    pub(crate) connections: Vec<u32>,
    /// Worker threads [default: 1]
    #[arg(short, long, value_name = "N", value_parser = parse_count_u32)]
    pub(crate) threads: Option<u32>,
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
    /// Length of the request's body [default: 0]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, hide_short_help = true)]
    pub(crate) request_bytes: Option<u64>,
    /// Length of the response's body [default: 12]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, conflicts_with = "target")]
    pub(crate) response_bytes: Option<u64>,
    /// I/O backend
    #[arg(long, value_name = "DRIVER", value_enum, default_value = "auto", hide_short_help = true)]
    pub(crate) driver: Driver,
    /// Measure against a `prony serve null` on another machine, for runs against that host
    #[arg(long, value_name = "URL")]
    pub(crate) target: Option<String>,
    /// Measure each setting this long [default: 2s]
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) duration: Option<Duration>,
    /// Half a second for each setting: a rough result
    #[arg(long, conflicts_with = "duration")]
    pub(crate) quick: bool,
    /// Print what is known of this machine
    #[arg(long, conflicts_with_all = ["target", "duration", "quick"])]
    pub(crate) show: bool,
    /// Also write it to this file as JSON; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Store it although the machine was busy; overwrite the file of --json
    #[arg(long)]
    pub(crate) force: bool,
    /// No progress line
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
