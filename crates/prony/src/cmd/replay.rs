//! `prony replay`: recorded traffic as a load.

use super::run::{execute, seed};
use crate::args::ReplayArgs;
use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::resolve::replay::resolve_replay;

/// Replays what `args` name.
pub(crate) fn replay(args: &ReplayArgs) -> Result<Exit, CliError> {
    let (run, resolved) = resolve_replay(args, seed()?)?;
    execute(&run, resolved)
}
