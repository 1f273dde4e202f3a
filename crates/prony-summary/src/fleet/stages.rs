//! The stages of several agents.

use prony_model::{Requests, RunPlan, RunResult, StageResult};

use super::sums;
use super::totals::Totals;
use crate::stages::{StageRecords, stage};
use crate::stored::Place;

/// Those of all results, for `plan`, that of the whole load.
pub(super) fn stages(
    plan: &RunPlan,
    results: &[&RunResult],
    totals: &mut Totals,
    measured_s: f64,
) -> Vec<StageResult> {
    let count = results.iter().map(|result| result.stages.len()).max().unwrap_or_default();
    let merged = |index: usize| {
        let all: Vec<&Requests> =
            results.iter().filter_map(|result| Some(&result.stages.get(index)?.requests)).collect();
        let response = totals.take(Place::StageResponse(index));
        let service = totals.take(Place::StageService(index));
        let cut_off = totals.take(Place::StageCensored(index));
        let requests = sums::all_requests(&all);
        let records = StageRecords { requests, response: &response, service: &service, cut_off: &cut_off };
        stage(plan, index, measured_s, records)
    };
    (0..count).filter_map(merged).collect()
}
