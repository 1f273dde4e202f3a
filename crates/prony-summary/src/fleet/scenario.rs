//! Sessions, flows and steps of several agents.

use std::collections::BTreeMap;

use prony_model::{Decoding, FlowResult, RunResult, ScenarioResult, SessionCounts, StepResult};
use prony_stats::Censored;

use super::sums::{add_counts, total};
use super::totals::Totals;
use crate::latency::{histogram_data, summary};
use crate::stored::Place;

/// Those of all results; flows and steps are those of the plan, which is the same for all.
pub(super) fn scenario(
    results: &[&RunResult],
    totals: &mut Totals,
    measured_s: f64,
) -> Option<ScenarioResult> {
    let first = results.iter().find_map(|result| result.scenario.as_ref())?;
    let mut sessions = SessionCounts::default();
    for result in results.iter().filter_map(|result| result.scenario.as_ref()) {
        sessions.add(result.sessions);
    }
    Some(ScenarioResult {
        sessions,
        sessions_per_s: if measured_s > 0.0 { sessions.begun as f64 / measured_s } else { 0.0 },
        flows: (0..first.flows.len()).map(|at| flow(results, totals, &first.flows[at], at)).collect(),
        steps: (0..first.steps.len()).map(|at| step(results, totals, &first.steps[at], at)).collect(),
        ended_by_feed: results.iter().find_map(|result| result.scenario.as_ref()?.ended_by_feed.clone()),
        decoding: decoding(results),
    })
}

/// What all agents together decoded; `None` where none had to.
fn decoding(results: &[&RunResult]) -> Option<Decoding> {
    let each = results.iter().filter_map(|result| result.scenario.as_ref()?.decoding);
    each.reduce(|sum, one| Decoding {
        bodies: sum.bodies.saturating_add(one.bodies),
        coded_bytes: sum.coded_bytes.saturating_add(one.coded_bytes),
        decoded_bytes: sum.decoded_bytes.saturating_add(one.decoded_bytes),
        cpu_s: sum.cpu_s + one.cpu_s,
    })
}

/// Flow number `at`, which is called as `first`.
fn flow(results: &[&RunResult], totals: &mut Totals, first: &FlowResult, at: usize) -> FlowResult {
    fn found(result: &RunResult, at: usize) -> Option<&FlowResult> {
        result.scenario.as_ref()?.flows.get(at)
    }
    let mut sessions = SessionCounts::default();
    for flow in results.iter().filter_map(|result| found(result, at)) {
        sessions.add(flow.sessions);
    }
    let time = totals.take(Place::FlowTime(at));
    let without_think = totals.take(Place::FlowWithoutThink(at));
    FlowResult {
        name: first.name.clone(),
        sessions,
        time: summary(&time, Censored::NONE),
        time_without_think: summary(&without_think, Censored::NONE),
        time_histogram: histogram_data(&time),
        time_without_think_histogram: histogram_data(&without_think),
    }
}

/// Step number `at`, which is called as `first`.
fn step(results: &[&RunResult], totals: &mut Totals, first: &StepResult, at: usize) -> StepResult {
    fn found(result: &RunResult, at: usize) -> Option<&StepResult> {
        result.scenario.as_ref()?.steps.get(at)
    }
    let all = || results.iter().filter_map(|result| found(result, at));
    let response = totals.take(Place::StepResponse(at));
    let service = totals.take(Place::StepService(at));
    let (mut failed, mut nothing_found) = (BTreeMap::new(), BTreeMap::new());
    for step in all() {
        add_counts(&mut failed, &step.failed);
        add_counts(&mut nothing_found, &step.nothing_found);
    }
    StepResult {
        flow: first.flow.clone(),
        name: first.name.clone(),
        request: first.request.clone(),
        ended: total(all().map(|step| step.ended)),
        done: total(all().map(|step| step.done)),
        retries: total(all().map(|step| step.retries)),
        recovered: total(all().map(|step| step.recovered)),
        failed,
        nothing_found,
        first_failure: all().find_map(|step| step.first_failure.clone()),
        response: summary(&response, Censored::NONE),
        service: summary(&service, Censored::NONE),
        response_histogram: histogram_data(&response),
        service_histogram: histogram_data(&service),
        // No agent knows whether another one's requests were in flight.
        alone: None,
        // Its quantiles can't be merged exactly: each agent's result has its own.
        timeline: Vec::new(),
    }
}
