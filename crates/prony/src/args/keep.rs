//! The flags of `prony keep`, which studies call.

use std::ffi::OsString;
use std::time::Duration;

/// `prony keep`, as typed by a study.
#[derive(Debug, clap::Args)]
pub(crate) struct KeepArgs {
    /// Number of the signal that asks the command to stop
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub(crate) signal: i32,
    /// Kill it after this long, in milliseconds
    #[arg(long, value_name = "N", default_value = "5000", value_parser = milliseconds)]
    pub(crate) grace_ms: Duration,
    /// Ask all that descends from the command to stop, not it alone, and give it a session of its own
    #[arg(long)]
    pub(crate) tree: bool,
    /// Become the command, which dies with the process of this number
    #[arg(long, value_name = "PID")]
    pub(crate) under: Option<u32>,
    /// Stay until stdin ends, then kill the process group that the file on stdout names
    #[arg(long)]
    pub(crate) follow: bool,
    /// The command
    #[arg(
        value_name = "COMMAND",
        required_unless_present = "follow",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub(crate) words: Vec<OsString>,
}

fn milliseconds(text: &str) -> Result<Duration, std::num::ParseIntError> {
    text.parse().map(Duration::from_millis)
}
