//! Two commands, timed in turn: what `prony exec` does, as a comparison.

use prony_model::{ChangeInterval, ComparisonMethod, ExecResult, Metric, MetricComparison};

use prony_study::ComparisonCondition;

use crate::cli_error::CliError;
use crate::cmd::exec;
use crate::exit::Exit;
use crate::output;
use crate::render::render_exec;
use crate::resolve::compare::ResolvedArgs;
use crate::terminal;

/// Times A and B, reports as `prony exec` does, and returns by the exit code whether a condition holds.
pub(super) fn compare(plan: &prony_model::ExecPlan, resolved: &ResolvedArgs) -> Result<Exit, CliError> {
    if let Some(metric) = resolved.fail_if.iter().find_map(ComparisonCondition::metric).or(resolved.primary) {
        return Err(CliError::usage(format!("{} is of servers, and these are commands", metric.name()))
            .hint("commands are compared by their wall-clock time: --fail-if slower:5%"));
    }
    let result = exec::time(plan, resolved.quiet)?;
    output::print(&render_exec(&result, resolved.format, &terminal::style()))?;
    if let Some(destination) = &resolved.destination {
        destination.write(prony_model::exec_to_json(&result))?;
    }
    let compared = comparisons(&result);
    let holds = resolved.fail_if.iter().any(|condition| condition.holds(&compared).unwrap_or(false));
    Ok(match Exit::of_exec(&result) {
        Exit::Good if compared.is_empty() => Exit::Invalid,
        Exit::Good if holds => Exit::ThresholdMissed,
        exit => exit,
    })
}

/// The verdict on B's time, as of a response time; nothing if B was not compared.
fn comparisons(result: &ExecResult) -> Vec<MetricComparison> {
    let of_time = |found: &prony_model::CommandComparison| MetricComparison {
        metric: Metric::P50,
        primary: true,
        method: ComparisonMethod::SignedRanks,
        pairs: u64::from(found.pairs),
        a: None,
        b: None,
        change: found.change,
        interval: found.interval.map(|interval| ChangeInterval { low: interval.low, high: interval.high }),
        spread: None,
        p: found.p,
        differs: found.interval.is_some_and(|interval| interval.low > 0.0 || interval.high < 0.0),
        outcome: found.verdict.clone(),
    };
    result.comparisons.iter().map(of_time).collect()
}
