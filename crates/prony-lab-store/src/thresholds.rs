//! The thresholds of a build's study file, and whether they are met.

use schemars::JsonSchema;
use serde::Serialize;

use super::{StoreError, Tx, values};
use prony_lab_model::BuildId;

/// A threshold for one cell.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Threshold {
    /// As the study file says it: "p99 at most 50 ms".
    pub words: String,
    /// The case of the study.
    pub cell: String,
    /// The name of what is measured.
    pub metric: String,
    /// What was measured.
    pub value: Option<f64>,
    /// Whether that is good enough; unknown without a number, or of invalid runs only.
    pub is_met: Option<bool>,
}

/// The thresholds of a build, in the order of its study file.
pub fn of_build(tx: &mut Tx<'_>, build: BuildId) -> Result<Vec<Threshold>, StoreError> {
    tx.query(
        "SELECT words, cell, metric, value, is_met FROM thresholds WHERE build_id = $1 ORDER BY place",
        values![build],
        |row| {
            Ok(Threshold {
                words: row.text(0)?,
                cell: row.text(1)?,
                metric: row.text(2)?,
                value: row.maybe_real(3)?,
                is_met: row.maybe_int(4)?.map(|met| met != 0),
            })
        },
    )
}
