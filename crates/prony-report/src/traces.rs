//! The slowest requests that the server was asked to trace, with the ids by which its tracing system finds them.

use prony_model::{RunPlan, RunResult, SlowRequest};

use crate::latency::Unit;
use crate::number::{count, plural, rough_percent};
use crate::slowest;

/// What each row has, beside the name of its request.
pub(crate) const HEADINGS: [&str; 5] = ["response", "service", "status", "sent (UTC)", "trace"];

/// One request.
pub(crate) struct TraceRow {
    /// Under [`HEADINGS`].
    pub(crate) cells: [String; 5],
    /// What else is known: its step, how often it was sent.
    pub(crate) notes: Vec<String>,
    /// Where the trace is shown.
    pub(crate) link: Option<String>,
}

/// Which requests are sampled, where any are.
pub(crate) fn choice(plan: &RunPlan) -> Option<String> {
    let trace = plan.trace.as_ref()?;
    Some(format!("traceparent on each request, {} sampled", rough_percent(trace.share)))
}

/// How many there were; then what to do where there were none.
pub(crate) fn summary(result: &RunResult) -> Option<String> {
    let traces = result.traces.as_ref()?;
    let requests = plural(traces.requests, "request");
    Some(if traces.sampled == 0 {
        format!("none of {requests} was sampled: use a longer run, or a higher --trace-share")
    } else {
        let listed = traces.slowest.len() as u64;
        let which =
            if listed < traces.sampled { format!("the {listed} slowest") } else { "all of them".to_owned() };
        format!("{} of {requests} sampled; {which}, by response time:", count(traces.sampled))
    })
}

/// A row for each request, the slowest first, and the unit of its times.
pub(crate) fn rows(result: &RunResult) -> (Vec<TraceRow>, &'static str) {
    let unit = Unit::of(result);
    let requests = result.traces.iter().flat_map(|traces| &traces.slowest);
    (requests.map(|request| row(&result.plan, request, unit)).collect(), unit.name)
}

fn row(plan: &RunPlan, request: &SlowRequest, unit: Unit) -> TraceRow {
    let bound = slowest::bound(request);
    let time = |ms: f64| format!("{bound}{}", unit.cell(ms));
    // The day is that of the run.
    let clock = request.sent_at.split_once('T').map_or(&*request.sent_at, |(_, clock)| clock);
    let cells = [
        time(request.response_ms),
        time(request.service_ms),
        slowest::status(request),
        clock.trim_end_matches('Z').to_owned(),
        request.trace_id.clone().unwrap_or_default(),
    ];
    let link = plan.trace.as_ref().zip(request.trace_id.as_ref()).and_then(|(trace, id)| trace.link(id));
    TraceRow { cells, notes: slowest::notes(request), link }
}
