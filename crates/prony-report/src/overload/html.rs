//! An overload as one page that needs nothing else: no script, no network, no file beside it. Its parts are those of a study's
//! page.

use askama::Template;
use prony_model::{Finding, OverloadResult, OverloadRun};

use super::chart;
use super::facts::{self, COLUMNS};
use crate::number::{cell, count, or_dash};
use crate::study::{
    Figure, STYLE, STYLE_HASH, Table, Word, machine_table, numbers, severity, verdict_word, words,
};

/// A whole page.
#[derive(Template)]
#[template(path = "overload.html")]
struct Page<'a> {
    style: &'static str,
    style_hash: &'static str,
    target: String,
    verdict: Word,
    answers: Vec<(&'static str, String)>,
    circumstances: String,
    runs: Vec<Run>,
    findings: Vec<(Word, &'a Finding)>,
    notes: &'a [String],
    machine: Table,
}

/// A run on the page.
struct Run {
    clients: &'static str,
    phases: Table,
    details: Vec<(&'static str, String)>,
    figure: Option<Figure>,
}

/// The page. Whatever text the result brings is escaped.
pub fn html(result: &OverloadResult) -> String {
    let runs = result.runs.iter().enumerate().map(|(number, run)| Run {
        clients: facts::clients(run),
        phases: phases(run, number),
        details: facts::details(run),
        figure: figure(result, run, number),
    });
    let page = Page {
        style: STYLE,
        style_hash: STYLE_HASH,
        target: result.plan.target.to_string(),
        verdict: verdict_word(result.verdict),
        answers: result.runs.iter().map(|run| facts::answer(result, run)).collect(),
        circumstances: facts::manner(result).join(" · "),
        runs: runs.collect(),
        findings: result.findings.iter().map(|finding| (severity(finding.severity), finding)).collect(),
        notes: &result.notes,
        machine: machine_table("The machine, as the first load found it", &result.environment),
    };
    page.to_string()
}

fn phases(run: &OverloadRun, number: usize) -> Table {
    let mut columns: Vec<_> = COLUMNS.iter().map(|heading| numbers(heading, heading)).collect();
    columns.push(words("not good", "not good"));
    let caption = format!("Requests {}, by when they were due", facts::clients(run));
    let mut table = Table::new(&format!("phases-{number}"), &caption, "phase", columns);
    for phase in &run.phases {
        let cells = facts::cells(phase).into_iter().chain([facts::failures(phase)]);
        table.row(phase.phase.name(), phase.phase.name(), cells.map(Into::into));
    }
    table
}

fn figure(result: &OverloadResult, run: &OverloadRun, number: usize) -> Option<Figure> {
    let panels = chart::charts(result, run, number);
    if panels.is_empty() {
        return None;
    }
    let columns = ["offered", "good", "under way at the end", "p50 ms", "max ms"];
    let mut table = Table::new(
        &format!("course-{number}"),
        &format!("The parts behind the chart, {}", facts::clients(run)),
        "from s",
        columns.map(|heading| numbers(heading, heading)).into(),
    );
    for (place, part) in run.course.iter().enumerate() {
        let time = |value: Option<f64>| or_dash(value, cell);
        let cells = [
            count(part.offered),
            count(part.good),
            count(part.outstanding),
            time(part.p50_ms),
            time(part.max_ms),
        ];
        table.row(&place.to_string(), cell(part.from_s), cells.map(Into::into));
    }
    let (answer, sentence) = facts::answer(result, run);
    Some(Figure {
        id: format!("chart-overload-{number}"),
        title: format!("{answer}: {sentence}"),
        caption: "Each point is a part of the run, and has the requests that were due in it. Shaded: the pulse. Marked: the \
                  moment from which on requests were as good as before."
            .to_owned(),
        legend: chart::legend(),
        panels,
        table,
        open: false,
    })
}
