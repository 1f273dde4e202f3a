//! `prony compare`: which of two servers is faster, by how much, or that it is not known.

mod commands;
mod external;
mod stored;
mod studies;

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Duration;

use prony_engine::Control;
use prony_model::{
    ComparisonKind, ComparisonOutcome, ComparisonResult, Metric, RunAgents, RunPlan, RunResult, Verdict,
};
use prony_report::{clean, seconds};
use prony_stats::Looks;
use prony_study::{
    BlockPair, ComparisonCondition, LEAST_BLOCK, Led, LiveComparison, StoredQuestion, estimate,
};

use crate::args::{CompareArgs, PageFormat};
use crate::calibration;
use crate::cli_error::CliError;
use crate::cmd::run::seed;
use crate::exit::Exit;
use crate::fleet::{Leader, shares};
use crate::live::pairs::LivePairs;
use crate::progress::StatusLine;
use crate::render::{AnyResult, render_comparison};
use crate::resolve::compare::{Live, ResolvedArgs, What, resolve};
use crate::{clock, commit, detect, output, signals, terminal};

/// Compares what `args` name, reports, and returns by the exit code whether a condition holds.
pub(crate) fn compare(args: &CompareArgs) -> Result<Exit, CliError> {
    let resolved = resolve(&with_planned_pairs(args)?, seed()?)?;
    if args.detect.is_some() && !matches!(resolved.what, What::Live(_)) {
        return Err(CliError::usage("--detect plans pairs of loads on two servers, and these are none")
            .hint("leave it out, or compare two URLs"));
    }
    if args.live && !matches!(resolved.what, What::Live(_)) {
        return Err(CliError::usage("--live shows two servers while they are measured, and these are none")
            .hint("leave it out, or compare two URLs"));
    }
    let ResolvedArgs { primary, margin, .. } = resolved;
    let mut leader = None;
    let result = match &resolved.what {
        What::Live(live) => {
            leader = leader_of(args, &live.comparison.plans)?;
            compare_live(live, &resolved, args, leader.as_mut())?
        }
        What::Stored { files, force } => {
            let sides = stored::read(files)?;
            if sides.iter().flatten().any(|side| matches!(side.result, AnyResult::External(_))) {
                return external::compare(&sides, &resolved);
            }
            let question = StoredQuestion { primary, margin, force: *force };
            if sides.iter().flatten().all(|side| matches!(side.result, AnyResult::Capacity(_))) {
                stored::compare_searches(sides, &question)?
            } else {
                stored::compare(sides, &question)?
            }
        }
        What::Studies { folders, force } => {
            let question = StoredQuestion { primary, margin, force: *force };
            return compare_studies(folders, &question, &resolved);
        }
        What::Commands(plan) => return commands::compare(plan, &resolved),
    };
    let holds = holds(&resolved.fail_if, &result)?;
    output::print(&render_comparison(&result, resolved.format, &terminal::style()))?;
    if let Some(destination) = &resolved.destination {
        destination.write(prony_model::comparison_to_json(&result))?;
    }
    if let Some((leader, _)) = &mut leader {
        leader.reported();
    }
    Ok(exit(&result, holds))
}

/// `args` with the pairs that `--detect` takes on this machine, which it prints.
fn with_planned_pairs(args: &CompareArgs) -> Result<CompareArgs, CliError> {
    let mut args = args.clone();
    if let Some(effect) = args.detect {
        let plan = detect::plan(effect, args.block.unwrap_or(LEAST_BLOCK).as_secs_f64())?;
        output::write_stderr(&format!("{}\n", detect::describe(effect, &plan, "pairs")));
        args.pairs = Some(plan.pairs);
    }
    Ok(args)
}

/// Compares two studies cell by cell. A cell in which a condition holds counts for more than one without a verdict.
fn compare_studies(
    folders: &[PathBuf; 2],
    question: &StoredQuestion,
    resolved: &ResolvedArgs,
) -> Result<Exit, CliError> {
    let studies = studies::compare(folders, question)?;
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
fn holds(conditions: &[ComparisonCondition], result: &ComparisonResult) -> Result<bool, CliError> {
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

/// Who leads the agents of `args`, which are there, and who they are; `None` without any.
fn leader_of(args: &CompareArgs, plans: &[RunPlan; 2]) -> Result<Option<(Leader, RunAgents)>, CliError> {
    let Some(agents) = args.fleet.agents()? else { return Ok(None) };
    for plan in plans {
        shares(plan, &agents.load)?;
    }
    let mut leader = Leader::connect(&args.fleet.lead, "prony compare")?;
    leader.find(&[&agents])?;
    Ok(Some((leader, agents)))
}

/// The load of `plan` by agents, as one result.
fn led(leader: &mut Leader, agents: &RunAgents, plan: &RunPlan) -> Result<RunResult, CliError> {
    match leader.lead(plan, agents, &mut |_| ())? {
        Led { fleet: Some(fleet), failure: None, interrupted, .. } => {
            let mut merged = fleet.merged;
            merged.timing.interrupted |= interrupted;
            Ok(merged)
        }
        Led { failure, .. } => {
            Err(CliError::usage(failure.unwrap_or_else(|| "ended by hand, before any load".to_owned())))
        }
    }
}

fn compare_live(
    live: &Live,
    resolved: &ResolvedArgs,
    args: &CompareArgs,
    mut leader: Option<&mut (Leader, RunAgents)>,
) -> Result<ComparisonResult, CliError> {
    let is_shown = args.live;
    let Live { comparison, calibrated } = live;
    let question = comparison.question(resolved.primary, resolved.margin);
    let control = match &leader {
        None => signals::control()?,
        Some((leader, _)) => {
            signals::on_interrupt(leader.stopper())?;
            Control::default()
        }
    };
    // Agents compare their shares with their own machines' calibrations.
    let known =
        if *calibrated && leader.is_none() { calibration::load(&prony_engine::environment()) } else { None };
    let shown = is_shown.then(|| LivePairs::new(comparison, question)).transpose()?;
    let shown = RefCell::new(shown);
    let show = |change: &dyn Fn(&mut LivePairs)| shown.borrow_mut().as_mut().map(change).unwrap_or_default();
    let mut run = |plan: &RunPlan| -> Result<_, CliError> {
        show(&|shown| shown.loads(Some(plan)));
        let mut result = match &mut leader {
            Some((leader, agents)) => led(leader, agents, plan)?,
            None => prony_engine::run(plan, &control, &mut |event| show(&|shown| shown.update(&event)))?,
        };
        show(&|shown| shown.loads(None));
        if let Some(known) = &known {
            result.compare_with(known);
        }
        Ok(result)
    };
    let status = StatusLine::new(resolved.quiet || is_shown);
    let [a, b] = &comparison.plans;
    status.write(&format!(
        "warming up {} and {}",
        clean(&a.target.to_string()),
        clean(&b.target.to_string())
    ));
    let began = clock::monotonic();
    let mut on_pair = |counted: &[BlockPair]| {
        let elapsed = clock::monotonic().saturating_sub(began);
        status.write(&progress(counted, comparison, question.primary, elapsed));
        show(&|shown| shown.counted(counted));
    };
    let compared = comparison.compare(&question, &mut run, &mut on_pair);
    drop(status);
    // The terminal is given back before anything else is written.
    drop(shown.take());
    let mut result = compared.map_err(|error| match error.problem() {
        Ok(problem) => CliError::of_target(problem),
        Err(cli_error) => cli_error,
    })?;
    commit::note(&mut result.environment);
    result.environment.load_average_after = prony_engine::load_average();
    Ok(result)
}

/// How far it is, for people who wait.
fn progress(counted: &[BlockPair], live: &LiveComparison, primary: Metric, elapsed: Duration) -> String {
    let (done, total) = (counted.len(), live.pairs);
    let left = elapsed.as_secs_f64() / done.max(1) as f64 * total.saturating_sub(done) as f64;
    let most = if live.looks == Looks::Sequential { "at most " } else { "" };
    let change = estimate(counted, primary)
        .map(|change| format!(" · {} {}", primary.name(), prony_report::signed_percent(change)))
        .unwrap_or_default();
    format!("pair {done} of {most}{total}{change} · {most}{} left", seconds(left.round()))
}
