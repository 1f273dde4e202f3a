//! Takes away the merged quantiles that can't be defended.

use prony_model::{FindingCode, LatencySummary, QUANTILES, QuantileNote, RunResult};

/// Withholds the quantiles of `merged` where its findings say that one agent is invalid or unlike the others. Counts and
/// extremes stay: they are facts.
pub(super) fn withhold(merged: &mut RunResult) {
    let reason = merged.findings.iter().find_map(|finding| match finding.code {
        FindingCode::AgentInvalid | FindingCode::AgentsDisagree => {
            Some(format!("withheld: {} (prony explain {})", finding.message, finding.code.name()))
        }
        _ => None,
    });
    let Some(reason) = reason else { return };
    let latency = &mut merged.latency;
    for summary in [
        &mut latency.response,
        &mut latency.kernel_response,
        &mut latency.service,
        &mut latency.first_byte,
        &mut latency.connect,
        &mut latency.lag,
        &mut latency.blocked,
        &mut latency.departure,
        &mut latency.network,
        &mut latency.arrival,
    ] {
        quantiles(summary, &reason);
    }
    for outcome in &mut merged.outcomes {
        quantiles(&mut outcome.response, &reason);
        quantiles(&mut outcome.service, &reason);
    }
    for point in &mut merged.series {
        (point.p50_ms, point.p99_ms) = (None, None);
    }
    for step in merged.scenario.iter_mut().flat_map(|scenario| &mut scenario.steps) {
        quantiles(&mut step.response, &reason);
        quantiles(&mut step.service, &reason);
    }
    for flow in merged.scenario.iter_mut().flat_map(|scenario| &mut scenario.flows) {
        quantiles(&mut flow.time, &reason);
        quantiles(&mut flow.time_without_think, &reason);
    }
    if let Some(events) = &mut merged.events {
        for summary in [&mut events.first_response, &mut events.first_service, &mut events.between] {
            quantiles(summary, &reason);
        }
    }
    if let Some(tls) = &mut merged.tls {
        quantiles(&mut tls.handshakes.full_latency, &reason);
        quantiles(&mut tls.handshakes.resumed_latency, &reason);
    }
}

fn quantiles(summary: &mut LatencySummary, reason: &str) {
    if summary.count == 0 {
        return;
    }
    summary.intervals_ms.clear();
    for (name, _) in QUANTILES {
        summary.quantiles_ms.insert(name.to_owned(), None);
        let note = QuantileNote { reason: reason.to_owned(), above_ms: None };
        summary.withheld.insert(name.to_owned(), note);
    }
}
