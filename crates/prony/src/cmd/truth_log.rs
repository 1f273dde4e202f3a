//! `prony truth-log`: what a truth server did, as CSV on stdout.

use std::io::{BufWriter, Write as _};

use prony_targets::truth::log::{self, Outcome, Record};

use crate::args::TruthLogArgs;
use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::output;

const HEADER: &str = "id,connection,peer_port,arrival_ns,read_ns,start_ns,delay_ns,first_ns,last_ns,residence_ns,outcome,\
                      arrival_from_kernel,clock_moved\n";

/// Prints the whole log; times are ns on the monotonic clock of the machine that served.
pub(crate) fn truth_log(args: &TruthLogArgs) -> Result<Exit, CliError> {
    let log = log::read(&args.file).map_err(|error| match std::error::Error::source(&error) {
        Some(source) => CliError::usage(format!("failed to {error} ({source})")),
        None => CliError::usage(format!("failed to {error}")),
    })?;
    if log.lost > 0 {
        let warning =
            format!("warning: {} records found the server's buffer full and are missing\n", log.lost);
        // stderr is closed: nobody reads it.
        let _ = std::io::stderr().write_all(warning.as_bytes());
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    let written = out.write_all(HEADER.as_bytes()).and_then(|()| {
        for record in log {
            line(&record, &mut out)?;
        }
        out.flush()
    });
    output::written(written)?;
    Ok(Exit::Good)
}

fn line(record: &Record, out: &mut impl std::io::Write) -> std::io::Result<()> {
    let outcome = match record.outcome {
        Outcome::Success => "success",
        Outcome::Error => "error",
        Outcome::Reset => "reset",
        Outcome::Unfinished => "unfinished",
    };
    writeln!(
        out,
        "{},{},{},{},{},{},{},{},{},{},{outcome},{},{}",
        record.id,
        record.connection,
        record.peer_port,
        record.arrival_ns,
        record.read_ns,
        record.start_ns,
        record.delay_ns,
        record.first_ns,
        record.last_ns,
        record.residence_ns(),
        record.stamped,
        record.clock_moved
    )
}
