//! `prony supervise` stands between Prony and what it starts, so that nothing is left of that; `prony watchdog` ends a
//! command that is being timed. Prony calls them; people have no use for them.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;

use prony_supervisor::Guardian;

use crate::args::SuperviseArgs;
use crate::cli_error::CliError;
use crate::exit::Exit;

/// The code by which shells report that a program can't be started.
const NOT_STARTED: i32 = 127;

/// Starts the command of `args` and stays with it, or becomes it.
pub(crate) fn supervise(args: &SuperviseArgs) -> Result<Exit, CliError> {
    if let Some(parent) = args.under {
        let error = prony_supervisor::become_supervised(parent, args.cgroup.as_deref(), &args.words);
        let program = args.words.first().map(|word| word.to_string_lossy()).unwrap_or_default();
        // It goes to the log of the command, and the code to the caller.
        CliError::target_failed(format!("`{program}` can't be started ({error})")).report();
        std::process::exit(NOT_STARTED);
    }
    let failed = |error: io::Error| CliError::internal(format!("failed to supervise a process ({error})"));
    let log = File::from(io::stderr().as_fd().try_clone_to_owned().map_err(failed)?);
    let guardian = Guardian {
        words: args.words.clone(),
        signal: args.signal,
        grace: args.grace_ms,
        tree: args.tree,
        cgroup: args.cgroup.clone(),
    };
    guardian.run(io::stdin(), &mut io::stdout(), &log).map_err(failed)?;
    Ok(Exit::Good)
}

/// Stays until stdin ends, then kills the process group that the file on stdout names.
pub(crate) fn watchdog() -> Result<Exit, CliError> {
    let failed = |error: io::Error| CliError::internal(format!("failed to watch a process ({error})"));
    prony_supervisor::watch(io::stdin(), io::stdout()).map_err(failed)?;
    Ok(Exit::Good)
}
