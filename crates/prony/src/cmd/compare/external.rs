//! Reports of other tools, beside each other or beside a run of Prony: figures without a verdict.

use prony_model::{ExternalClock, ExternalResult, ExternalSeries};
use prony_report::external::{ExternalSide, beside_markdown, beside_text, of_run};

use crate::args::PageFormat;
use crate::cli_error::CliError;
use crate::cmd::report::read::Stored;
use crate::exit::Exit;
use crate::render::AnyResult;
use crate::resolve::compare::ResolvedArgs;
use crate::{output, terminal};

/// What Locust calls all requests together.
const ALL_TOGETHER: &str = "Aggregated";

/// Prints both sides, of which at least one is a report of another tool.
pub(super) fn compare(sides: &[Vec<Stored>; 2], resolved: &ResolvedArgs) -> Result<Exit, CliError> {
    if !resolved.fail_if.is_empty() || resolved.destination.is_some() || resolved.format == PageFormat::Json {
        return Err(CliError::usage(
            "--fail-if, --json and -o json need a verdict, and a report of another tool allows none",
        )
        .hint("for its figures as JSON: prony report FILE -o json"));
    }
    let [a, b] = sides.each_ref().map(|side| only(side));
    let [a, b] = [a?, b?];
    // Prony has the clock of the other side.
    let clock = [&a.result, &b.result].into_iter().find_map(|result| match result {
        AnyResult::External(external) => Some(external.tool.clock()),
        _ => None,
    });
    let clock = clock.unwrap_or(ExternalClock::Service);
    let [result_a, result_b] = [external(a, clock)?, external(b, clock)?];
    let sides = [
        ExternalSide { name: &a.name, result: &result_a, series: series(&a.name, &result_a)? },
        ExternalSide { name: &b.name, result: &result_b, series: series(&b.name, &result_b)? },
    ];
    output::print(&match resolved.format {
        PageFormat::Markdown => beside_markdown(sides),
        PageFormat::Text | PageFormat::Json => beside_text(sides, &terminal::style()),
    })?;
    Ok(Exit::Good)
}

fn only(side: &[Stored]) -> Result<&Stored, CliError> {
    match side {
        [only] => Ok(only),
        _ => Err(CliError::usage("a report of another tool is compared with one file")
            .hint("name one file on each side")),
    }
}

fn external(stored: &Stored, clock: ExternalClock) -> Result<ExternalResult, CliError> {
    match &stored.result {
        AnyResult::External(result) => Ok((**result).clone()),
        AnyResult::Run(result) if clock != ExternalClock::Command => Ok(of_run(&stored.name, result, clock)),
        _ => Err(CliError::usage(format!("{} can't stand beside a report of another tool", stored.name))
            .hint("name a report of the same kind of tool, or a file that `prony URL --json FILE` wrote")),
    }
}

/// What a report is compared by: the only thing in it, or all together.
fn series<'a>(name: &str, result: &'a ExternalResult) -> Result<&'a ExternalSeries, CliError> {
    let together = result.series.iter().find(|series| series.name == ALL_TOGETHER);
    match (result.series.as_slice(), together) {
        ([only], _) | (_, Some(only)) => Ok(only),
        _ => Err(CliError::usage(format!("{name} reports on {} things", result.series.len()))
            .hint(format!("prony report {name} shows them all; only a report on one can be compared"))),
    }
}
