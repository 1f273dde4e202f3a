//! `prony ab`: ab's flags and ab's report; the verdict goes to stderr.

use prony_model::{Phase, RunEvent, RunResult};
use prony_report::ab::{self, Requests};
use prony_report::{brief, count};

use crate::args::AbArgs;
use crate::cli_error::CliError;
use crate::cmd::run::seed;
use crate::exit::Exit;
use crate::resolve::ab::Ab;
use crate::{calibration, output, resolve, signals, terminal};

/// What the banner calls this program.
pub(crate) const PROGRAM: &str = concat!("prony ", env!("CARGO_PKG_VERSION"));

/// Runs what `args` mean.
pub(crate) fn ab(args: &AbArgs) -> Result<Exit, CliError> {
    if args.version {
        output::print(&ab::banner(PROGRAM, false))?;
        return Ok(Exit::Good);
    }
    let resolved = resolve::ab::ab(args, seed()?)?;
    let control = signals::control()?;
    output::print(&ab::head(PROGRAM, &resolved.options))?;
    let every = resolved.plan.end.requests().and_then(ab::heartbeat).filter(|_| resolved.options.progress);
    let mut heartbeat = every.map(Heartbeat::new);
    let mut requests = Requests::default();
    let mut result = prony_engine::run(&resolved.plan, &control, &mut |event| {
        match &event {
            RunEvent::Samples(samples) => samples.iter().for_each(|sample| requests.add(sample)),
            RunEvent::SamplesLost(lost) => requests.lose(*lost),
            _ => {}
        }
        if let Some(heartbeat) = &mut heartbeat {
            heartbeat.update(&event);
        }
    })?;
    calibration::compare(&mut result);
    let requests = requests.sorted();
    if let Some(heartbeat) = &mut heartbeat {
        heartbeat.finish(result.requests.done + result.requests.failed);
    }
    output::print(&ab::report(&result, &requests, &resolved.options))?;
    if let Some(file) = &resolved.csv {
        file.write(ab::csv(&requests))?;
    }
    if let Some(file) = &resolved.gnuplot {
        file.write(ab::gnuplot(&result, &requests))?;
    }
    let findings: Vec<_> = ab::resolution(&requests, &resolved.options).into_iter().collect();
    let notes = notes(&resolved, &result, &requests);
    output::write_stderr(&format!("\n{}", brief::run(&result, &findings, &notes, &terminal::error_style())));
    Ok(Exit::of_tool(&result, args.strict))
}

/// What is to be known about this report, beside the findings.
fn notes(resolved: &Ab, result: &RunResult, requests: &Requests) -> Vec<String> {
    let mut notes = resolved.notes.clone();
    notes.extend(ab::across_all(result));
    notes.extend(brief::rate_note(result, "ab", "Requests per second"));
    if requests.broken() > 0 && !resolved.resilient {
        notes.push(format!(
            "ab would have stopped at the first of {} broken connections, for want of -r; prony went on",
            count(requests.broken())
        ));
    }
    if requests.lost() > 0 {
        notes.push(format!(
            "{} requests came too quickly to be kept one by one: the counts and times above are of the others",
            count(requests.lost())
        ));
    }
    notes
}

/// ab's progress on stderr: a line after every so many requests.
struct Heartbeat {
    every: u64,
    next: u64,
    measuring: bool,
}

impl Heartbeat {
    fn new(every: u64) -> Self {
        Self { every, next: every, measuring: false }
    }

    fn update(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Phase(phase) => self.measuring = *phase == Phase::Measure,
            RunEvent::Progress(progress) if self.measuring => self.completed(progress.done + progress.failed),
            _ => {}
        }
    }

    fn completed(&mut self, ended: u64) {
        while self.next <= ended {
            output::write_stderr(&format!("Completed {} requests\n", self.next));
            self.next += self.every;
        }
    }

    fn finish(&mut self, ended: u64) {
        self.completed(ended);
        output::write_stderr(&format!("Finished {ended} requests\n"));
    }
}
