//! Searches for the capacity of a cell.

use serde::{Deserialize, Serialize};

use crate::CapacityResult;

/// One search, whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StudySearch {
    /// Which repeat, from 1.
    pub repeat: u32,
    /// The stored result, relative to the folder of the study.
    pub file: String,
    /// Whether it was stopped, or its server died: what it found by then counts in no figure.
    pub is_partial: bool,
    /// What it found.
    pub result: CapacityResult,
}

impl StudySearch {
    /// Searches of one cell that a study's result has whole; the files of all are in its folder.
    pub const KEPT_MAX: u32 = 10;
}
