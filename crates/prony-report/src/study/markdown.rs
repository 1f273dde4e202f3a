//! A study as Markdown, complete: every number with its interval, every run's verdict, and the file itself.

use std::fmt::Write as _;

use prony_model::{StudyCell, StudyFigure, StudyResult, StudyRun, StudyThreshold, Verdict};

use super::facts::{self, Column, Group};
use super::searches;
use super::sessions::{self, Part};
use crate::capacity;
use crate::clean::clean;
use crate::compare;
use crate::facts::verdict_word;
use crate::markdown::{escaped, sentence, strong};
use crate::number::{count, dash, or_dash};
use crate::threshold;

/// The report of a study.
pub fn markdown(result: &StudyResult) -> String {
    let choices: Vec<String> = facts::choices(result).iter().map(|part| escaped(part)).collect();
    let mut text = format!("# {}\n\n{}\n", escaped(&result.title), choices.join(" · "));
    let _ = write!(text, "\n**{}** {}\n", verdict_word(result.verdict), escaped(&facts::grounds(result)));
    text.push_str(&thresholds(result));
    text.push_str(&failures(result));
    text.push_str(&paragraphs(&result.intro));
    for section in &result.texts {
        let _ = write!(text, "\n## {}\n{}", escaped(&section.title), paragraphs(&section.body));
    }
    text.push_str("\n## Measured\n");
    for group in facts::groups(result).into_iter().chain(facts::by_agent(result)) {
        text.push_str(&table(&group));
    }
    text.push_str(&comparisons(result));
    text.push_str(&published(result));
    text.push_str(&findings(result));
    text.push_str(&record(result));
    text
}

/// Text of the file as paragraphs, with nothing in it taken for markup.
fn paragraphs(body: &str) -> String {
    let mut text = String::new();
    for paragraph in body.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty()) {
        let lines: Vec<String> = paragraph.lines().map(escaped).collect();
        let _ = write!(text, "\n{}\n", lines.join("\n"));
    }
    text
}

fn thresholds(result: &StudyResult) -> String {
    if result.thresholds.is_empty() {
        return String::new();
    }
    let (names, sides): (Vec<&str>, Vec<&str>) = threshold::HEADINGS.into_iter().unzip();
    let mut text = format!("\n| | cell | {} |\n|:--|:--|{}|\n", names.join(" | "), sides.join("|"));
    for StudyThreshold { cell, evaluated } in &result.thresholds {
        let word = strong(threshold::outcome_word(evaluated.outcome));
        let cell = escaped(facts::cell_name(result, *cell));
        // Writing to a `String` can't fail.
        let _ = writeln!(text, "| {word} | {cell} | {} |", threshold::columns(evaluated).join(" | "));
    }
    text
}

fn failures(result: &StudyResult) -> String {
    let mut text = String::new();
    for failure in &result.failures {
        let name = escaped(facts::cell_name(result, failure.cell));
        let _ = write!(text, "\n**FAILED** {name}, repeat {}: {}\n", failure.repeat, escaped(&failure.why));
        if !failure.log_tail.trim().is_empty() {
            let _ = write!(text, "\n{}", indented(&failure.log_tail));
        }
    }
    text
}

/// Text as it is: no fence inside it can end a block that is set in.
fn indented(body: &str) -> String {
    let lines: Vec<String> = body.lines().map(|line| format!("    {}\n", clean(line))).collect();
    lines.concat()
}

fn table(group: &Group) -> String {
    let columns: Vec<Column> = facts::columns(group.kind, true)
        .into_iter()
        .filter(|column| column.is_needed(&group.cells))
        .collect();
    let heading = |column: &Column| {
        let (heading, unit) = (column.heading(), column.unit());
        if unit.is_empty() { heading } else { format!("{heading}, {unit}") }
    };
    let headings: Vec<String> = columns.iter().map(heading).collect();
    let mut text = String::new();
    if !group.title.is_empty() {
        let _ = write!(text, "\n{}\n", escaped(&group.title));
    }
    let _ = write!(text, "\n| | {} |\n|:--|{}\n", headings.join(" | "), "--:|".repeat(columns.len()));
    for cell in &group.cells {
        let cells: Vec<String> = columns.iter().map(|column| full(*column, cell)).collect();
        let _ = writeln!(text, "| {} | {} |", escaped(&cell.name), cells.join(" | "));
    }
    for cell in &group.cells {
        for part in sessions::parts(cell) {
            text.push_str(&parts_of(cell, &part));
        }
    }
    text.push_str(&searches_of(&group.cells));
    let failures = group.cells.iter().filter_map(|cell| facts::failures(cell));
    let failures = failures.map(|failures| format!("failed in {failures}"));
    let limiters = group.cells.iter().filter_map(|cell| Some((cell, facts::limiter(cell)?)));
    let limiters = limiters.map(|(cell, limiter)| format!("limiter of {}: {limiter}", cell.name));
    let notes: Vec<String> = limiters.chain(failures).chain(facts::notes(&group.cells, &columns)).collect();
    if !notes.is_empty() {
        text.push('\n');
    }
    for note in notes {
        let _ = writeln!(text, "- {}", escaped(&note));
    }
    text
}

/// Every search with its trials, which are shown on demand.
fn searches_of(cells: &[&StudyCell]) -> String {
    let mut text = String::new();
    for cell in cells {
        for (search, line) in cell.searches.iter().zip(searches::lines(cell)) {
            let trials = capacity::trials_table(&search.result);
            let _ = write!(text, "\n**{}** {}\n", escaped(&cell.name), escaped(&line));
            let _ = write!(text, "\n<details><summary>Every trial</summary>\n\n{trials}\n</details>\n");
        }
    }
    text
}

/// Steps and flows, or the stages, of one cell.
fn parts_of(cell: &StudyCell, part: &Part<'_>) -> String {
    let headings: Vec<&str> = sessions::COLUMNS.iter().map(|(_, heading, ..)| *heading).collect();
    let sides = "--:|".repeat(headings.len() + 3);
    let mut text = format!("\n{}: {}\n", escaped(&cell.name), part.summary);
    let _ = write!(text, "\n| ms | {} | success | n | failed |\n|:--|{sides}\n", headings.join(" | "));
    let full = |figure: Option<&StudyFigure>| {
        let value = figure.and_then(|figure| Some(facts::bare(figure.metric, figure.value?)));
        let below = figure.and_then(spread).unwrap_or_default();
        format!("{}{below}", value.unwrap_or_else(dash))
    };
    for row in &part.rows {
        let times = sessions::COLUMNS.iter().map(|(.., time, metric)| full(row.figure(*time, *metric)));
        let cells: Vec<String> =
            times.chain([full(row.success), count(row.done), count(row.failed)]).collect();
        let _ = writeln!(text, "| {} | {} |", escaped(&row.name), cells.join(" | "));
    }
    let notes = sessions::notes(&part.rows);
    if !notes.is_empty() {
        text.push('\n');
    }
    for note in notes {
        let _ = writeln!(text, "- {}", escaped(&note));
    }
    text
}

/// A number with its interval below, or with the range of its runs where there is none.
fn full(column: Column, cell: &StudyCell) -> String {
    let Column::Value(metric) = column else { return column.shown(cell) };
    let below = facts::figure(cell, metric).and_then(spread).unwrap_or_default();
    format!("{}{below}", column.shown(cell))
}

fn spread(figure: &StudyFigure) -> Option<String> {
    match figure.interval {
        Some(_) => facts::interval(figure).map(|interval| format!("<br>[{interval}]")),
        None => facts::range(figure).map(|range| format!("<br>({range})")),
    }
}

fn comparisons(result: &StudyResult) -> String {
    let mut text = String::new();
    if !result.comparisons.is_empty() {
        text.push_str("\n## Compared\n");
    }
    for compared in &result.comparisons {
        let (a, b) = (facts::cell_name(result, compared.a), facts::cell_name(result, compared.b));
        let _ = writeln!(
            text,
            "\n{}: **B** {} against **A** {}",
            escaped(&compared.title),
            escaped(b),
            escaped(a)
        );
        text.push_str(&compare::table(&compared.metrics, compared.margin));
    }
    text
}

fn published(result: &StudyResult) -> String {
    if result.published.is_empty() {
        return String::new();
    }
    let mut text = "\n## Published\n".to_owned();
    if let Some(source) = &result.source {
        let _ = write!(text, "\nSource: {}\n", escaped(source));
    }
    if result.short {
        text.push_str("\nThis is the short form of the study: no comparison with what was published.\n");
    }
    text.push_str("\n| cell | | published | here | here / published | |\n|:--|:--|--:|--:|--:|:--|\n");
    for figure in &result.published {
        let measured = or_dash(figure.measured, |value| facts::value(figure.metric, value));
        let interval = figure.interval.map_or_else(String::new, |interval| {
            format!(
                "<br>[{} to {}]",
                facts::bare(figure.metric, interval.low),
                facts::bare(figure.metric, interval.high)
            )
        });
        let notes: Vec<String> =
            [&figure.note, &figure.source].into_iter().flatten().map(|text| escaped(text)).collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {measured}{interval} | {} | {} |",
            escaped(facts::cell_name(result, figure.cell)),
            facts::name(figure.metric),
            facts::as_written(figure.metric, figure.published),
            facts::ratio(figure.ratio),
            notes.join("; ")
        );
    }
    text
}

fn findings(result: &StudyResult) -> String {
    let mut text = String::new();
    if !result.findings.is_empty() {
        text.push_str("\n## Reasons to doubt\n\n");
    }
    for found in &result.findings {
        let places = escaped(&facts::places(result, &found.places));
        let word = crate::text::severity_word(found.finding.severity);
        let _ = writeln!(text, "- **{word}** {}; {places}", sentence(&found.finding));
    }
    text
}

/// What it takes to do it again, and what became of every run, shown on demand.
fn record(result: &StudyResult) -> String {
    let mut text = "\n<details><summary>Every run</summary>\n\n".to_owned();
    text.push_str("| cell | repeat | place | started | verdict | requests | failed | file |\n");
    text.push_str("|:--|--:|--:|:--|:--|--:|--:|:--|\n");
    for cell in &result.cells {
        for run in &cell.runs {
            let _ = writeln!(text, "{}", row(cell, run));
        }
    }
    text.push_str("\n</details>\n\n<details><summary>To make this study again</summary>\n\n");
    for target in &result.targets {
        let commit = target.commit.as_deref().map(|commit| format!(", {commit}")).unwrap_or_default();
        let _ = writeln!(text, "- {}: {}{}", escaped(&target.name), escaped(&target.how), escaped(&commit));
    }
    if let Some(environment) = &result.environment {
        let _ = writeln!(text, "- machine: {}", escaped(&environment.fingerprint()));
    }
    let _ = write!(text, "- seed: {}\n\n{}\n</details>\n", result.seed, indented(&result.file));
    text
}

fn row(cell: &StudyCell, run: &StudyRun) -> String {
    let word = match run.verdict {
        Verdict::Valid => "valid",
        Verdict::Doubtful => "doubtful",
        Verdict::Invalid => "INVALID",
    };
    format!(
        "| {} | {} | {} | {} | {word} | {} | {} | {} |",
        escaped(&cell.name),
        run.repeat,
        run.place,
        escaped(&run.started_at),
        count(run.requests),
        count(run.failed),
        escaped(&run.file)
    )
}
