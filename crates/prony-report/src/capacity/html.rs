//! A search as one page that needs nothing else: no script, no network, no file beside it. Its parts are those of a study's
//! page.

use askama::Template;
use prony_model::{CapacityResult, Finding};

use super::chart;
use super::facts::{self, COLUMNS};
use crate::study::{
    Figure, STYLE, STYLE_HASH, Table, Word, machine_table, numbers, severity, verdict_word, words,
};

/// A whole page.
#[derive(Template)]
#[template(path = "capacity.html")]
struct Page<'a> {
    style: &'static str,
    style_hash: &'static str,
    target: String,
    verdict: Word,
    answer: &'static str,
    sentence: String,
    circumstances: String,
    facts: Vec<String>,
    charts: &'static str,
    figure: Option<Figure>,
    trials: Table,
    findings: Vec<(Word, &'a Finding)>,
    notes: &'a [String],
    machine: Table,
}

/// The page. Whatever text the result brings is escaped.
pub fn html(result: &CapacityResult) -> String {
    let (answer, sentence) = facts::answer(result);
    let lines = [
        facts::basis(result),
        facts::law(result),
        facts::limiter(result).map(|limiter| format!("What limits it: {limiter}")),
        facts::peak(result),
    ];
    let page = Page {
        style: STYLE,
        style_hash: STYLE_HASH,
        target: result.plan.target.to_string(),
        verdict: verdict_word(result.verdict),
        answer,
        sentence,
        circumstances: facts::manner(result).join(" · "),
        facts: lines.into_iter().flatten().collect(),
        charts: "The chart",
        figure: figure(result, "chart-capacity"),
        trials: trials(result, "trial"),
        findings: result.findings.iter().map(|finding| (severity(finding.severity), finding)).collect(),
        notes: &result.notes,
        machine: machine_table("The machine, as the first load found it", &result.environment),
    };
    page.to_string()
}

fn figure(result: &CapacityResult, id: &str) -> Option<Figure> {
    let drawing = chart::chart(result, id)?;
    let (answer, sentence) = facts::answer(result);
    let caption = match result.method.varied {
        prony_model::Varied::Rate => {
            "Response times (solid) and service times (dashed) of the trials against the load that was offered, medians \
             where a load was tried several times. A circle passed, a triangle failed, a hollow circle is void: it \
             does not count against the server. Shaded: the bounds of the capacity."
        }
        prony_model::Varied::Users => {
            "Good responses per second against the number of users; the line is the universal scalability law, dotted its \
             95 % interval. A hollow circle is a void trial."
        }
    };
    let mut table = Table::new("loads", "The trials behind the chart, in the order of time", "offered", {
        let mut columns: Vec<_> = COLUMNS[1..].iter().map(|heading| numbers(heading, heading)).collect();
        columns.push(words("outcome", "outcome"));
        columns
    });
    for (place, trial) in result.trials.iter().enumerate() {
        let cells = facts::cells(trial);
        let outcome = trial.outcome.name().to_owned();
        let cells = cells[1..].iter().cloned().chain([outcome]).map(Into::into);
        table.row(&place.to_string(), facts::offered(trial), cells);
    }
    Some(Figure {
        id: id.to_owned(),
        title: format!("{answer}: {sentence}"),
        caption: caption.to_owned(),
        legend: chart::legend(result),
        panels: vec![(String::new(), drawing)],
        table,
        open: false,
    })
}

/// The chart of one search of several, called `name`, with every trial; `id` is the page's only one.
pub(crate) fn named_figure(result: &CapacityResult, id: &str, name: &str) -> Option<Figure> {
    let figure = figure(result, id)?;
    let title = format!("{name}: {}", figure.title);
    Some(Figure { title, table: trials(result, &format!("{id}-trial")), ..figure })
}

/// Every trial and why it came out as it did.
fn trials(result: &CapacityResult, id: &str) -> Table {
    let mut columns = vec![numbers("offered", COLUMNS[0]), words("outcome", "outcome"), words("why", "why")];
    columns.extend(COLUMNS[1..].iter().map(|heading| numbers(heading, heading)));
    let mut table = Table::new(id, "Trials in the order of time", "trial", columns);
    for (place, trial) in result.trials.iter().enumerate() {
        let [offered, others @ ..] = facts::cells(trial);
        let number = (place + 1).to_string();
        let why = facts::why(trial);
        let cells = [offered, facts::mark(trial.outcome).to_owned(), why].into_iter().chain(others);
        table.row(&number, format!("{number} {}", trial.purpose.name()), cells.map(Into::into));
    }
    table
}
