//! The tables of the page: the same rows as the text report has.

use prony_model::{EvaluatedThreshold, RunResult, ThresholdOutcome, status_name};

use super::page::Agents;
use crate::fleet::AgentTable;
use crate::latency::{KernelRows, headings, table};
use crate::number::{count, dash, or_dash, percent, plural, seconds};
use crate::study::{Content, Table, Word, numbers, words};
use crate::{failures, scenario, slowest, stages as stage_rows, threshold, traces};

/// What each clock of the table is.
fn meaning(row: &str) -> &'static str {
    match row {
        "response" => "from when a request was due to its end",
        "by kernel" => "response time without the client's own delays",
        "service" => "from when a request was sent to its end",
        "1st byte" => "from when a request was sent to the first byte of its answer",
        "1st event" => "from when a request was due to its first event",
        "1st, sent" => "from when a request was sent to its first event",
        "between" => "from an event to the next",
        "recovered" => "response time of requests that a retry saved",
        "connect" => "opening a connection, warm-up included",
        "handshake" => "full TLS handshakes",
        "resumed" => "resumed TLS handshakes",
        "lag" => "how late the client sent",
        "blocked" => "wait for a free connection",
        "departure" => "from the client to the kernel's sending",
        "network" => "from the kernel's sending to its receiving: network and server alone",
        "arrival" => "from the kernel's receiving to the client's reading",
        _ => "",
    }
}

/// Both clocks and those beside them, and the notes on them.
pub(super) fn clocks(result: &RunResult) -> (Table, Vec<String>) {
    let found = table(result, KernelRows::All);
    let headings = headings();
    let mut columns = vec![numbers("n", "n"), numbers("min", "min")];
    // The number of samples stands first here.
    columns
        .extend(headings.iter().filter(|heading| **heading != "n").map(|heading| numbers(heading, heading)));
    let caption = format!("Times of good responses in {}", found.unit.name);
    let mut clocks = Table::new("clocks", &caption, "clock", columns);
    for row in found.rows {
        let (samples, times) = row.cells.split_last().expect("invariant: a cell for each heading");
        let cells = [samples, &row.min].into_iter().chain(times).map(|cell| cell.clone().into());
        let head = Content::noted(row.name, meaning(row.name));
        clocks.row(row.name, head, cells.collect::<Vec<_>>());
    }
    (clocks, found.notes)
}

/// Thresholds and their outcomes.
pub(super) fn thresholds(thresholds: &[EvaluatedThreshold]) -> Option<Table> {
    if thresholds.is_empty() {
        return None;
    }
    let columns = vec![
        words("outcome", "outcome"),
        numbers("measured", "measured"),
        words("interval", "95 % interval"),
        numbers("n", "n"),
        words("note", "note"),
    ];
    let mut table = Table::new("thresholds", "Thresholds of the run", "threshold", columns);
    for (number, one) in thresholds.iter().enumerate() {
        let word = match one.outcome {
            ThresholdOutcome::Met => Word::new("good", "✓ met"),
            ThresholdOutcome::Missed => Word::new("bad", "✕ MISSED"),
            ThresholdOutcome::Undecided => Word::new("care", "▲ UNDECIDED"),
        };
        let samples = if one.samples > 0 { count(one.samples) } else { dash() };
        let cells = [
            Content::Word(word),
            threshold::measured(one).unwrap_or_else(dash).into(),
            threshold::interval(one).unwrap_or_else(dash).into(),
            samples.into(),
            threshold::note(one).unwrap_or_else(dash).into(),
        ];
        table.row(&number.to_string(), Content::Code(one.text.clone()), cells);
    }
    Some(table)
}

/// Stages of a rate that changes.
pub(super) fn stages(result: &RunResult) -> Option<Table> {
    let found = stage_rows::table(result)?;
    let columns = found.headings.iter().map(|heading| numbers(heading, heading)).collect();
    let caption = format!("Requests by the stage in which they were due; times in {}", found.unit);
    let mut table = Table::new("stages", &caption, "stage", columns);
    for (number, ((_, cells), stage)) in found.rows.into_iter().zip(&result.stages).enumerate() {
        table.row(&number.to_string(), stage.name.as_str(), cells.into_iter().map(Into::into));
    }
    Some(table)
}

/// Steps and flows, or routes, and notes on them.
pub(super) fn steps(result: &RunResult) -> Option<(Table, Vec<String>)> {
    let found = scenario::table(result)?;
    // Columns may share a heading: the place makes the key unique.
    let columns = found.headings.iter().enumerate();
    let columns = columns.map(|(place, heading)| numbers(&format!("{heading}-{place}"), heading)).collect();
    let of = if result.plan.replay.is_some() { "route" } else { "step" };
    let caption = format!("By {of}; times of its good responses in {}", found.unit);
    let mut table = Table::new("steps", &caption, of, columns);
    for (number, (name, cells)) in found.rows.into_iter().enumerate() {
        table.row(&number.to_string(), name.trim().to_owned(), cells.into_iter().map(Into::into));
    }
    Some((table, found.notes))
}

/// The slowest requests.
pub(super) fn slowest(result: &RunResult) -> Option<Table> {
    let (rows, unit) = slowest::rows(result);
    if rows.is_empty() {
        return None;
    }
    let columns = slowest::HEADINGS.into_iter().map(|heading| match heading {
        "status" => words(heading, heading),
        _ => numbers(heading, heading),
    });
    let columns = columns.chain([words("note", "note"), words("trace", "trace")]).collect();
    let caption = format!("The slowest requests by response time, and where it went; times in {unit}");
    let mut table = Table::new("slowest", &caption, "", columns);
    for (number, row) in rows.into_iter().enumerate() {
        let trace = match (row.link, row.trace) {
            (Some(link), Some(trace)) => Content::ExternalLink(link, trace),
            (None, Some(trace)) => Content::Code(trace),
            (_, None) => String::new().into(),
        };
        let cells = row.cells.into_iter().map(Content::from);
        let cells = cells.chain([row.notes.join(", ").into(), trace]).collect::<Vec<_>>();
        table.row(&number.to_string(), (number + 1).to_string(), cells);
    }
    Some(table)
}

/// The slowest traced requests, and how many there were.
pub(super) fn traces(result: &RunResult) -> Option<(Table, String)> {
    let summary = traces::summary(result)?;
    let (rows, unit) = traces::rows(result);
    let [response, service, status, sent, trace] = traces::HEADINGS;
    let columns = vec![
        numbers(response, response),
        numbers(service, service),
        words(status, status),
        words("sent", sent),
        words(trace, trace),
        words("note", "note"),
    ];
    let caption = format!("The slowest of the sampled requests; times in {unit}");
    let mut table = Table::new("traces", &caption, "", columns);
    for (number, row) in rows.into_iter().enumerate() {
        let [response, service, status, sent, trace] = row.cells;
        let trace = match row.link {
            Some(link) => Content::ExternalLink(link, trace),
            None => Content::Code(trace),
        };
        let cells =
            [response.into(), service.into(), status.into(), sent.into(), trace, row.notes.join(", ").into()];
        table.row(&number.to_string(), (number + 1).to_string(), cells);
    }
    Some((table, summary))
}

/// How punctually recorded requests were sent.
pub(super) fn replay(result: &RunResult) -> Option<Table> {
    let lateness = &result.replay.as_ref()?.lateness;
    let named = [("min", lateness.min_ms), ("mean", lateness.mean_ms), ("max", lateness.max_ms)];
    let quantile = |key: &str| lateness.quantiles_ms.get(key).copied().flatten();
    let shown = [
        named[0],
        ("p50", quantile("0.5")),
        ("p90", quantile("0.9")),
        ("p99", quantile("0.99")),
        ("p99.9", quantile("0.999")),
        named[2],
        named[1],
    ];
    let mut columns = vec![numbers("n", "n")];
    columns.extend(shown.map(|(name, _)| numbers(name, name)));
    let caption =
        "Lateness: from when a request was due by the file to when it was sent, ms, by the client's clock";
    let mut table = Table::new("lateness", caption, "", columns);
    let times = shown.map(|(_, value)| or_dash(value, crate::number::cell));
    let cells = [count(lateness.count)].into_iter().chain(times);
    table.row("lateness", "lateness", cells.map(Into::into));
    Some(table)
}

/// What of the file was not replayed, the most frequent reason first.
pub(super) fn left_out(result: &RunResult) -> Option<Table> {
    let replay = result.plan.replay.as_ref().filter(|replay| !replay.left_out.is_empty())?;
    let columns = vec![numbers("lines", "lines"), numbers("share", "share of the file")];
    let mut table = Table::new("left-out", "What of the file was left out, and why", "reason", columns);
    let mut reasons: Vec<(&String, &u64)> = replay.left_out.iter().collect();
    reasons.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
    for (number, (reason, lines)) in reasons.into_iter().enumerate() {
        let cells = [count(*lines), percent(*lines, replay.lines)];
        table.row(&number.to_string(), reason.as_str(), cells.map(Into::into));
    }
    Some(table)
}

/// What went wrong, by kind.
pub(super) fn failures(result: &RunResult) -> Option<Table> {
    let mut errors: Vec<_> = result.errors.iter().collect();
    errors.sort_by_key(|error| std::cmp::Reverse(error.count));
    if errors.is_empty() {
        return None;
    }
    let columns = vec![
        numbers("count", "count"),
        numbers("share", "share"),
        numbers("first", "first at"),
        words("example", "first example"),
    ];
    let caption = "Requests without a good response, by kind; shares are of all that were due";
    let mut table = Table::new("failures", caption, "kind", columns);
    for (number, error) in errors.into_iter().enumerate() {
        let cells = [
            count(error.count),
            percent(error.count, result.requests.intended),
            seconds(error.first_at_s),
            error.first_example.clone(),
        ];
        table.row(&number.to_string(), error.kind.description(), cells.map(Into::into));
    }
    Some(table)
}

/// Complete responses by status code, where there is more than one.
pub(super) fn statuses(result: &RunResult) -> Option<Table> {
    failures::statuses(result)?;
    let columns = vec![numbers("count", "count"), numbers("share", "share of the responses")];
    let mut table = Table::new("statuses", "Complete responses by status", "status", columns);
    let all = result.statuses.values().fold(0, |sum: u64, count| sum.saturating_add(*count));
    for (status, number) in &result.statuses {
        let cells = [count(*number), percent(*number, all)];
        table.row(&status.to_string(), status_name(*status), cells.map(Into::into));
    }
    Some(table)
}

/// The agents of a load.
pub(super) fn agents(found: &AgentTable) -> Agents {
    let columns = found.headings.iter().map(|heading| numbers(heading, heading)).collect();
    let caption = format!("Agents; times in {}, their start and clock against the leader's", found.unit);
    let mut table = Table::new("agents", &caption, "agent", columns);
    for (number, (name, cells)) in found.rows.iter().enumerate() {
        table.row(&number.to_string(), name.as_str(), cells.iter().map(|cell| cell.clone().into()));
    }
    let mut notes = found.absences.clone();
    notes.extend(found.start.clone());
    if found.more > 0 {
        notes.push(format!("{} more: -o csv has them all.", plural(found.more as u64, "agent")));
    }
    Agents { table, notes }
}
