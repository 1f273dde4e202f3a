//! `prony lab backup`: everything that a lab keeps, as a file.

use prony_report::clean;

use super::{cli_error, place};
use crate::args::LabCopyArgs;
use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::output;

/// Makes the copy and prints what is in it.
pub(super) fn backup(args: &LabCopyArgs) -> Result<Exit, CliError> {
    let (_, store) = place(&args.place)?;
    let made = prony_lab::backup(&store, &args.file).map_err(|error| cli_error(&error.into()))?;
    let file = clean(&args.file.display().to_string());
    output::print(&format!(
        "{file}: {}, looked at and whole ({:.1} s)\n",
        super::contents(&made),
        made.took.as_secs_f64()
    ))?;
    Ok(Exit::Good)
}
