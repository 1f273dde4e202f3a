//! The results in the folder of a study, one after the other.

use std::fs;
use std::io;
use std::path::Path;

use prony_model::StudyResult;

use super::{DigestError, Stored, digest};
use crate::folder::failures;
use crate::{Schedule, Step, Study};

/// What the results in `folder`, the folder of a study, say together. Runs that have no file are missing.
pub fn digest_folder(study: &Study, schedule: &Schedule, folder: &Path) -> Result<StudyResult, DigestError> {
    let stored = schedule.steps.iter().filter_map(|step| read(folder, step).transpose());
    digest(study, schedule, stored, failures(folder, schedule))
}

/// The result of `step`, if it is there.
fn read(folder: &Path, step: &Step) -> Result<Option<(Step, Stored)>, DigestError> {
    let text = match fs::read_to_string(folder.join(&step.file)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(DigestError::Read { file: step.file.clone(), error }),
    };
    let stored =
        Stored::from_json(&text).map_err(|error| DigestError::Stored { file: step.file.clone(), error })?;
    Ok(Some((step.clone(), stored)))
}
