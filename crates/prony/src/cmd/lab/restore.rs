//! `prony lab restore`: the way back from a copy.

use prony_report::clean;

use super::{cli_error, place};
use crate::args::LabCopyArgs;
use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::output;

/// Puts the copy in the place of the store and prints where the old one is.
pub(super) fn restore(args: &LabCopyArgs) -> Result<Exit, CliError> {
    let (_, store) = place(&args.place)?;
    let made = prony_lab::restore(&store, &args.file).map_err(|error| cli_error(&error.into()))?;
    output::print(&format!("restored: {} ({:.1} s)\n", super::contents(&made), made.took.as_secs_f64()))?;
    if let Some(kept) = &made.kept {
        output::print(&format!("what was there before: {}\n", clean(&kept.display().to_string())))?;
    }
    Ok(Exit::Good)
}
