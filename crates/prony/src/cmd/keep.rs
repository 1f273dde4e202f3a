//! `prony keep`: stands between a study and what that starts, so that nothing is left of it. Studies call it;
//! people have no use for it.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;

use prony_study::Keep;

use crate::args::KeepArgs;
use crate::complaint::Complaint;
use crate::exit::Exit;

/// The code by which shells say that a program can't be started.
const NOT_STARTED: i32 = 127;

/// Starts the command of `args` and stays with it, or becomes it.
pub(crate) fn keep(args: &KeepArgs) -> Result<Exit, Complaint> {
    if let Some(parent) = args.under {
        let error = prony_study::become_kept(parent, &args.words);
        let program = args.words.first().map(|word| word.to_string_lossy()).unwrap_or_default();
        // It goes to the log of the target, and the code to whoever reads that.
        Complaint::target_failed(format!("`{program}` can't be started ({error})")).tell();
        std::process::exit(NOT_STARTED);
    }
    let failed = |error: io::Error| Complaint::internal(format!("failed to keep a process ({error})"));
    if args.follow {
        prony_study::follow(io::stdin(), io::stdout()).map_err(failed)?;
        return Ok(Exit::Good);
    }
    let log = File::from(io::stderr().as_fd().try_clone_to_owned().map_err(failed)?);
    let keep = Keep { words: args.words.clone(), signal: args.signal, grace: args.grace_ms, tree: args.tree };
    prony_study::keep(&keep, io::stdin(), &mut io::stdout(), &log).map_err(failed)?;
    Ok(Exit::Good)
}
