//! `prony lab clear-caches`: what builds of a project kept for the next one.

use super::local_admin::{done, open};
use crate::args::LabClearCachesArgs;
use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::output;

/// Empties the caches of a project.
pub(super) fn clear(args: &LabClearCachesArgs) -> Result<Exit, CliError> {
    let cleared = done(open(&args.place)?.clear_caches(&args.project))?;
    output::write_stderr(&format!("{cleared} cleared; builds that begin from now on fill them again\n"));
    Ok(Exit::Good)
}
