//! `prony overload`: what more load than it carries does to a server, and whether it comes back.

use prony_model::{
    Outcome, OverloadOutcome, OverloadResult, OverloadRun, RunEvent, RunPlan, SampleRecord, Verdict,
};
use prony_report::{overload, rate, seconds};
use prony_study::{LoadRunner as _, OverloadRunner, OverloadSample, Recorded};

use super::loads::{LoadFailure, Loader, cli_error};
use crate::args::OverloadArgs;
use crate::cli_error::CliError;
use crate::cmd::run::seed;
use crate::exit::Exit;
use crate::render::render_overload;
use crate::resolve::overload::{ResolvedArgs, resolve};
use crate::{commit, output, terminal};

/// Overloads what `args` mean, and reports.
pub(crate) fn overload(args: &OverloadArgs) -> Result<Exit, CliError> {
    let ResolvedArgs { live, note, calibrated, format, destination, quiet } = resolve(args, seed()?)?;
    if let Some(note) = note {
        output::write_stderr(&format!("{note}\n"));
    }
    let mut loader = Loader::engine(calibrated, quiet, None)?;
    let measured = live.measure(&mut loader);
    loader.status.write("");
    let mut result = measured.map_err(cli_error)?;
    commit::note(&mut result.environment);
    result.environment.load_average_after = prony_engine::load_average();
    output::print(&render_overload(&result, format, &terminal::style()))?;
    if let Some(destination) = destination {
        destination.write(prony_model::overload_to_json(&result))?;
    }
    Ok(exit(&result))
}

/// By hand before all, then whether the server is still there, whether anything is known, and whether it came back.
fn exit(result: &OverloadResult) -> Exit {
    let any = |is: fn(&OverloadOutcome) -> bool| result.runs.iter().any(|run| is(&run.outcome));
    if result.interrupted {
        Exit::Interrupted
    } else if any(|outcome| matches!(outcome, OverloadOutcome::Died)) {
        Exit::TargetFailed
    } else if result.verdict == Verdict::Invalid
        || any(|outcome| matches!(outcome, OverloadOutcome::Unknown { .. }))
    {
        Exit::Invalid
    } else if any(|outcome| !matches!(outcome, OverloadOutcome::Carried | OverloadOutcome::Recovered { .. }))
    {
        Exit::ThresholdMissed
    } else {
        Exit::Good
    }
}

impl OverloadRunner for Loader {
    fn run_recorded(&mut self, plan: &RunPlan) -> Result<Recorded, LoadFailure> {
        let (mut samples, mut lost) = (Vec::new(), 0);
        let mut line = crate::progress::ProgressLine::new(plan, true);
        let loaded = self.load(plan, &mut |status, event| {
            line.update(&event);
            match event {
                RunEvent::Samples(more) => samples.extend(more.iter().map(sample)),
                RunEvent::SamplesLost(more) => lost += more,
                RunEvent::Progress(progress) => status.write(&line.text(&progress)),
                _ => {}
            }
        })?;
        Ok(Recorded { loaded, samples, lost })
    }

    fn begins(&mut self, plan: &RunPlan) {
        let clients = if plan.retries.is_some() { "with retries" } else { "without retries" };
        let length = plan.end.duration().map_or(0.0, |length| length.as_secs_f64());
        let highest = plan.load.rate().map_or(0.0, prony_model::Rate::as_per_second);
        self.line(&format!(
            "{clients}: up to {} /s, {} in all · {}",
            rate(highest),
            seconds(length),
            seconds(self.elapsed().as_secs_f64().round())
        ));
    }

    fn ended(&mut self, run: &OverloadRun) {
        self.line(&overload::run_line(run));
    }
}

fn sample(record: &SampleRecord) -> OverloadSample {
    let outcome: Outcome = record.outcome;
    OverloadSample { intended_ns: record.intended_ns, done_ns: record.done_ns, outcome }
}
