//! Flags that are about one machine, which a load by agents does not have.

use crate::args::{RunArgs, WireArgs};
use crate::cli_error::CliError;

/// Refuses what only this machine could do in a run.
pub(crate) fn refuse_local_flags(args: &RunArgs) -> Result<(), CliError> {
    refuse_given(&[
        (args.live, "--live"),
        (args.samples.is_some(), "--samples"),
        (!args.push.prometheus_rw.is_empty(), "--prometheus-rw"),
        (!args.push.otlp.is_empty(), "--otlp"),
        (args.abort_early, "--abort-early"),
        (args.unix.is_some(), "--unix"),
        (!args.server.target_pid.is_empty(), "--target-pid"),
        (args.server.target_cgroup.is_some(), "--target-cgroup"),
    ])?;
    refuse_local_means(&args.http.wire)
}

/// The same of what all loads have.
pub(crate) fn refuse_local_means(wire: &WireArgs) -> Result<(), CliError> {
    refuse_given(&[
        (!wire.sources.is_empty(), "--source"),
        (wire.tls.cert.is_some(), "--cert"),
        (wire.tls.key.is_some(), "--key"),
    ])
}

/// Refuses the first of `flags` that was given.
pub(super) fn refuse_given(flags: &[(bool, &str)]) -> Result<(), CliError> {
    match flags.iter().find(|(given, _)| *given) {
        Some((_, flag)) => {
            Err(CliError::usage(format!("{flag} does not work with --agents: it is about one machine")))
        }
        None => Ok(()),
    }
}
