//! `prony import`: a scenario from a file of another tool.

use crate::args::ImportArgs;
use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::{imports, output};

/// Prints the scenario that `args` name, and what is not in it.
pub(crate) fn import(args: &ImportArgs) -> Result<Exit, CliError> {
    let text = imports::read(&args.file)?;
    let imported = imports::import(&args.file, &text, args.format, &args.variables)?;
    output::print(&imported.to_toml())?;
    imports::write_left_out(&imported);
    Ok(Exit::Good)
}
