//! When agents were active, on the common clock.

use prony_model::{AgentOutcome, FleetAgent, RunResult, StartSpread};

/// `agent` as the merged result keeps it; the load was to start at `start_ns` of the common clock.
pub(super) fn fleet_agent(agent: AgentOutcome, start_ns: u64) -> FleetAgent {
    let AgentOutcome { name, clock, result } = agent;
    let (result, absence) = match result {
        Ok(result) => (Some(Box::new(result)), None),
        Err(absence) => (None, Some(absence)),
    };
    let planned_late_ns = result.as_ref().zip(clock).and_then(|(result, clock)| {
        let planned = i128::from(result.timing.start?.planned_ns) - i128::from(clock.offset_ns);
        i64::try_from(planned - i128::from(start_ns)).ok()
    });
    let ready_ns = |result: &RunResult| i64::try_from(result.timing.start?.ready_ns).ok();
    let start_late_ns = planned_late_ns
        .zip(result.as_deref().and_then(ready_ns))
        .map(|(planned_late, ready)| planned_late.saturating_add(ready));
    let measured_ns = planned_late_ns.zip(result.as_ref()).map(|(planned_late, result)| {
        let from = planned_late.saturating_add(nanos(result.timing.warmup_s));
        (from, from.saturating_add(nanos(result.timing.measured_s)))
    });
    FleetAgent { name, clock, start_late_ns, measured_ns, result, absence }
}

#[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
fn nanos(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}

/// From the first agent that was ready to the last.
pub(super) fn spread(agents: &[FleetAgent]) -> Option<StartSpread> {
    let ready = || agents.iter().filter_map(|agent| Some((agent.start_late_ns?, agent.clock?.bound_ns)));
    let (first, last) = (ready().min()?, ready().max()?);
    (ready().count() > 1).then(|| StartSpread {
        spread_ns: last.0.abs_diff(first.0),
        bound_ns: last.1.saturating_add(first.1),
    })
}

/// The time in which all agents measured, as a share of the time in which any did.
pub(super) fn overlap_share(agents: &[FleetAgent]) -> Option<f64> {
    let spans = || agents.iter().filter_map(|agent| agent.measured_ns);
    if spans().count() < 2 {
        return None;
    }
    let (first, last) = (spans().map(|span| span.0).min()?, spans().map(|span| span.1).max()?);
    let common = spans().map(|span| span.1).min()?.saturating_sub(spans().map(|span| span.0).max()?);
    let any = last.saturating_sub(first);
    (any > 0).then(|| common.max(0) as f64 / any as f64)
}
