//! Recorded requests that were sent again: which of the file, how punctually, and what the server made of them.

use std::time::Duration;

use prony_model::{LatencySummary, Replay, ReplayResult, RunPlan, RunResult, StatusPair, StepResult};

use crate::clean::clean;
use crate::latency::Unit;
use crate::number::{count, dash, duration, or_dash, plural, seconds, significant};

/// Reasons for leaving lines out that are shown; all are in the result.
const REASONS_MAX: usize = 6;
/// Pairs of statuses that are shown; all are in the result.
const PAIRS_MAX: usize = 8;
/// Routes that are shown, the slowest first; all are in the result.
const ROUTES_MAX: usize = 12;
/// Letters of a route that are shown.
const ROUTE_MAX: usize = 34;

/// What `plan` replays, and what of the file it leaves out; `None` if it replays nothing.
pub fn replayed(plan: &RunPlan) -> Option<String> {
    let (replay, recorded) = (plan.replay.as_ref()?, plan.recorded.as_ref()?);
    let lines = if replay.format == "har" { "requests" } else { "lines" };
    let mut parts = vec![format!(
        "{} of {} {lines} ({}), recorded from {} to {}",
        count(recorded.count),
        count(replay.lines),
        replay.format,
        replay.from,
        replay.to,
    )];
    if (replay.speed - 1.0).abs() > f64::EPSILON {
        parts.push(format!("{} times as fast", significant(replay.speed)));
    }
    parts.extend(left_out(replay));
    if replay.out_of_order > 0 {
        let by = seconds(replay.jump_back_s);
        parts.push(format!(
            "sorted: {} earlier than the line before, by up to {by}",
            stamps(replay.out_of_order)
        ));
    }
    Some(parts.join("; "))
}

fn stamps(number: u64) -> String {
    format!("{} {}", count(number), if number == 1 { "stamp is" } else { "stamps are" })
}

fn left_out(replay: &Replay) -> Option<String> {
    let mut reasons: Vec<(&String, &u64)> = replay.left_out.iter().collect();
    reasons.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
    let mut shown: Vec<String> = reasons
        .iter()
        .take(REASONS_MAX)
        .map(|(reason, number)| format!("{} {}{}", count(**number), clean(reason), places(replay, reason)))
        .collect();
    let rest: u64 = reasons.iter().skip(REASONS_MAX).map(|(_, number)| **number).sum();
    if rest > 0 {
        shown.push(format!("{} for other reasons", count(rest)));
    }
    (!shown.is_empty()).then(|| format!("left out: {}", shown.join(", ")))
}

/// Where the lines are that can't be read.
fn places(replay: &Replay, reason: &str) -> String {
    let numbers = &replay.unreadable_lines;
    if reason != "not in the format" || numbers.is_empty() {
        return String::new();
    }
    let all: Vec<String> = numbers.iter().map(|number| count(*number)).collect();
    let total = replay.left_out.get(reason).copied().unwrap_or_default();
    let more = if total > numbers.len() as u64 { ", …" } else { "" };
    format!(" ({} {}{more})", if numbers.len() == 1 { "line" } else { "lines" }, all.join(", "))
}

/// What came of it: a line each with its label.
pub(crate) fn lines(result: &RunResult) -> Vec<(&'static str, String)> {
    let Some(found) = &result.replay else { return Vec::new() };
    let mut lines = Vec::new();
    lines.extend(replayed(&result.plan).map(|text| ("replay", text)));
    lines.push(("lateness", lateness(&found.lateness)));
    lines.extend(per_second(result, found).map(|text| ("load", text)));
    lines.extend(pairs(&found.statuses).map(|text| ("recorded", text)));
    lines
}

/// How long after it was due by the file a request was sent.
fn lateness(times: &LatencySummary) -> String {
    let at = |key: &str| times.quantiles_ms.get(key).copied().flatten();
    let named = [("p50", at("0.5")), ("p99", at("0.99")), ("p99.9", at("0.999")), ("max", times.max_ms)];
    let shown: Vec<String> = named
        .iter()
        .filter_map(|(name, value)| Some(format!("{name} {}", seconds((*value)? / 1e3))))
        .collect();
    let shown = if shown.is_empty() { dash() } else { shown.join(", ") };
    format!("sent after it was due by the file: {shown} (n {}, by the client's clock)", count(times.count))
}

/// The busiest second, and the one that was furthest behind.
fn per_second(result: &RunResult, found: &ReplayResult) -> Option<String> {
    let sent = |second: usize| {
        result.series.iter().find(|point| point.second == second as u64).map_or(0, |point| point.sent)
    };
    let all = || found.due_per_second.iter().copied().enumerate();
    // Of equals the first.
    let (busiest, due) = all().rev().max_by_key(|(_, due)| *due)?;
    let seconds = plural(found.due_per_second.len() as u64, "second");
    let most =
        format!("busiest of {seconds}: {} due, {} sent (second {busiest})", count(due), count(sent(busiest)));
    let mut parts = vec![most];
    let mut furthest = (0, 0_i128);
    let (mut due_until, mut sent_until) = (0_i128, 0_i128);
    for (second, due) in all() {
        due_until += i128::from(due);
        sent_until += i128::from(sent(second));
        if due_until - sent_until > furthest.1 {
            furthest = (second, due_until - sent_until);
        }
    }
    if let Ok(requests) = u64::try_from(furthest.1)
        && requests > 0
    {
        let behind = plural(requests, "request");
        parts.push(format!("furthest behind: {behind} at the end of second {}", furthest.0));
    }
    Some(parts.join("; "))
}

/// Recorded and new statuses.
fn pairs(pairs: &[StatusPair]) -> Option<String> {
    let status = |status: Option<u16>| status.map_or_else(|| "none".to_owned(), |status| status.to_string());
    let shown = |pair: &StatusPair| {
        format!("{} → {}: {}", status(pair.recorded), status(pair.answered), count(pair.count))
    };
    let mut parts: Vec<String> = pairs.iter().take(PAIRS_MAX).map(shown).collect();
    let rest: u64 = pairs.iter().skip(PAIRS_MAX).map(|pair| pair.count).sum();
    if rest > 0 {
        parts.push(format!("others: {}", count(rest)));
    }
    (!parts.is_empty()).then(|| format!("status by the file → now: {}", parts.join(" · ")))
}

/// The headings of [`routes`].
pub(crate) const HEADINGS: [&str; 7] = ["p50", "p99", "max", "service p50", "p99", "n", "failed"];

/// The slowest routes, by both clocks, and how many more there are.
pub(crate) fn routes(plan: &RunPlan, steps: &[StepResult], unit: Unit) -> (Vec<(String, Vec<String>)>, u64) {
    let named = plan.replay.iter().flat_map(|replay| &replay.routes);
    let mut rows: Vec<(&String, &StepResult)> = named.zip(steps).filter(|(_, step)| step.ended > 0).collect();
    let slowness =
        |step: &StepResult| quantile(&step.response, "0.99").or(step.response.max_ms).unwrap_or_default();
    rows.sort_by(|a, b| slowness(b.1).total_cmp(&slowness(a.1)));
    let more = rows.len().saturating_sub(ROUTES_MAX) as u64;
    let rows = rows.into_iter().take(ROUTES_MAX).map(|(name, step)| {
        let cell = |value: Option<f64>| or_dash(value, |value| unit.cell(value));
        let cells = vec![
            cell(quantile(&step.response, "0.5")),
            cell(quantile(&step.response, "0.99")),
            cell(step.response.max_ms),
            cell(quantile(&step.service, "0.5")),
            cell(quantile(&step.service, "0.99")),
            count(step.done),
            count(step.ended - step.done),
        ];
        (short(&clean(name)), cells)
    });
    (rows.collect(), more)
}

fn quantile(summary: &LatencySummary, key: &str) -> Option<f64> {
    summary.quantiles_ms.get(key).copied().flatten()
}

fn short(name: &str) -> String {
    if name.chars().count() <= ROUTE_MAX {
        return name.to_owned();
    }
    name.chars().take(ROUTE_MAX - 1).chain(['…']).collect()
}

/// How long the file's requests take, at the speed of the replay.
pub(crate) fn span(plan: &RunPlan) -> Option<String> {
    let recorded = plan.recorded.as_ref()?;
    let span = Duration::try_from_secs_f64(recorded.span_s).unwrap_or_default();
    Some(format!("{} over {}", plural(recorded.count, "request"), duration(span)))
}
