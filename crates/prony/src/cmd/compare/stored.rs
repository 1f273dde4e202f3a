//! Stored results against each other: which files are read, and why they are refused.

use std::path::{Path, PathBuf};

use prony_model::ComparisonResult;
use prony_study::{
    DIFFERENCES_LISTED_MAX, IncomparableRuns, StoredQuestion, StoredRun, StoredSearch, compare_stored,
};

use crate::cli_error::CliError;
use crate::cmd::report::read::{self, Stored};
use crate::render::AnyResult;

/// A folder with more results is not one experiment.
const FILES_MAX: usize = 1000;

/// The results in `files`, those of A and those of B.
pub(super) fn read([a, b]: &[Vec<PathBuf>; 2]) -> Result<[Vec<Stored>; 2], CliError> {
    Ok([read_all(a)?, read_all(b)?])
}

/// Compares stored runs. Those that can't be compared are refused, or shown without a verdict by force.
pub(super) fn compare(
    [a, b]: [Vec<Stored>; 2],
    question: &StoredQuestion,
) -> Result<ComparisonResult, CliError> {
    compare_stored([runs(a)?, runs(b)?], question).map_err(incomparable)
}

/// The same with stored searches for a capacity.
pub(super) fn compare_searches(
    [a, b]: [Vec<Stored>; 2],
    question: &StoredQuestion,
) -> Result<ComparisonResult, CliError> {
    let search = |Stored { name, result }| match result {
        AnyResult::Capacity(result) => Ok(StoredSearch { name, result: *result }),
        _ => Err(CliError::usage(format!("{name} is not a result of `prony capacity`"))
            .hint("compare searches with searches: prony capacity URL --json FILE")),
    };
    let searches = |side: Vec<Stored>| side.into_iter().map(search).collect::<Result<Vec<_>, _>>();
    prony_study::compare_searches([searches(a)?, searches(b)?], question).map_err(incomparable)
}

fn incomparable(error: IncomparableRuns) -> CliError {
    match error {
        IncomparableRuns::Different(differences) => refused(&differences),
        IncomparableRuns::Damaged { name, error } => CliError::usage(format!("{name}: {error}")),
    }
}

/// Every result that `paths` name, a folder standing for the results in it.
fn read_all(paths: &[PathBuf]) -> Result<Vec<Stored>, CliError> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            files.extend(in_folder(path)?);
        } else {
            files.push(path.clone());
        }
    }
    if files.len() > FILES_MAX {
        return Err(CliError::usage(format!("{} results are more than {FILES_MAX}", files.len()))
            .hint("name those that belong together"));
    }
    files.iter().map(|file| read::read(file)).collect()
}

fn runs(side: Vec<Stored>) -> Result<Vec<StoredRun>, CliError> {
    let run = |Stored { name, result }| match result {
        AnyResult::Run(result) => Ok(StoredRun { name, result: *result }),
        _ => Err(CliError::usage(format!("{name} is not a result of `prony run`"))
            .hint("name files that `prony URL --json FILE` wrote; prony exec compares by itself")),
    };
    side.into_iter().map(run).collect()
}

/// The files of `folder` that are called `*.json`, by name.
fn in_folder(folder: &Path) -> Result<Vec<PathBuf>, CliError> {
    let unreadable = |error: std::io::Error| {
        CliError::usage(format!("can't read the folder {} ({error})", folder.display()))
            .hint("name a folder of results that `prony URL --json FILE` wrote")
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(CliError::usage(format!("{} holds no results", folder.display()))
            .hint(format!("put some there: prony URL --json {}", folder.join("1.json").display())));
    }
    files.sort();
    Ok(files)
}

fn refused(differences: &[String]) -> CliError {
    let mut cli_error = CliError::usage("these results can't be compared");
    for what in differences.iter().take(DIFFERENCES_LISTED_MAX) {
        cli_error = cli_error.hint(what);
    }
    let more = differences.len().checked_sub(DIFFERENCES_LISTED_MAX).filter(|more| *more > 0);
    if let Some(more) = more {
        cli_error = cli_error.hint(format!("and {more} more"));
    }
    cli_error.hint("to see them beside each other without a verdict, add --force")
}
