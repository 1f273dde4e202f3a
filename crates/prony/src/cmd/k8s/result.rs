//! `prony k8s-result`: hands out the result of a bundle's run in the pod that has it, and notes that it has arrived.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use prony_fleet::agent::sha256;

use crate::args::K8sResultArgs;
use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::output;

/// The result's file.
pub(super) const RESULT: &str = "result.json";
/// Is there once the result has arrived.
pub(super) const RECEIVED: &str = "received";

/// Prints the result in the folder of `args`, or notes that it has arrived.
pub(crate) fn result(args: &K8sResultArgs) -> Result<Exit, CliError> {
    let path = args.folder.join(RESULT);
    if args.is_ready {
        return Ok(if path.exists() { Exit::Good } else { Exit::TargetFailed });
    }
    let text = fs::read_to_string(&path).map_err(|error| failed(&path, &error))?;
    let Some(received) = &args.received else {
        output::print(&text)?;
        return Ok(Exit::Good);
    };
    let own = sha256(text.as_bytes());
    if !received.trim().eq_ignore_ascii_case(&own) {
        return Err(CliError::usage(format!(
            "the result has the SHA-256 {own}: what arrived is not all of it"
        ))
        .hint("collect it again"));
    }
    let path = args.folder.join(RECEIVED);
    File::create(&path).and_then(|file| file.sync_all()).map_err(|error| failed(&path, &error))?;
    Ok(Exit::Good)
}

fn failed(path: &Path, error: &io::Error) -> CliError {
    if error.kind() == io::ErrorKind::NotFound {
        return CliError::target_failed("there is no result yet").hint("wait until the pod is ready");
    }
    CliError::internal(format!("{}: {error}", path.display()))
}
