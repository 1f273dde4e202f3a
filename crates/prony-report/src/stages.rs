//! The stages of a run as rows: what was asked for in each, and what came of the requests that were due in it.

use prony_model::{LatencySummary, RunResult, StageResult};

use crate::latency::Unit;
use crate::number::{count, or_dash, rate, seconds};

/// The columns beside the stage's name: with it, they fit 80 columns.
const HEADINGS: [&str; 8] = ["from", "asked /s", "good /s", "p50", "p99", "service p99", "n", "failed"];

/// A row for each stage.
pub(crate) struct StageTable {
    pub(crate) headings: Vec<String>,
    pub(crate) rows: Vec<(String, Vec<String>)>,
    /// What all times but the beginning are in.
    pub(crate) unit: &'static str,
}

/// The stages that were begun; `None` where the plan has none.
pub(crate) fn table(result: &RunResult) -> Option<StageTable> {
    if result.stages.is_empty() {
        return None;
    }
    let unit = Unit::of(result);
    let rows = result.stages.iter().map(|stage| (format!("stage {}", stage.name), cells(stage, unit)));
    let headings = HEADINGS.into_iter().map(str::to_owned).collect();
    Some(StageTable { headings, rows: rows.collect(), unit: unit.name })
}

fn cells(stage: &StageResult, unit: Unit) -> Vec<String> {
    let cell = |value: Option<f64>| or_dash(value, |value| unit.cell(value));
    let quantile = |summary: &LatencySummary, key: &str| summary.quantiles_ms.get(key).copied().flatten();
    let requests = &stage.requests;
    vec![
        seconds(stage.from_s),
        or_dash(stage.asked_per_s, rate),
        rate(stage.done_per_s),
        cell(quantile(&stage.response, "0.5")),
        cell(quantile(&stage.response, "0.99")),
        cell(quantile(&stage.service, "0.99")),
        count(requests.done),
        count(requests.intended.saturating_sub(requests.done)),
    ]
}
