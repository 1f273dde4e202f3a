//! The cells: what each was, what it measured, with intervals and how much stands behind them.

use std::fmt::Write as _;

use prony_model::{LoadKind, StudyCell, StudyMetric, StudyResult, Verdict};

use super::super::facts::{self, bare, figure};
use super::format::{figure_cell, paragraphs};
use super::table::{Column, Html, Table, dash, numbers};
use crate::number::{count, percent};
use crate::svg::escaped;

/// Tables, one for each kind of load.
pub(super) fn section(result: &StudyResult) -> String {
    let mut html = "<section id=\"measured\">\n<h2>What was measured</h2>\n".to_owned();
    for kind in [LoadKind::Run, LoadKind::Exec, LoadKind::Probe] {
        let cells: Vec<(usize, &StudyCell)> =
            result.cells.iter().enumerate().filter(|(_, cell)| cell.kind == kind).collect();
        if !cells.is_empty() {
            html.push_str(&of_kind(kind, &cells));
        }
    }
    html.push_str("</section>\n");
    for text in &result.texts {
        // Writing to a `String` can't fail, here and below.
        let _ = write!(
            html,
            "<section>\n<h2>{}</h2>\n{}</section>\n",
            escaped(&text.title),
            paragraphs(&text.body)
        );
    }
    html
}

fn of_kind(kind: LoadKind, cells: &[(usize, &StudyCell)]) -> String {
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
        let head = Html::with_more(&cell.name, "", &cell.load);
        table.row(&index.to_string(), &head, &row);
    }
    let mut html = table.finish();
    html.push_str(&limiters(cells));
    let shown: Vec<facts::Column> = metrics.iter().map(|metric| facts::Column::Value(*metric)).collect();
    let notes = facts::notes(&cells.iter().map(|(_, cell)| *cell).collect::<Vec<_>>(), &shown);
    if !notes.is_empty() {
        let notes: Vec<String> = notes.iter().map(|note| format!("<li>{}</li>\n", escaped(note))).collect();
        let _ = write!(
            html,
            "<details><summary>Why numbers or intervals are missing</summary>\n<ul>\n{}</ul></details>\n",
            notes.concat()
        );
    }
    html.push_str(&every_run(kind, cells, &metrics));
    html
}

/// What limited each cell.
fn limiters(cells: &[(usize, &StudyCell)]) -> String {
    let named = cells.iter().filter_map(|(_, cell)| Some((*cell, facts::limiter(cell)?)));
    let items: Vec<String> = named
        .map(|(cell, limiter)| format!("<dt>{}</dt>\n<dd>{}</dd>\n", escaped(&cell.name), escaped(&limiter)))
        .collect();
    if items.is_empty() {
        return String::new();
    }
    format!("<h3>What limited each load</h3>\n<dl class=\"limiters\">\n{}</dl>\n", items.concat())
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
fn runs(cell: &StudyCell) -> Html {
    let counted = cell.runs.iter().filter(|run| run.verdict != Verdict::Invalid).count() as u64;
    let doubtful = cell.runs.iter().filter(|run| run.verdict == Verdict::Doubtful).count();
    let mark = if doubtful > 0 {
        format!("<span class=\"i care\">▲ {doubtful} doubtful</span>")
    } else {
        String::new()
    };
    if counted == u64::from(cell.planned) {
        return Html::markup(format!("{counted}{mark}"));
    }
    Html::markup(format!("{counted}<span class=\"i bad\">✕ of {}</span>{mark}", cell.planned))
}

/// Good of all requests, of every run.
fn good(cell: &StudyCell) -> Html {
    let requests: u64 = cell.runs.iter().map(|run| run.requests).fold(0, u64::saturating_add);
    let failed: u64 = cell.runs.iter().map(|run| run.failed).fold(0, u64::saturating_add);
    if requests == 0 {
        return dash();
    }
    let share = percent(requests.saturating_sub(failed), requests);
    if failed == 0 {
        share.into()
    } else {
        Html::with_more(&share, "bad", &format!("✕ {} failed", count(failed)))
    }
}

/// Every run, folded.
fn every_run(kind: LoadKind, cells: &[(usize, &StudyCell)], metrics: &[StudyMetric]) -> String {
    let mut columns = vec![
        numbers("repeat", "repeat"),
        numbers("place", "place in order"),
        numbers("requests", "n"),
        numbers("failed", "failed"),
    ];
    columns.extend(metrics.iter().map(|metric| column(*metric)));
    columns.push(super::table::words("verdict", "verdict"));
    columns.push(super::table::words("file", "file"));
    let id = match kind {
        LoadKind::Run => "runs-run",
        LoadKind::Exec => "runs-exec",
        LoadKind::Probe => "runs-probe",
    };
    let mut table = Table::new(id, "Every run", "cell", columns);
    let mut all = 0;
    for (index, cell) in cells {
        for run in &cell.runs {
            let mut row: Vec<Html> =
                [run.repeat.to_string(), run.place.to_string(), count(run.requests), count(run.failed)]
                    .map(Html::from)
                    .into();
            row.extend(metrics.iter().map(|metric| {
                run.figures.get(metric).map_or_else(dash, |number| bare(*metric, *number).into())
            }));
            row.push(Html::markup(super::format::verdict(run.verdict).to_owned()));
            row.push(Html::markup(format!("<code>{}</code>", escaped(&run.file))));
            let class = if run.verdict == Verdict::Invalid { "unused" } else { "" };
            table.row_of(&format!("{index}-{}", run.repeat), class, &cell.name.as_str().into(), &row);
            all += 1;
        }
    }
    if all == 0 {
        return String::new();
    }
    format!("<details><summary>Every run ({all})</summary>\n{}</details>\n", table.finish())
}
