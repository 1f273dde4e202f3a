//! The cells: what each was, what it measured, with intervals and how much stands behind them.

use prony_model::{LoadKind, StudyCell, StudyMetric, StudyResult, Verdict};

use super::super::facts::{self, bare, figure};
use super::super::sessions;
use super::format::{self, figure_cell};
use super::table::{Column, Content, Table, numbers, words};
use crate::number::{count, percent};

/// The cells of one kind of load.
pub(super) struct Measured {
    pub(super) table: Table,
    /// What limited each load, by its name.
    pub(super) limiters: Vec<(String, String)>,
    /// Why numbers or intervals are missing.
    pub(super) notes: Vec<String>,
    pub(super) runs: Option<Table>,
    /// Steps and flows of the loads that are scenarios, each with why numbers are missing.
    pub(super) sessions: Vec<(Table, Vec<String>)>,
}

/// The cells of each kind of load that the study has.
pub(super) fn measured(result: &StudyResult) -> Vec<Measured> {
    let kinds = [LoadKind::Run, LoadKind::Exec, LoadKind::Probe].into_iter().map(|kind| {
        let cells = result.cells.iter().enumerate().filter(|(_, cell)| cell.kind == kind);
        (kind, cells.collect::<Vec<_>>())
    });
    kinds.filter(|(_, cells)| !cells.is_empty()).map(|(kind, cells)| of_kind(kind, &cells)).collect()
}

fn of_kind(kind: LoadKind, cells: &[(usize, &StudyCell)]) -> Measured {
    // A column for each number that any of them has.
    let metrics: Vec<StudyMetric> = StudyMetric::ALL
        .into_iter()
        .filter(|metric| metric.kind() == kind && *metric != StudyMetric::Success)
        .filter(|metric| facts::is_shown(*metric, cells.iter().map(|(_, cell)| *cell)))
        .collect();
    let mut columns = vec![numbers("runs", "runs")];
    if kind != LoadKind::Probe {
        columns.push(numbers("good", "good"));
    }
    columns.extend(metrics.iter().map(|metric| column(*metric)));
    columns.push(numbers("n", "n"));
    let (what, of) = match kind {
        LoadKind::Run => ("Loads", "response times in ms"),
        LoadKind::Exec => ("Commands", "times in ms"),
        LoadKind::Probe => ("Probes", "medians in ms"),
    };
    let caption = format!(
        "{what}: medians over the runs, {of}; below each its 95 % interval, from the differences between runs unless \
         it says otherwise"
    );
    // All kinds share the prefix, so that a link needs only the number of the cell.
    let mut table = Table::new("cells", &caption, "cell", columns).named(match kind {
        LoadKind::Run => "cells-run",
        LoadKind::Exec => "cells-exec",
        LoadKind::Probe => "cells-probe",
    });
    for (index, cell) in cells {
        let mut row = vec![runs(cell)];
        if kind != LoadKind::Probe {
            row.push(good(cell));
        }
        row.extend(metrics.iter().map(|metric| figure_cell(figure(cell, *metric))));
        row.push(count(samples(cell)).into());
        table.row(&index.to_string(), Content::noted(cell.name.as_str(), cell.load.as_str()), row);
    }
    let shown: Vec<facts::Column> = metrics.iter().map(|metric| facts::Column::Value(*metric)).collect();
    let all: Vec<&StudyCell> = cells.iter().map(|(_, cell)| *cell).collect();
    Measured {
        table,
        limiters: all.iter().filter_map(|cell| Some((cell.name.clone(), facts::limiter(cell)?))).collect(),
        notes: facts::notes(&all, &shown),
        runs: every_run(kind, cells, &metrics),
        sessions: cells.iter().filter_map(|(index, cell)| steps(*index, cell)).collect(),
    }
}

/// Steps and flows of one load.
fn steps(index: usize, cell: &StudyCell) -> Option<(Table, Vec<String>)> {
    let found = cell.scenario.as_ref()?;
    let mut columns: Vec<Column> =
        sessions::COLUMNS.iter().map(|(key, heading, ..)| numbers(key, heading)).collect();
    columns.extend([numbers("success", "success"), numbers("n", "n"), numbers("failed", "failed")]);
    let caption = format!(
        "Steps of {}: {}; response times in ms, from when a step was due, and service times, from when it was sent; \
         below each its 95 % interval",
        cell.name,
        sessions::sessions(found)
    );
    let mut table = Table::new(&format!("steps-{index}"), &caption, "step", columns);
    for (place, row) in sessions::rows(found).iter().enumerate() {
        let times =
            sessions::COLUMNS.iter().map(|(.., time, metric)| figure_cell(row.figure(*time, *metric)));
        let cells = times.chain([figure_cell(row.success), count(row.done).into(), count(row.failed).into()]);
        let head = if row.request.is_empty() {
            Content::from(row.name.trim())
        } else {
            Content::noted(row.name.as_str(), row.request)
        };
        table.row(&place.to_string(), head, cells.collect::<Vec<Content>>());
    }
    Some((table, sessions::notes(found)))
}

/// Requests or executions behind the figures: not the connections, those of the warm-up among them.
fn samples(cell: &StudyCell) -> u64 {
    let of_requests = cell.figures.iter().filter(|figure| figure.metric != StudyMetric::Connect);
    of_requests.map(|figure| figure.samples).max().unwrap_or_default()
}

fn column(metric: StudyMetric) -> Column {
    let heading = match metric {
        StudyMetric::Rate => "good /s",
        StudyMetric::Total => "total, s",
        StudyMetric::Memory => "memory, MiB",
        StudyMetric::CpuPerRequest => "server CPU, µs",
        StudyMetric::ServerMemory => "server memory, MiB",
        metric => metric.name(),
    };
    numbers(metric.name(), heading)
}

/// Runs that count, of those that were planned.
fn runs(cell: &StudyCell) -> Content {
    let of = |verdict| cell.runs.iter().filter(move |run| run.verdict == verdict).count();
    let counted = cell.runs.len() - of(Verdict::Invalid);
    let doubtful = of(Verdict::Doubtful);
    let mut notes = Vec::new();
    if counted as u64 != u64::from(cell.planned) {
        notes.push(("i bad", format!("✕ of {}", cell.planned)));
    }
    if doubtful > 0 {
        notes.push(("i care", format!("▲ {doubtful} doubtful")));
    }
    Content::Noted(counted.to_string(), notes)
}

/// Good of all requests, of every run.
fn good(cell: &StudyCell) -> Content {
    let requests: u64 = cell.runs.iter().map(|run| run.requests).fold(0, u64::saturating_add);
    let failed: u64 = cell.runs.iter().map(|run| run.failed).fold(0, u64::saturating_add);
    if requests == 0 {
        return Content::dash();
    }
    let share = percent(requests.saturating_sub(failed), requests);
    if failed == 0 {
        share.into()
    } else {
        Content::Noted(share, vec![("i bad", format!("✕ {} failed", count(failed)))])
    }
}

/// Every run; `None` without any.
fn every_run(kind: LoadKind, cells: &[(usize, &StudyCell)], metrics: &[StudyMetric]) -> Option<Table> {
    let mut columns = vec![
        numbers("repeat", "repeat"),
        numbers("place", "place in order"),
        numbers("requests", "n"),
        numbers("failed", "failed"),
    ];
    columns.extend(metrics.iter().map(|metric| column(*metric)));
    columns.push(words("verdict", "verdict"));
    columns.push(words("file", "file"));
    let id = match kind {
        LoadKind::Run => "runs-run",
        LoadKind::Exec => "runs-exec",
        LoadKind::Probe => "runs-probe",
    };
    let mut table = Table::new(id, "Every run", "cell", columns);
    for (index, cell) in cells {
        for run in &cell.runs {
            let mut row: Vec<Content> =
                [run.repeat.to_string(), run.place.to_string(), count(run.requests), count(run.failed)]
                    .map(Content::from)
                    .into();
            row.extend(metrics.iter().map(|metric| {
                run.figures.get(metric).map_or_else(Content::dash, |number| bare(*metric, *number).into())
            }));
            row.push(Content::Word(format::verdict(run.verdict)));
            row.push(Content::Code(run.file.clone()));
            let class = if run.verdict == Verdict::Invalid { "unused" } else { "" };
            table.row_of(&format!("{index}-{}", run.repeat), class, cell.name.as_str(), row);
        }
    }
    (table.len() > 0).then_some(table)
}
