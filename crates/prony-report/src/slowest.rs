//! The slowest requests, one by one: where the time of each went, and what it was.

use prony_model::{RequestPhases, RunResult, SlowRequest};

use crate::latency::Unit;
use crate::number::{fixed, plural};

/// What each row has, beside the name of its request.
pub(crate) const HEADINGS: [&str; 9] =
    ["response", "waited", "connect", "TLS", "client", "1st byte", "rest", "due at, s", "status"];
/// Requests that the report for a terminal has.
const BRIEF: usize = 3;
/// A part of a response time below this share of it is left out of the report for a terminal.
const NOTABLE: f64 = 0.01;

/// One request.
pub(crate) struct SlowRow {
    /// Under [`HEADINGS`].
    pub(crate) cells: [String; 9],
    /// What else is known: its step, its connection.
    pub(crate) notes: Vec<String>,
    /// The id of its trace.
    pub(crate) trace: Option<String>,
    /// Where its trace is shown.
    pub(crate) link: Option<String>,
}

/// A row for each of the slowest requests, the slowest first, and the unit of its times.
pub(crate) fn rows(result: &RunResult) -> (Vec<SlowRow>, &'static str) {
    let unit = Unit::of(result);
    (result.slowest.iter().map(|request| row(result, request, unit)).collect(), unit.name)
}

fn row(result: &RunResult, request: &SlowRequest, unit: Unit) -> SlowRow {
    let part = |of: fn(&RequestPhases) -> f64| {
        request.phases.as_ref().map_or_else(|| "–".to_owned(), |phases| unit.cell(of(phases)))
    };
    let cells = [
        response(request, unit),
        part(|phases| phases.waited_ms),
        part(|phases| phases.connect_ms),
        part(|phases| phases.tls_ms),
        part(|phases| phases.client_ms),
        part(|phases| phases.first_byte_ms),
        part(|phases| phases.rest_ms),
        fixed(request.due_s, 3),
        status(request),
    ];
    let trace = result.plan.trace.as_ref().filter(|_| request.is_sampled);
    let link = trace.zip(request.trace_id.as_ref()).and_then(|(trace, id)| trace.link(id));
    let mut notes = notes(request);
    notes.extend(connection(request));
    SlowRow { cells, notes, trace: request.trace_id.clone(), link }
}

/// A line for each of the first few: its time, where that went, and what it was.
pub(crate) fn brief(result: &RunResult) -> Vec<String> {
    let unit = Unit::of(result);
    let line = |request: &SlowRequest| {
        let time = format!("{} {}", response(request, unit), unit.name);
        let parts = request.phases.as_ref().map(|phases| {
            let named = named(phases).into_iter().filter(|(_, ms)| *ms >= NOTABLE * request.response_ms);
            let parts: Vec<String> = named.map(|(name, ms)| format!("{} {name}", unit.cell(ms))).collect();
            parts.join(" + ")
        });
        let time = match parts.filter(|parts| !parts.is_empty()) {
            Some(parts) => format!("{time} = {parts}"),
            None => time,
        };
        let due = format!("due at {} s", fixed(request.due_s, 3));
        let mut all = vec![time, status(request), due];
        all.extend(notes(request));
        all.extend(connection(request));
        all.join(" · ")
    };
    result.slowest.iter().take(BRIEF).map(line).collect()
}

fn named(phases: &RequestPhases) -> [(&'static str, f64); 6] {
    [
        ("waiting", phases.waited_ms),
        ("connecting", phases.connect_ms),
        ("TLS", phases.tls_ms),
        ("the client", phases.client_ms),
        ("to the 1st byte", phases.first_byte_ms),
        ("the rest", phases.rest_ms),
    ]
}

/// Times of what was still outstanding are lower bounds.
pub(crate) fn bound(request: &SlowRequest) -> &'static str {
    if request.outcome == SlowRequest::UNFINISHED { ">" } else { "" }
}

fn response(request: &SlowRequest, unit: Unit) -> String {
    format!("{}{}", bound(request), unit.cell(request.response_ms))
}

/// Its status; what came of it, if it has none.
pub(crate) fn status(request: &SlowRequest) -> String {
    request.status.map_or_else(|| request.outcome.clone(), |status| status.to_string())
}

/// Whose it was, its step, how often it was sent.
pub(crate) fn notes(request: &SlowRequest) -> Vec<String> {
    let mut notes: Vec<String> = request.step.iter().map(|step| format!("step {step}")).collect();
    if request.attempts > 1 {
        notes.push(format!("sent {}", plural(u64::from(request.attempts), "time")));
    }
    notes.extend(request.agent.iter().map(|agent| format!("agent {agent}")));
    notes
}

fn connection(request: &SlowRequest) -> Option<String> {
    let connection = request.connection.as_ref()?;
    let which = if connection.is_new { "new connection" } else { "old connection" };
    Some(if connection.port == 0 { which.to_owned() } else { format!("{which}, port {}", connection.port) })
}
