//! `prony lab secret`: what tasks get that name it.

use std::io::{self, Read as _};

use super::local_admin::{done, open};
use crate::args::{LabSecretArgs, SecretAction};
use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::output;

/// More than any secret has: what is longer is refused.
const READ_BYTES_MAX: u64 = 1 << 20;

/// Runs the command of `args`.
pub(super) fn secret(args: &LabSecretArgs) -> Result<Exit, CliError> {
    match &args.action {
        SecretAction::List { place } => {
            for name in done(open(place)?.secret_names())? {
                output::print(&format!("{name}\n"))?;
            }
        }
        SecretAction::Set { name, place } => {
            let admin = open(place)?;
            let mut value = Vec::new();
            let read = io::stdin().take(READ_BYTES_MAX).read_to_end(&mut value);
            read.map_err(|error| CliError::usage(format!("can't read the secret from stdin ({error})")))?;
            let end = value.strip_suffix(b"\n").unwrap_or(&value);
            done(admin.set_secret(name, end))?;
            output::write_stderr(&format!("stored; a task gets it with: secrets = [\"{name}\"]\n"));
        }
        SecretAction::Remove { name, place } => done(open(place)?.remove_secret(name))?,
    }
    Ok(Exit::Good)
}
