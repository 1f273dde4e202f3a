//! The flags of `prony egress`, which the lab calls in a sandbox.

use std::ffi::OsString;

/// `prony egress`, as the lab types it.
#[derive(Debug, clap::Args)]
pub(crate) struct EgressArgs {
    /// The command; without one, hand connections on, and print the port where they come in
    #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<OsString>,
}
