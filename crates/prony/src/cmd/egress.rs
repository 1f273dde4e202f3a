//! `prony egress`: the end of the lab's proxy that is in the sandbox of a task. The lab calls it; people have no use for it.

use std::io::{self, BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use prony_lab::work::egress::{SOCKET, relay, variables};
use prony_supervisor::SELF;

use crate::args::EgressArgs;
use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::output;

/// Becomes the command of `args`, beside a process that hands its connections on; or is that process.
pub(crate) fn egress(args: &EgressArgs) -> Result<Exit, CliError> {
    let failed = |error: io::Error| CliError::internal(format!("failed to open a way out ({error})"));
    let Some((program, arguments)) = args.words.split_first() else {
        relay(Path::new(SOCKET), |port| {
            output::print(&format!("{port}\n")).map_err(|_| io::ErrorKind::BrokenPipe.into())
        })
        .map_err(failed)?;
        return Ok(Exit::Good);
    };
    let mut beside = Command::new(SELF)
        .arg0("prony")
        .arg("egress")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    let mut line = String::new();
    let stdout = beside.stdout.take().expect("invariant: it is piped");
    BufReader::new(stdout).read_line(&mut line).map_err(failed)?;
    let port = line.trim().parse().map_err(|_| failed(io::Error::other("nobody listens")))?;
    let error = Command::new(program).args(arguments).envs(variables(port)).exec();
    Err(CliError::target_failed(format!("`{}` can't be started ({error})", program.to_string_lossy())))
}
