//! Stored results, read. Every file is somebody's: each refusal names the file and what it is instead.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use prony_model::{
    CAPACITY_FORMAT, COMPARISON_FORMAT, EXEC_FORMAT, EXTERNAL_FORMAT, FLEET_FORMAT, FormatError,
    OVERLOAD_FORMAT, PROBE_FORMAT, RunResult, STUDY_FORMAT, capacity_from_json, comparison_from_json,
    exec_from_json, external_from_json, fleet_from_json, from_json, overload_from_json, probe_from_json,
    stored_format, study_from_json,
};
use prony_report::check_distributions;

use crate::cli_error::CliError;
use crate::render::AnyResult;

/// More than any result has: a day in seconds takes 20 MB, the largest body 90 MB.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// What `prony study` leaves in its folder when it ends.
const STUDY_REPORT: &str = "report.json";
/// What a folder has from the beginning of a study on.
const STUDY_SCHEDULE: &str = "schedule.json";

/// A result, and what its file is called.
#[derive(Debug)]
pub(in crate::cmd) struct Stored {
    pub(in crate::cmd) name: String,
    pub(in crate::cmd) result: AnyResult,
}

pub(in crate::cmd) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// The result in the file `path`, of the study in the folder `path`, or on stdin for `-`.
pub(in crate::cmd) fn read(path: &Path) -> Result<Stored, CliError> {
    let report = path.join(STUDY_REPORT);
    let path = if path.join(STUDY_SCHEDULE).is_file() && report.is_file() { &report } else { path };
    let name = if is_stdin(path) { "stdin".to_owned() } else { path.display().to_string() };
    let text = text(path, &name)?;
    let result = result(&name, &text)?;
    Ok(Stored { name, result })
}

fn text(path: &Path, name: &str) -> Result<String, CliError> {
    let unreadable = |error: &std::io::Error| {
        CliError::usage(format!("can't read {name} ({error})"))
            .hint("name a file that `prony URL --json FILE` wrote, or - for stdin")
    };
    let mut bytes = Vec::new();
    let mut take = |source: &mut dyn std::io::Read| source.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
    let taken = if is_stdin(path) {
        take(&mut std::io::stdin().lock())
    } else if path.join(STUDY_SCHEDULE).is_file() {
        return Err(CliError::usage(format!("{name} has no {STUDY_REPORT}: its study has not ended"))
            .hint(format!("go on with it: prony study FILE --output {name} --resume")));
    } else if path.is_dir() {
        return Err(CliError::usage(format!("{name} is a directory"))
            .hint(format!("name the files in it: prony report {}", path.join("*.json").display())));
    } else {
        File::open(path).and_then(|mut file| take(&mut file))
    };
    taken.map_err(|error| unreadable(&error))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(CliError::usage(format!("{name} is larger than 256 MiB, which no result is"))
            .hint("name a file that `prony URL --json FILE` wrote"));
    }
    if bytes.trim_ascii().is_empty() {
        return Err(CliError::usage(format!("{name} is empty"))
            .hint("for example: prony http://127.0.0.1:3000/ --json - | prony report -"));
    }
    String::from_utf8(bytes).map_err(|_| {
        CliError::usage(format!("{name} is not text")).hint("results of prony are JSON in UTF-8")
    })
}

fn result(name: &str, text: &str) -> Result<AnyResult, CliError> {
    let refused = |error: FormatError| refused(name, &error);
    let format = match stored_format(text) {
        Ok(format) => format,
        // What is none of Prony's may be a report of another tool.
        Err(error) => {
            return match prony_import::read_report(text) {
                Some(Ok(result)) => Ok(AnyResult::External(Box::new(result))),
                Some(Err(error)) => Err(CliError::usage(format!("{name} can't be used: {error}"))),
                None => Err(refused(error)),
            };
        }
    };
    match format.as_str() {
        EXTERNAL_FORMAT => {
            external_from_json(text).map(|result| AnyResult::External(Box::new(result))).map_err(refused)
        }
        COMPARISON_FORMAT => {
            comparison_from_json(text).map(|result| AnyResult::Comparison(Box::new(result))).map_err(refused)
        }
        CAPACITY_FORMAT => {
            capacity_from_json(text).map(|result| AnyResult::Capacity(Box::new(result))).map_err(refused)
        }
        OVERLOAD_FORMAT => {
            overload_from_json(text).map(|result| AnyResult::Overload(Box::new(result))).map_err(refused)
        }
        EXEC_FORMAT => exec_from_json(text).map(|result| AnyResult::Exec(Box::new(result))).map_err(refused),
        STUDY_FORMAT => {
            study_from_json(text).map(|result| AnyResult::Study(Box::new(result))).map_err(refused)
        }
        FLEET_FORMAT => {
            let result = fleet_from_json(text).map_err(refused)?;
            let agents = result.agents.iter().filter_map(|agent| agent.result.as_deref());
            for run in agents.chain([&result.merged]) {
                whole(name, run)?;
            }
            Ok(AnyResult::Fleet(Box::new(result)))
        }
        PROBE_FORMAT => {
            probe_from_json(text).map(|result| AnyResult::Probe(Box::new(result))).map_err(refused)
        }
        _ => {
            let result = from_json(text).map_err(refused)?;
            whole(name, &result)?;
            Ok(AnyResult::Run(Box::new(result)))
        }
    }
}

/// Whether the distributions of `result` can be read.
fn whole(name: &str, result: &RunResult) -> Result<(), CliError> {
    check_distributions(result).map_err(|error| {
        CliError::usage(format!("{name}: {error}")).hint("was the file edited, or cut short?")
    })
}

fn refused(name: &str, error: &FormatError) -> CliError {
    let cli_error = CliError::usage(format!("{name} can't be used: {error}"));
    match error {
        FormatError::Json { .. } => {
            cli_error.hint("the file may be incomplete: was the run that wrote it interrupted?")
        }
        FormatError::Foreign
        | FormatError::ForeignExec
        | FormatError::ForeignProbe
        | FormatError::ForeignComparison
        | FormatError::ForeignCapacity
        | FormatError::ForeignOverload
        | FormatError::ForeignStudy
        | FormatError::ForeignFleet
        | FormatError::ForeignExternal => cli_error.hint("name a file that `prony URL --json FILE` wrote"),
        FormatError::Version { .. } | FormatError::Schema(_) => cli_error,
    }
}
