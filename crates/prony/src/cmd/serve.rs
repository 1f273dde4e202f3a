//! `prony serve`: the reference servers.

use crate::args::ServeArgs;
use crate::complaint::Complaint;
use crate::exit::Exit;

/// Starts the server that `args` name and waits for Ctrl-C.
pub(crate) fn serve(args: &ServeArgs) -> Result<Exit, Complaint> {
    Err(Complaint::internal(format!("{:?} is not built yet", args.server)))
}
