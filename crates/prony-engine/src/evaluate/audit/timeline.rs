//! Signals in how the run went along.

use prony_model::{Finding, LatencyDrift, RunPlan};
use prony_stats::Histogram;
use prony_summary::Timeline;

use super::Facts;
use crate::record::collect::Totals;

/// All findings of this kind; none for a run in stages.
pub(super) fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    let timeline = timeline(facts.plan(), facts.totals, facts.responses);
    timeline.map_or_else(Vec::new, |timeline| timeline.findings(&facts.result.drift))
}

/// How the response time of a soak drifted; nothing for a run that is none. `responses` are those of the good responses.
pub(crate) fn latency_drift(plan: &RunPlan, totals: &Totals, responses: &Histogram) -> Vec<LatencyDrift> {
    timeline(plan, totals, responses).map_or_else(Vec::new, |timeline| timeline.drift())
}

/// `None` for a run in stages.
fn timeline<'a>(plan: &RunPlan, totals: &'a Totals, responses: &'a Histogram) -> Option<Timeline<'a>> {
    if plan.stages.is_some() {
        return None;
    }
    let series = &totals.series;
    let (parts, _) = series.parts(totals.measured_to);
    Some(Timeline::new(parts, series.part(), responses, plan.warmup.as_secs_f64()))
}
