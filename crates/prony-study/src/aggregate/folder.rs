//! The results in the folder of a study, one after the other.

use std::fs;
use std::io;
use std::path::Path;

use prony_model::{RetriedRun, Severity, StudyResult, StudySearch};

use super::{AggregateError, Stored, aggregate};
use crate::folder::{failures, partial_files, retried_files};
use crate::{Schedule, Step, Study};

/// The result of all files in `folder`, the folder of a study. Runs that have no file are missing.
pub fn aggregate_folder(
    study: &Study,
    schedule: &Schedule,
    folder: &Path,
) -> Result<StudyResult, AggregateError> {
    let stored = schedule.steps.iter().filter_map(|step| read(folder, step).transpose());
    let mut result = aggregate(study, schedule, stored, failures(folder, schedule))?;
    for step in &schedule.steps {
        if let Some(cell) = result.cells.get_mut(step.cell) {
            cell.retried.extend(retried(folder, step)?);
            cell.searches.extend(partial(folder, step)?);
        }
    }
    Ok(result)
}

/// The attempts at `step` that were made again.
fn retried(folder: &Path, step: &Step) -> Result<Vec<RetriedRun>, AggregateError> {
    let mut attempts = Vec::new();
    for (attempt, file) in (1..).zip(retried_files(folder, step)) {
        let stored = read_file(folder, &file)?;
        let findings = stored.iter().flat_map(Stored::findings);
        let invalid = findings.filter(|finding| finding.severity == Severity::Invalid);
        let findings = invalid.map(|finding| finding.code).collect();
        attempts.push(RetriedRun { repeat: step.repeat, attempt, file, findings });
    }
    Ok(attempts)
}

/// Searches of `step` that were stopped; none once it has a result.
fn partial(folder: &Path, step: &Step) -> Result<Vec<StudySearch>, AggregateError> {
    let mut searches = Vec::new();
    if folder.join(&step.file).exists() {
        return Ok(searches);
    }
    for file in partial_files(folder, step) {
        if let Some(Stored::Capacity(result)) = read_file(folder, &file)? {
            searches.push(StudySearch { repeat: step.repeat, file, is_partial: true, result: *result });
        }
    }
    Ok(searches)
}

/// The result of `step`, if it is there.
fn read(folder: &Path, step: &Step) -> Result<Option<(Step, Stored)>, AggregateError> {
    Ok(read_file(folder, &step.file)?.map(|stored| (step.clone(), stored)))
}

fn read_file(folder: &Path, file: &str) -> Result<Option<Stored>, AggregateError> {
    let text = match fs::read_to_string(folder.join(file)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(AggregateError::Read { file: file.to_owned(), error }),
    };
    let stored =
        Stored::from_json(&text).map_err(|error| AggregateError::Stored { file: file.to_owned(), error })?;
    Ok(Some(stored))
}
