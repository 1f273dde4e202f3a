//! `prony wrk`: wrk's flags and wrk's report; the verdict goes to stderr.

use prony_model::RunEvent;
use prony_report::brief;
use prony_report::wrk::{self, Rates};

use crate::args::WrkArgs;
use crate::cli_error::CliError;
use crate::cmd::ab::PROGRAM;
use crate::cmd::run::seed;
use crate::exit::Exit;
use crate::progress::ProgressLine;
use crate::resolve::wrk::Wrk;
use crate::{calibration, output, resolve, signals, terminal};

/// Runs what `args` mean.
pub(crate) fn wrk(args: &WrkArgs) -> Result<Exit, CliError> {
    if args.version {
        output::print(&format!("wrk 4.2.0 <{PROGRAM}>\n"))?;
        if args.url.is_none() {
            return Ok(Exit::Good);
        }
    }
    let Wrk { plan, url, duration, connections, latency } = resolve::wrk::wrk(args, seed()?)?;
    let control = signals::control()?;
    output::print(&wrk::head(&url, duration, plan.threads, connections))?;
    let mut rates = Rates::default();
    let mut progress = ProgressLine::new(&plan, false);
    let result = prony_engine::run(&plan, &control, &mut |event| {
        if let RunEvent::Slice(slice) = &event {
            rates.add(slice);
        }
        progress.update(&event);
    });
    drop(progress);
    let mut result = result?;
    calibration::compare(&mut result);
    output::print(&wrk::report(&result, &rates, latency))?;
    let notes: Vec<String> = brief::rate_note(&result, "wrk", "Requests/sec").into_iter().collect();
    output::write_stderr(&format!("\n{}", brief::run(&result, &[], &notes, &terminal::error_style())));
    Ok(Exit::of_tool(&result, args.strict))
}
