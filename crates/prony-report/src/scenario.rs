//! Sessions, flows and steps, as lines and cells: what became of them, and how long they took.

use prony_model::{LatencySummary, RunResult, ScenarioResult, SessionCounts};

use crate::latency::Unit;
use crate::number::{bytes, count, or_dash, plural, rate, rough_percent, seconds};
use crate::replay;

/// The quantiles of a row, and their headings.
const SHOWN: [(&str, &str); 3] = [("0.5", "p50"), ("0.9", "p90"), ("0.99", "p99")];
/// Letters of a step's name that are shown.
const NAME_MAX: usize = 24;

/// Notes on failed routes that are shown.
const ROUTE_NOTES_MAX: usize = 5;

/// Steps and flows, a row each.
pub(crate) struct ScenarioTable {
    /// Over all columns but the first, whose heading is the unit of times.
    pub(crate) headings: Vec<String>,
    pub(crate) rows: Vec<(String, Vec<String>)>,
    /// What failed first, by step.
    pub(crate) notes: Vec<String>,
    pub(crate) unit: &'static str,
}

/// What became of all sessions.
pub(crate) fn sessions(result: &RunResult) -> Option<String> {
    // Each of a replay is one request.
    let found = result.scenario.as_ref().filter(|_| result.plan.replay.is_none())?;
    let mut parts = vec![format!("{} /s     {}", rate(found.sessions_per_s), counts(found.sessions))];
    parts.extend(found.ended_by_feed.as_ref().map(|feed| format!("the feed {feed} has no more rows")));
    Some(parts.join("; "))
}

/// What decoding bodies took of the client's CPU time.
pub(crate) fn decoding(result: &RunResult) -> Option<String> {
    let found = result.scenario.as_ref()?.decoding.as_ref()?;
    let each = seconds(found.cpu_s / found.bodies.max(1) as f64);
    let share = found.cpu_s / result.client.cpu_s.max(f64::MIN_POSITIVE);
    let bodies =
        if found.bodies == 1 { "1 body".to_owned() } else { format!("{} bodies", count(found.bodies)) };
    Some(format!(
        "{bodies} for checks and extractions: {} to {}, {each} of CPU time each, {} of the client's",
        bytes(found.coded_bytes as f64),
        bytes(found.decoded_bytes as f64),
        rough_percent(share.min(1.0)),
    ))
}

fn counts(sessions: SessionCounts) -> String {
    let SessionCounts { begun, completed, failed, unfinished } = sessions;
    let mut parts = vec![format!("{} begun", count(begun)), format!("{} completed", count(completed))];
    let others = [(failed, "failed"), (unfinished, "unfinished")];
    parts.extend(
        others
            .iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, what)| format!("{} {what}", count(*number))),
    );
    parts.join(", ")
}

/// A row for each step, and for each flow of several.
pub(crate) fn table(result: &RunResult) -> Option<ScenarioTable> {
    let found = result.scenario.as_ref()?;
    let unit = Unit::of(result);
    if result.plan.replay.is_some() {
        let (rows, more) = replay::routes(&result.plan, &found.steps, unit);
        let mut notes = notes(found);
        notes.truncate(ROUTE_NOTES_MAX);
        if more > 0 {
            notes.insert(0, format!("{} more, all faster", plural(more, "route")));
        }
        let headings = replay::HEADINGS.map(str::to_owned).into();
        return Some(ScenarioTable { headings, rows, notes, unit: unit.name });
    }
    let has_retries = result.plan.retries.is_some();
    let mut headings: Vec<&str> = SHOWN.iter().map(|(_, heading)| *heading).collect();
    headings.extend(["max", "service", "n", "failed"]);
    if has_retries {
        headings.push("retries");
    }
    let headings = headings.into_iter().map(str::to_owned).collect();
    let rows = rows(found, has_retries, unit);
    Some(ScenarioTable { headings, rows, notes: notes(found), unit: unit.name })
}

fn rows(found: &ScenarioResult, has_retries: bool, unit: Unit) -> Vec<(String, Vec<String>)> {
    let retries = |number: Option<u64>| has_retries.then(|| number.map_or_else(String::new, count));
    let mut rows = Vec::new();
    for flow in &found.flows {
        let steps: Vec<_> = found.steps.iter().filter(|step| step.flow == flow.name).collect();
        for step in &steps {
            let failed = step.ended - step.done;
            let mut cells = cells(&step.response, Some(&step.service), step.done, failed, unit);
            cells.extend(retries(Some(step.retries)));
            rows.push((short(&step.name), cells));
        }
        if steps.len() > 1 {
            let SessionCounts { completed, failed, .. } = flow.sessions;
            for (name, times) in [
                (format!("= {}", short(&flow.name)), &flow.time),
                ("  without think".to_owned(), &flow.time_without_think),
            ] {
                let mut cells = cells(times, None, completed, failed, unit);
                cells.extend(retries(None));
                rows.push((name, cells));
            }
        }
    }
    rows
}

fn short(name: &str) -> String {
    if name.chars().count() <= NAME_MAX {
        return name.to_owned();
    }
    name.chars().take(NAME_MAX - 1).chain(['…']).collect()
}

fn cells(
    times: &LatencySummary,
    service: Option<&LatencySummary>,
    done: u64,
    failed: u64,
    unit: Unit,
) -> Vec<String> {
    let cell = |value: Option<f64>| or_dash(value, |value| unit.cell(value));
    let quantile = |summary: &LatencySummary, key: &str| summary.quantiles_ms.get(key).copied().flatten();
    let mut cells: Vec<String> = SHOWN.iter().map(|(key, _)| cell(quantile(times, key))).collect();
    cells.push(cell(times.max_ms));
    cells.push(service.map_or_else(String::new, |service| cell(quantile(service, "0.5"))));
    cells.extend([count(done), count(failed)]);
    cells
}

fn notes(found: &ScenarioResult) -> Vec<String> {
    let mut notes = Vec::new();
    for step in &found.steps {
        if let Some(first) = &step.first_failure {
            let causes: Vec<String> =
                step.failed.iter().map(|(cause, number)| format!("{} {cause}", count(*number))).collect();
            notes.push(format!("{} failed: {} (first: {first})", step.name, causes.join(", ")));
        }
        let with_default = step.nothing_found.iter().filter(|_| !step.failed.contains_key("extract"));
        for (name, number) in with_default {
            notes.push(format!("{}: nothing was found for `{name}` {} times", step.name, count(*number)));
        }
    }
    notes
}
