//! `prony self-test`: what Prony reports on this machine, against servers that know what they did.
//!
//! Each trial starts a truth server in this process, loads it, and holds every request that the client saw against the
//! server's record of it (`check.rs`). What must be exact is a failure where it is not; what the machine adds to every time
//! is printed, for no time of it can be right or wrong.

mod check;
mod table;
mod trials;

use std::sync::mpsc::sync_channel;

use prony_engine::Control;
use prony_model::{Phase, RunEvent, RunPlan, Verdict};
use prony_targets::truth;

use crate::args::SelfTestArgs;
use crate::cli_error::CliError;
use crate::cmd::{run::seed, serve};
use crate::exit::Exit;
use crate::progress::StatusLine;
use crate::{output, signals};
use check::{Observed, check};
use table::Row;
use trials::{Trial, trials};

/// Requests that a trial can have; a record takes 64 bytes.
const RECORDS_MAX: usize = 1 << 20;

/// Runs every trial and prints what it found. Exit code 5 where a number is wrong, 3 where the machine was too busy to say
/// what it adds.
pub(crate) fn self_test(args: &SelfTestArgs) -> Result<Exit, CliError> {
    let control = signals::control()?;
    let seed = seed()?;
    let status = StatusLine::new(args.quiet);
    let mut rows = Vec::new();
    for trial in trials(args.duration, seed) {
        status.write(&trial.name);
        let observed = observe(&trial, &control)?;
        if observed.result.timing.interrupted {
            return Ok(Exit::Interrupted);
        }
        rows.push(Row {
            checked: check(&observed),
            is_invalid: observed.result.verdict == Verdict::Invalid,
            trial,
        });
    }
    drop(status);
    output::print(&table::text(&rows))?;
    Ok(if rows.iter().any(|row| row.checked.mistake.is_some()) {
        Exit::Internal
    } else if rows.iter().any(|row| row.is_invalid) {
        Exit::Invalid
    } else {
        Exit::Good
    })
}

/// Loads a truth server as `trial` says.
fn observe(trial: &Trial, control: &Control) -> Result<Observed, CliError> {
    let (give, take) = sync_channel(RECORDS_MAX);
    let config = truth::Config { records: Some(give), ..trial.config.clone() };
    let server = truth::start(config).map_err(|error| serve::cli_error(&error))?;
    let plan: RunPlan = trial.plan(server.local_addr())?;
    let mut samples = Vec::new();
    let mut lost = 0;
    let result = prony_engine::run(&plan, control, &mut |event| match event {
        RunEvent::Samples(more) => samples.extend(more),
        RunEvent::SamplesLost(more) => lost += more,
        RunEvent::Phase(Phase::Warmup | Phase::Measure | Phase::Drain)
        | RunEvent::Starting { .. }
        | RunEvent::Slice(_)
        | RunEvent::Progress(_)
        | RunEvent::Counts(_)
        | RunEvent::SoFar(_) => {}
    })?;
    let report = server.stop();
    lost += report.counts.records_lost;
    Ok(Observed { result, samples, records: take.try_iter().collect(), lost })
}
