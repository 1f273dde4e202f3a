//! `prony import`: a scenario from a file of another tool.

use std::path::Path;

use prony_import::{HarOptions, ImportedScenario};
use prony_model::{RunOptions, RunResult, Target};

use super::run::seed;
use crate::args::{ImportArgs, ImportFormat};
use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::{imports, output, signals};

/// Prints the scenario that `args` name, and what is not in it.
pub(crate) fn import(args: &ImportArgs) -> Result<Exit, CliError> {
    let is_har = match args.format {
        None => imports::is_har(&args.file),
        Some(format) => format == ImportFormat::Har,
    };
    if !is_har && (args.second.is_some() || args.assets) {
        return Err(CliError::usage("a second file and --assets are for HAR files")
            .hint("for example: prony import first.har second.har"));
    }
    let imported = if is_har {
        if let Some(typed) = args.variables.first() {
            return Err(CliError::usage(format!("a HAR file has no variables, and {typed} names one"))
                .hint("leave out --variable"));
        }
        let paths: Vec<&Path> =
            [Some(&args.file), args.second.as_ref()].into_iter().flatten().map(AsRef::as_ref).collect();
        imports::import_har(&paths, HarOptions { assets: args.assets })?
    } else {
        let text = imports::read(&args.file)?;
        imports::import(&args.file, &text, args.format, &args.variables)?
    };
    output::print(&imported.to_toml())?;
    imports::write_left_out(&imported);
    match &args.verify {
        Some(url) => verify(imported, url),
        None => Ok(Exit::Good),
    }
}

/// Goes through the scenario once, and says what each step came to.
fn verify(imported: ImportedScenario, url: &str) -> Result<Exit, CliError> {
    let options = RunOptions {
        scenario: Some(Box::new(imported.scenario)),
        requests: Some(1),
        connections: Some(1),
        ..RunOptions::default()
    };
    let plan = options.plan(Target::parse(url)?, seed()?)?;
    let result = prony_engine::run(&plan, &signals::control()?, &mut |_| {})?;
    let (lines, is_good) = verified(&result);
    output::write_stderr(&prony_report::clean(&lines.join("\n")));
    output::write_stderr("\n");
    Ok(if is_good { Exit::Good } else { Exit::TargetFailed })
}

/// A line for each step, and whether all of them were good.
fn verified(result: &RunResult) -> (Vec<String>, bool) {
    let (Some(plan), Some(found)) = (&result.plan.scenario, &result.scenario) else {
        return (Vec::new(), false);
    };
    let mut is_good = true;
    let lines = plan.steps().zip(&found.steps).map(|((_, step), found)| {
        let mut parts = vec![match (found.done, &found.first_failure) {
            (0, None) => "not reached".to_owned(),
            (0, Some(failure)) => format!("failed: {failure}"),
            _ => "good".to_owned(),
        }];
        is_good &= found.done > 0;
        for extraction in step.extract.iter().filter(|_| found.ended > 0) {
            let is_found = !found.nothing_found.contains_key(&extraction.name) && found.done > 0;
            parts.push(format!("{} {}", extraction.name, if is_found { "matched" } else { "found nothing" }));
        }
        format!("verified {}: {}", step.name, parts.join(", "))
    });
    let lines = lines.collect();
    (lines, is_good)
}
