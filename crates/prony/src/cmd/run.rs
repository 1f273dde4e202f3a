//! `prony run`: load a server, report what it delivered.

use prony_engine::RunExtras;
use prony_model::{EvaluatedThreshold, RunEvent, Threshold, ThresholdOutcome};

use crate::args::{Format, RunArgs};
use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::live::{self, Live};
use crate::progress::ProgressLine;
use crate::push::{self, Pushing};
use crate::render::{Named, render};
use crate::resolve::{ResolvedArgs, resolve};
use crate::samples::SampleFile;
use crate::{calibration, commit, output, signals};

/// Runs what `args` mean.
pub(crate) fn run(args: &RunArgs) -> Result<Exit, CliError> {
    if let Some(agents) = args.fleet.agents()? {
        return super::fleet::run(args, &agents);
    }
    if let Some(count) = args.k8s.k8s {
        return super::k8s::run(args, count);
    }
    let resolved = resolve(args, seed()?)?;
    execute(args, resolved)
}

/// Runs what `resolved` says, with the flags of `args` that are not part of a plan.
pub(crate) fn execute(args: &RunArgs, resolved: ResolvedArgs) -> Result<Exit, CliError> {
    let ResolvedArgs {
        plan,
        target_commit,
        format,
        clock,
        destination,
        samples,
        step_summary,
        push,
        quiet,
        notes,
    } = resolved;
    for note in notes {
        output::write_stderr(&format!("{note}\n"));
    }
    let mut samples = samples.as_ref().map(SampleFile::new).transpose()?;
    let thresholds: Vec<Threshold> = args.thresholds.all().collect();
    let control = signals::control()?;
    let mut progress = ProgressLine::new(&plan, quiet || args.live);
    let mut live = args.live.then(|| Live::new(&plan)).transpose()?;
    let mut pushing = push.map(Pushing::start).transpose()?;
    let pushed_every = pushing.as_ref().map(Pushing::every);
    let extras = RunExtras {
        server: args.server.hint(),
        so_far: args.live.then_some(live::SO_FAR_EVERY).into_iter().chain(pushed_every).min(),
        so_far_distributions: pushed_every.is_some(),
        start_at: None,
    };
    // A screen has no room for it until the run is over.
    let mut warnings = Vec::new();
    let result = prony_engine::run_with(&plan, &extras, &control, &mut |event| {
        progress.update(&event);
        if let RunEvent::Counts(counts) = &event
            && args.abort_early
            && let Some(lost) = thresholds.iter().find(|threshold| threshold.is_lost(counts, &plan))
        {
            control.stop_because(|| format!("{lost} can't be met any more"));
        }
        if let Some(samples) = &mut samples {
            samples.write(&event);
        }
        if let Some(warning) = pushing.as_mut().and_then(|pushing| pushing.update(&event)) {
            if live.is_some() {
                warnings.push(warning);
            } else {
                progress.interrupt();
                push::warn(&warning);
            }
        }
        if let Some(live) = &mut live {
            live.update(event);
        }
    });
    drop((progress, live));
    for warning in &warnings {
        push::warn(warning);
    }
    let mut result = result?;
    commit::note(&mut result.environment);
    result.target_commit = target_commit;
    if !args.no_calibration {
        calibration::compare(&mut result);
    }
    if let Some(pushing) = pushing {
        pushing.finish(&mut result);
    }
    result.thresholds = thresholds.iter().map(|threshold| threshold.evaluate(&result)).collect();
    // The report first: should the file fail now, the numbers are at least seen.
    let rendered = render(&[Named { file: "", result: &result }], format, clock);
    output::print(&rendered.expect("invariant: the engine's histograms are whole"))?;
    if let Some(destination) = destination {
        destination.write(prony_model::to_json(&result))?;
    }
    if let Some(samples) = samples {
        samples.finish()?;
    }
    if let Some(summary) = step_summary {
        summary.append(&prony_report::markdown::run(&result))?;
    }
    if !matches!(format, Format::Text | Format::Markdown) {
        name_unmet(&result.thresholds);
    }
    Ok(Exit::of_required(&result, args.thresholds.allow_undecided))
}

/// What stdout does not tell people: the thresholds that are not met.
fn name_unmet(thresholds: &[EvaluatedThreshold]) {
    for threshold in thresholds {
        let word = match threshold.outcome {
            ThresholdOutcome::Met => continue,
            ThresholdOutcome::Missed => "MISSED",
            ThresholdOutcome::Undecided => "UNDECIDED",
        };
        let line = prony_report::clean(&prony_report::threshold_sentence(threshold));
        output::write_stderr(&format!("{word} {line}\n"));
    }
}

/// A seed from the operating system. 32 bits, so that it can be typed again, and read back whole by JSON
/// readers that keep every number as a double.
pub(crate) fn seed() -> Result<u64, CliError> {
    let mut bytes = [0; 4];
    let got = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .map_err(|error| CliError::internal(format!("the system has no random numbers ({error})")))?;
    debug_assert_eq!(got, bytes.len(), "invariant: the kernel never cuts requests below 256 bytes short");
    Ok(u32::from_le_bytes(bytes).into())
}
