//! `prony demo`.

use crate::args::DemoArgs;
use crate::complaint::Complaint;
use crate::exit::Exit;

/// Shows what a sequential server does to its clients.
pub(crate) fn demo(args: &DemoArgs) -> Result<Exit, Complaint> {
    Err(Complaint::internal(format!("not built yet {args:?}")))
}
