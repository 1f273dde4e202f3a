//! Sessions, flows and steps of several agents.

use std::collections::BTreeMap;

use prony_model::{Decoding, FlowResult, RunResult, ScenarioResult, SessionCounts, StepResult};
use prony_stats::Censored;

use super::clocks::total;
use super::sums::add_counts;
use crate::latency::{histogram_data, summary};

/// Those of all results; flows and steps are those of the plan, which is the same for all.
pub(super) fn scenario(results: &[&RunResult], measured_s: f64) -> Option<ScenarioResult> {
    let first = results.iter().find_map(|result| result.scenario.as_ref())?;
    let mut sessions = SessionCounts::default();
    for result in results.iter().filter_map(|result| result.scenario.as_ref()) {
        sessions.add(result.sessions);
    }
    Some(ScenarioResult {
        sessions,
        sessions_per_s: if measured_s > 0.0 { sessions.begun as f64 / measured_s } else { 0.0 },
        flows: (0..first.flows.len()).map(|at| flow(results, &first.flows[at], at)).collect(),
        steps: (0..first.steps.len()).map(|at| step(results, &first.steps[at], at)).collect(),
        ended_by_feed: results.iter().find_map(|result| result.scenario.as_ref()?.ended_by_feed.clone()),
        decoding: decoding(results),
    })
}

/// What all agents together decoded; `None` where none had to.
fn decoding(results: &[&RunResult]) -> Option<Decoding> {
    let each = results.iter().filter_map(|result| result.scenario.as_ref()?.decoding);
    each.reduce(|sum, one| Decoding {
        bodies: sum.bodies + one.bodies,
        coded_bytes: sum.coded_bytes + one.coded_bytes,
        decoded_bytes: sum.decoded_bytes + one.decoded_bytes,
        cpu_s: sum.cpu_s + one.cpu_s,
    })
}

/// Flow number `at`, which is called as `first`.
fn flow(results: &[&RunResult], first: &FlowResult, at: usize) -> FlowResult {
    fn found(result: &RunResult, at: usize) -> Option<&FlowResult> {
        result.scenario.as_ref()?.flows.get(at)
    }
    let mut sessions = SessionCounts::default();
    for flow in results.iter().filter_map(|result| found(result, at)) {
        sessions.add(flow.sessions);
    }
    let time =
        total(results, |result| found(result, at).map(|flow| (&flow.time_histogram, Some(&flow.time))));
    let without_think = total(results, |result| {
        found(result, at).map(|flow| (&flow.time_without_think_histogram, Some(&flow.time_without_think)))
    });
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
fn step(results: &[&RunResult], first: &StepResult, at: usize) -> StepResult {
    fn found(result: &RunResult, at: usize) -> Option<&StepResult> {
        result.scenario.as_ref()?.steps.get(at)
    }
    let all = || results.iter().filter_map(|result| found(result, at));
    let response = total(results, |result| {
        found(result, at).map(|step| (&step.response_histogram, Some(&step.response)))
    });
    let service =
        total(results, |result| found(result, at).map(|step| (&step.service_histogram, Some(&step.service))));
    let (mut failed, mut nothing_found) = (BTreeMap::new(), BTreeMap::new());
    for step in all() {
        add_counts(&mut failed, &step.failed);
        add_counts(&mut nothing_found, &step.nothing_found);
    }
    StepResult {
        flow: first.flow.clone(),
        name: first.name.clone(),
        request: first.request.clone(),
        ended: all().map(|step| step.ended).sum(),
        done: all().map(|step| step.done).sum(),
        retries: all().map(|step| step.retries).sum(),
        recovered: all().map(|step| step.recovered).sum(),
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
