//! `prony compare`: which of two servers is faster, by how much, or that it is not known.

mod commands;
mod condition;
mod doubt;
mod live;
mod stored;
mod studies;

use std::path::PathBuf;
use std::time::Duration;

use prony_model::{
    COMPARISON_FORMAT, COMPARISON_VERSION, ComparedPair, ComparedSide, ComparisonKind, ComparisonOutcome,
    ComparisonResult, Load, Metric, MetricComparison, RunPlan, Verdict,
};
use prony_report::{clean, seconds};
use prony_stats::Looks;
use prony_study::{BlockPair, Question, SideRequests, estimate, evaluate, figure_findings, side_requests};

pub(crate) use self::condition::{Condition, condition};
use self::doubt::Doubt;
use self::live::{Measured, measure};
use crate::args::{CompareArgs, PageFormat};
use crate::calibration;
use crate::cli_error::CliError;
use crate::cmd::run::seed;
use crate::exit::Exit;
use crate::progress::StatusLine;
use crate::render::render_comparison;
use crate::resolve::compare::{Live, ResolvedArgs, What, resolve};
use crate::{clock, commit, detect, output, signals, terminal};

/// Blocks are as long or longer where no length is given.
const BLOCK_LEAST: Duration = Duration::from_millis(200);

/// Compares what `args` name, reports, and returns by the exit code whether a condition holds.
pub(crate) fn compare(args: &CompareArgs) -> Result<Exit, CliError> {
    let resolved = resolve(&with_planned_pairs(args)?, seed()?)?;
    if args.detect.is_some() && !matches!(resolved.what, What::Live(_)) {
        return Err(CliError::usage("--detect plans pairs of loads on two servers, and these are none")
            .hint("leave it out, or compare two URLs"));
    }
    let result = match &resolved.what {
        What::Live(live) => compare_live(live, &resolved)?,
        What::Stored { files, force } => stored::compare(files, *force, resolved.primary, resolved.margin)?,
        What::Studies { folders, force } => return compare_studies(folders, *force, &resolved),
        What::Commands(plan) => return commands::compare(plan, &resolved),
    };
    let holds = holds(&resolved.fail_if, &result)?;
    output::print(&render_comparison(&result, resolved.format, &terminal::style()))?;
    if let Some(destination) = &resolved.destination {
        destination.write(prony_model::comparison_to_json(&result))?;
    }
    Ok(exit(&result, holds))
}

/// `args` with the pairs that `--detect` takes on this machine, which it prints.
fn with_planned_pairs(args: &CompareArgs) -> Result<CompareArgs, CliError> {
    let mut args = args.clone();
    if let Some(effect) = args.detect {
        let plan = detect::plan(effect, args.block.unwrap_or(BLOCK_LEAST).as_secs_f64())?;
        output::write_stderr(&format!("{}\n", detect::describe(effect, &plan, "pairs")));
        args.pairs = Some(plan.pairs);
    }
    Ok(args)
}

/// Compares two studies cell by cell. A cell in which a condition holds counts for more than one without a verdict.
fn compare_studies(folders: &[PathBuf; 2], force: bool, resolved: &ResolvedArgs) -> Result<Exit, CliError> {
    let studies = studies::compare(folders, force, resolved.primary, resolved.margin)?;
    let exits = studies
        .cells
        .iter()
        .map(|cell| match &cell.outcome {
            Ok(result) => Ok(exit(result, holds(&resolved.fail_if, result)?)),
            Err(_) => Ok(Exit::Invalid),
        })
        .collect::<Result<Vec<Exit>, CliError>>()?;
    output::print(&studies.render(resolved.format, &terminal::style()))?;
    if let Some(destination) = &resolved.destination {
        destination.write(studies.render(PageFormat::Json, &terminal::style()))?;
    }
    let worst = [Exit::ThresholdMissed, Exit::Invalid].into_iter().find(|worst| exits.contains(worst));
    Ok(worst.unwrap_or(Exit::Good))
}

/// Whether any condition of `--fail-if` holds.
fn holds(conditions: &[Condition], result: &ComparisonResult) -> Result<bool, CliError> {
    let mut any = false;
    for condition in conditions {
        let Some(holds) = condition.holds(&result.metrics) else {
            let name = condition.metric().map_or("the primary metric", Metric::name);
            return Err(CliError::usage(format!("--fail-if asks for {name}, which is not compared here"))
                .hint(
                    "in an open loop both sides have the same rate; p99.9 is compared as --primary p99.9; cpu is known of \
                     servers on this machine only",
                ));
        };
        any |= holds;
    }
    Ok(any)
}

/// By hand before all, then whether there is a verdict, then the verdict.
fn exit(result: &ComparisonResult, holds: bool) -> Exit {
    let primary = result.metrics.iter().find(|comparison| comparison.primary);
    let is_silent =
        primary.is_none_or(|comparison| matches!(comparison.outcome, ComparisonOutcome::NoVerdict { .. }));
    if result.interrupted {
        Exit::Interrupted
    } else if result.kind == ComparisonKind::Interleaved && result.b.requests > 0 && is_all_failed(result) {
        Exit::TargetFailed
    } else if result.verdict == Verdict::Invalid || (is_silent && result.kind != ComparisonKind::TooFewRuns) {
        Exit::Invalid
    } else if holds {
        Exit::ThresholdMissed
    } else {
        Exit::Good
    }
}

fn is_all_failed(result: &ComparisonResult) -> bool {
    [&result.a, &result.b].into_iter().any(|side| side.requests > 0 && side.failed == side.requests)
}

fn compare_live(live: &Live, resolved: &ResolvedArgs) -> Result<ComparisonResult, CliError> {
    let closed_loop = matches!(live.plans[0].load, Load::Closed { .. });
    let question = Question {
        primary: resolved.primary.unwrap_or(if closed_loop { Metric::Rate } else { Metric::P50 }),
        closed_loop,
        margin: resolved.margin,
        looks: live.looks,
        seed: live.seed,
    };
    let control = signals::control()?;
    let known = if live.calibrated { calibration::load(&prony_engine::environment()) } else { None };
    let mut run = |plan: &RunPlan| {
        let mut result = prony_engine::run(plan, &control, &mut |_| {})?;
        if let Some(known) = &known {
            result.compare_with(known);
        }
        Ok(result)
    };
    let status = StatusLine::new(resolved.quiet);
    status.write(&format!(
        "warming up {} and {}",
        clean(&live.plans[0].target.to_string()),
        clean(&live.plans[1].target.to_string())
    ));
    let began = clock::monotonic();
    let mut on_pair = |counted: &[BlockPair]| {
        status.write(&progress(counted, live, question.primary, clock::monotonic().saturating_sub(began)));
    };
    let measured = measure(live, &question, &mut run, &mut on_pair)?;
    drop(status);
    Ok(result(live, &question, measured))
}

/// How far it is, for people who wait.
fn progress(counted: &[BlockPair], live: &Live, primary: Metric, elapsed: Duration) -> String {
    let (done, total) = (counted.len(), live.pairs);
    let left = elapsed.as_secs_f64() / done.max(1) as f64 * total.saturating_sub(done) as f64;
    let most = if live.looks == Looks::Sequential { "at most " } else { "" };
    let change = estimate(counted, primary)
        .map(|change| format!(" · {} {}", primary.name(), prony_report::signed_percent(change)))
        .unwrap_or_default();
    format!("pair {done} of {most}{total}{change} · {most}{} left", seconds(left.round()))
}

/// Everything that is known of a comparison that is over.
fn result(live: &Live, question: &Question, measured: Measured) -> ComparisonResult {
    let counted: Vec<BlockPair> =
        measured.pairs.iter().filter(|pair| pair.dropped.is_none()).map(|pair| pair.blocks.clone()).collect();
    let mut doubt = Doubt::of(&measured, &counted, live, question.primary);
    let mut metrics = evaluate(&counted, question, doubt.forbidden.as_deref());
    if doubt.is_of_client {
        spare_cpu(&mut metrics, &evaluate(&counted, question, None));
    }
    doubt.silence_tails(&mut metrics);
    doubt.dilute(&mut metrics);
    doubt.add(figure_findings(&counted, &metrics, question));
    let requests = side_requests(&counted);
    let notes = request_notes(&requests);
    let mut sides = measured.sides.into_iter().zip(requests).map(|(side, requests)| ComparedSide {
        name: side.plan.target.to_string(),
        plan: side.plan,
        addresses: side.addresses,
        driver: side.driver,
        requests: requests.requests,
        failed: requests.failed,
        failed_by_kind: requests.failed_by_kind,
        unanswered: requests.unanswered,
    });
    let mut side = || sides.next().expect("invariant: there are two sides");
    let mut environment = measured.environment;
    commit::note(&mut environment);
    environment.load_average_after = prony_engine::load_average();
    ComparisonResult {
        format: COMPARISON_FORMAT.to_owned(),
        version: COMPARISON_VERSION,
        verdict: Verdict::from_findings(&doubt.findings),
        kind: ComparisonKind::Interleaved,
        started_at: measured.started_at,
        interrupted: measured.interrupted,
        a: side(),
        b: side(),
        margin: question.margin,
        looks: question.look_plan(),
        seed: Some(live.seed),
        block_s: Some(measured.block.as_secs_f64()),
        metrics,
        pairs: measured
            .pairs
            .into_iter()
            .map(|pair| ComparedPair {
                order: pair.order,
                dropped: pair.dropped.map(str::to_owned),
                a: pair.blocks.0.summary,
                b: pair.blocks.1.summary,
            })
            .collect(),
        looks_taken: measured.looks,
        notes,
        findings: doubt.findings,
        environment,
    }
}

/// A client in the way makes rates and times its own, but not what the server spent on each request.
fn spare_cpu(metrics: &mut [MetricComparison], unforbidden: &[MetricComparison]) {
    for comparison in metrics.iter_mut().filter(|comparison| comparison.metric == Metric::Cpu) {
        if let Some(found) = unforbidden.iter().find(|found| found.metric == Metric::Cpu) {
            comparison.clone_from(found);
        }
    }
}

/// What became of requests that got no good answer.
fn request_notes(requests: &[SideRequests; 2]) -> Vec<String> {
    ["A", "B"].into_iter().zip(requests).filter_map(|(side, requests)| requests.note(side)).collect()
}
