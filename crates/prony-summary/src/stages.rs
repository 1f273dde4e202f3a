//! The figures of the stages of a run, from what was recorded of the requests that were due in each.

use prony_model::{ErrorKind, Requests, RunPlan, StageResult};
use prony_stats::{Censored, Histogram};

use crate::latency::{histogram_data, summary};

/// What was recorded of a stage.
pub struct StageRecords<'a> {
    /// Where its requests went.
    pub requests: Requests,
    /// Response times of the good ones.
    pub response: &'a Histogram,
    /// Their service times.
    pub service: &'a Histogram,
    /// Waits of those without an answer: each true response time is greater.
    pub cut_off: &'a Histogram,
}

/// The figures of stage `index` of `plan`, of whose measured part `measured_s` were measured; none where the run ended
/// before it, or the plan has no such stage.
pub fn stage(
    plan: &RunPlan,
    index: usize,
    measured_s: f64,
    records: StageRecords<'_>,
) -> Option<StageResult> {
    let stages = plan.stages.as_ref()?;
    let (from_s, planned) = stages.spans().nth(index)?;
    let to_s = measured_s.min(from_s + planned.duration.as_secs_f64());
    let length_s = to_s - from_s;
    if length_s <= 0.0 {
        return None;
    }
    let asked = (plan.mean_rate(to_s)? * to_s - plan.mean_rate(from_s)? * from_s) / length_s;
    let StageRecords { requests, response, service, cut_off } = records;
    let in_vain = requests.failed_by_kind.get(&ErrorKind::RequestTimeout).copied().unwrap_or_default();
    Some(StageResult {
        name: stages.name(index),
        from_s,
        measured_s: length_s,
        asked_per_s: plan.scenario.is_none().then_some(asked),
        done_per_s: requests.done as f64 / length_s,
        response: summary(response, Censored::Waited(cut_off)),
        service: summary(service, Censored::Count(requests.censored.saturating_add(in_vain))),
        response_histogram: histogram_data(response),
        service_histogram: histogram_data(service),
        censored_histogram: histogram_data(cut_off),
        requests,
    })
}
