//! `prony lab secret`: what tasks get that name it, on the store of a lab that is stopped.

use std::io::{self, Read as _};

use prony_lab::{SecretAdmin, SecretError};

use super::local_admin::by;
use super::{place, worded};
use crate::args::{LabPlaceArgs, LabSecretArgs, SecretAction};
use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::output;

/// More than any secret has: what is longer is refused.
const READ_BYTES_MAX: u64 = 1 << 20;

/// Does what `args` say.
pub(super) fn secret(args: &LabSecretArgs) -> Result<Exit, CliError> {
    match &args.action {
        SecretAction::List { place } => {
            for name in done(open(place)?.names())? {
                output::print(&format!("{name}\n"))?;
            }
        }
        SecretAction::Set { name, place } => {
            let admin = open(place)?;
            let mut value = Vec::new();
            let read = io::stdin().take(READ_BYTES_MAX).read_to_end(&mut value);
            read.map_err(|error| CliError::usage(format!("can't read the secret from stdin ({error})")))?;
            let end = value.strip_suffix(b"\n").unwrap_or(&value);
            done(admin.set(name, end))?;
            output::tell(&format!("stored; a task gets it with: secrets = [\"{name}\"]\n"));
        }
        SecretAction::Remove { name, place } => done(open(place)?.remove(name))?,
    }
    Ok(Exit::Good)
}

fn open(args: &LabPlaceArgs) -> Result<SecretAdmin, CliError> {
    let (data, store) = place(args)?;
    done(SecretAdmin::open(&data, &store, &by()))
}

fn done<T>(result: Result<T, SecretError>) -> Result<T, CliError> {
    result.map_err(|error| worded(&format!("failed to {error}")))
}
