//! The cells: what each was, what it measured, with intervals and how much stands behind them.

use prony_model::{LoadKind, StudyCell, StudyMetric, StudyResult, Verdict};

use super::super::facts::{self, bare, figure};
use super::super::searches::lines as search_lines;
use super::super::sessions::{self, Part};
use super::format::{self, figure_cell};
use super::table::{Column, Content, Table, numbers, words};
use crate::capacity;
use crate::number::{count, percent};

/// The cells of one kind of load.
pub(super) struct Measured {
    pub(super) table: Table,
    /// What limited each load, by its name.
    pub(super) limiters: Vec<(String, String)>,
    /// Why numbers or intervals are missing.
    pub(super) notes: Vec<String>,
    pub(super) runs: Option<Table>,
    /// Steps and flows of the loads that are scenarios, and the agents of those that were shared, each with why numbers
    /// are missing.
    pub(super) parts: Vec<(Table, Vec<String>)>,
}

/// The cells of each kind of load that the study has.
pub(super) fn measured(result: &StudyResult) -> Vec<Measured> {
    let kinds =
        [LoadKind::Run, LoadKind::Exec, LoadKind::Probe, LoadKind::Capacity].into_iter().map(|kind| {
            let cells = result.cells.iter().enumerate().filter(|(_, cell)| cell.kind == kind);
            (kind, cells.collect::<Vec<_>>())
        });
    kinds.filter(|(_, cells)| !cells.is_empty()).map(|(kind, cells)| of_kind(kind, &cells)).collect()
}

fn of_kind(kind: LoadKind, cells: &[(usize, &StudyCell)]) -> Measured {
    let all: Vec<&StudyCell> = cells.iter().map(|(_, cell)| *cell).collect();
    let metrics = metrics(kind, &all);
    let (what, of) = match kind {
        LoadKind::Run => ("Loads", "response times in ms"),
        LoadKind::Exec => ("Commands", "times in ms"),
        LoadKind::Probe => ("Probes", "medians in ms"),
        LoadKind::Capacity => ("Capacities", "per second"),
    };
    let below = match kind {
        LoadKind::Capacity => "below each its bounds, of all searches together",
        _ => "below each its 95 % interval, from the differences between runs unless it says otherwise",
    };
    let caption = format!("{what}: medians over the runs, {of}; {below}");
    // All kinds share the prefix, so that a link needs only the number of the cell.
    let mut table = Table::new("cells", &caption, "cell", columns(kind, &metrics))
        .named(&format!("cells-{}", kind.name()));
    for (index, cell) in cells {
        let head = Content::noted(cell.name.as_str(), cell.load.as_str());
        table.row(&index.to_string(), head, row(cell, &metrics));
    }
    let steps = cells.iter().flat_map(|(index, cell)| parts(*index, cell));
    let agents = cells.iter().filter_map(|(index, cell)| agents(*index, cell));
    Measured {
        table,
        limiters: all.iter().filter_map(|cell| Some((cell.name.clone(), facts::limiter(cell)?))).collect(),
        notes: notes(&all, &metrics),
        runs: every_run(kind, cells, &metrics),
        parts: steps.chain(agents).chain(searches(cells)).collect(),
    }
}

/// Each number that any of `cells` has.
fn metrics(kind: LoadKind, cells: &[&StudyCell]) -> Vec<StudyMetric> {
    let of_kind = StudyMetric::ALL.into_iter();
    let of_kind = of_kind.filter(|metric| metric.kind() == kind && *metric != StudyMetric::Success);
    of_kind.filter(|metric| facts::is_shown(*metric, cells.iter().copied())).collect()
}

/// A column for each of `metrics`, and those that every table of cells has.
fn columns(kind: LoadKind, metrics: &[StudyMetric]) -> Vec<Column> {
    let good = counts_requests(kind).then(|| numbers("good", "good"));
    let of_metrics = metrics.iter().map(|metric| column(*metric));
    let all = std::iter::once(numbers("runs", "runs")).chain(good).chain(of_metrics);
    all.chain([numbers("n", "n")]).collect()
}

/// Whether the share of good requests or executions means something: a probe has few, a search goes too far on purpose.
fn counts_requests(kind: LoadKind) -> bool {
    matches!(kind, LoadKind::Run | LoadKind::Exec)
}

/// What stands in these columns of `cell`.
fn row(cell: &StudyCell, metrics: &[StudyMetric]) -> Vec<Content> {
    let good = counts_requests(cell.kind).then(|| good(cell));
    let of_metrics = metrics.iter().map(|metric| figure_cell(figure(cell, *metric)));
    let all = std::iter::once(runs(cell)).chain(good).chain(of_metrics);
    all.chain([count(samples(cell)).into()]).collect()
}

fn notes(cells: &[&StudyCell], metrics: &[StudyMetric]) -> Vec<String> {
    let shown: Vec<facts::Column> = metrics.iter().map(|metric| facts::Column::Value(*metric)).collect();
    facts::notes(cells, &shown)
}

/// Each agent's share of one load.
fn agents(index: usize, cell: &StudyCell) -> Option<(Table, Vec<String>)> {
    let found = cell.agents.as_ref()?;
    let shares: Vec<&StudyCell> = found.shares.iter().collect();
    let metrics = metrics(LoadKind::Run, &shares);
    let caption = format!(
        "Agents of {}: {}; each one's share of the load, response times in ms",
        cell.name,
        facts::together(found)
    );
    let columns = columns(LoadKind::Run, &metrics);
    let mut table = Table::new(&format!("agents-{index}"), &caption, "agent", columns);
    for (place, share) in shares.iter().enumerate() {
        table.row(&place.to_string(), Content::from(share.name.as_str()), row(share, &metrics));
    }
    Some((table, notes(&shares, &metrics)))
}

/// Stages, steps and flows of one load.
fn parts(index: usize, cell: &StudyCell) -> Vec<(Table, Vec<String>)> {
    sessions::parts(cell)
        .iter()
        .map(|part| (of_part(index, cell, part), sessions::notes(&part.rows)))
        .collect()
}

fn of_part(index: usize, cell: &StudyCell, part: &Part<'_>) -> Table {
    let mut columns: Vec<Column> =
        sessions::COLUMNS.iter().map(|(key, heading, ..)| numbers(key, heading)).collect();
    columns.extend([numbers("success", "success"), numbers("n", "n"), numbers("failed", "failed")]);
    let caption = format!(
        "{} of {}: {}; response times in ms, from when a {} was due, and service times, from when it was sent; below \
         each its 95 % interval",
        part.many,
        cell.name,
        part.summary,
        if part.id == "steps" { "step" } else { "request" },
    );
    let mut table = Table::new(&format!("{}-{index}", part.id), &caption, part.one, columns);
    for (place, row) in part.rows.iter().enumerate() {
        let times =
            sessions::COLUMNS.iter().map(|(.., time, metric)| figure_cell(row.figure(*time, *metric)));
        let cells = times.chain([figure_cell(row.success), count(row.done).into(), count(row.failed).into()]);
        let head = if row.about.is_empty() {
            Content::from(row.name.trim())
        } else {
            Content::noted(row.name.as_str(), row.about.as_str())
        };
        table.row(&place.to_string(), head, cells.collect::<Vec<Content>>());
    }
    table
}

/// The outcome of each search.
fn searches(cells: &[(usize, &StudyCell)]) -> Option<(Table, Vec<String>)> {
    let columns = vec![
        numbers("repeat", "repeat"),
        words("outcome", "outcome"),
        words("rests-on", "rests on"),
        numbers("trials", "trials"),
        words("file", "file"),
    ];
    let mut table = Table::new("searches", "The outcome of each search", "cell", columns);
    for (index, cell) in cells {
        for (place, (search, line)) in cell.searches.iter().zip(search_lines(cell)).enumerate() {
            let row = [
                search.repeat.to_string().into(),
                line.into(),
                capacity::basis(&search.result).map_or_else(Content::dash, Content::from),
                count(search.result.trials.len() as u64).into(),
                Content::Code(search.file.clone()),
            ];
            let class = if search.is_partial { "unused" } else { "" };
            table.row_of(&format!("{index}-{place}"), class, cell.name.as_str(), row);
        }
    }
    (table.len() > 0).then(|| (table, Vec::new()))
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
        StudyMetric::Capacity => "capacity /s",
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
        numbers("requests", if kind == LoadKind::Capacity { "trials" } else { "n" }),
        numbers("failed", if kind == LoadKind::Capacity { "void" } else { "failed" }),
    ];
    columns.extend(metrics.iter().map(|metric| column(*metric)));
    columns.push(words("verdict", "verdict"));
    columns.push(words("file", "file"));
    let id = format!("runs-{}", kind.name());
    let mut table = Table::new(&id, "Every run", "cell", columns);
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
