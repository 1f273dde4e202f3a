//! In which order cells are run.

use serde::{Deserialize, Serialize};

/// Every run of a study, in the order of time. Stored in the folder of the study, so that it can be resumed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// Seed of the order and of the loads.
    pub seed: u64,
    /// What the schedule is of: a checksum of everything in the study that a run depends on.
    pub fingerprint: String,
    /// The runs.
    pub steps: Vec<Step>,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Its place, from 1.
    pub place: u32,
    /// The cell, by index.
    pub cell: usize,
    /// Which repeat of it, from 1.
    pub repeat: u32,
    /// The file of its result, relative to the folder of the study: `runs/0007-r2-kv-400.json`.
    pub file: String,
}
