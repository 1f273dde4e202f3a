//! The flags of `prony supervise`, which studies and the lab call.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// `prony supervise`, as prony-supervisor types it.
#[derive(Debug, clap::Args)]
pub(crate) struct SuperviseArgs {
    /// Number of the signal that asks the command to stop
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub(crate) signal: i32,
    /// Kill it after this long, in milliseconds
    #[arg(long, value_name = "N", default_value = "5000", value_parser = milliseconds)]
    pub(crate) grace_ms: Duration,
    /// Ask all that descends from the command to stop, not it alone, and give it a session of its own
    #[arg(long)]
    pub(crate) tree: bool,
    /// Run it in this control group
    #[arg(long, value_name = "FOLDER")]
    pub(crate) cgroup: Option<PathBuf>,
    /// Become the command, which dies with the process of this number
    #[arg(long, value_name = "PID")]
    pub(crate) under: Option<u32>,
    /// The command
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<OsString>,
}

fn milliseconds(text: &str) -> Result<Duration, std::num::ParseIntError> {
    text.parse().map(Duration::from_millis)
}
