//! The report as Markdown, for issues and pull requests: the same facts in the same order as the text.

use std::fmt::Write as _;

use prony_model::{EvaluatedThreshold, Finding, RunResult};

use crate::clean::clean;
use crate::latency::{KernelRows, Table, headings, table};
use crate::number::plural;
use crate::{
    facts, failures, record, replay, retries, scenario, server, slowest, stages, threshold, tls, traces,
};

/// The report of one run.
pub fn run(result: &RunResult) -> String {
    let (worst, others) = facts::split_findings(result);
    let reason = worst.map_or_else(|| escaped(&facts::client(result)), sentence);
    let (share, success) = facts::success(result);
    let throughput = facts::throughput(result);
    let mut lines = vec![
        facts::choices(result).iter().map(|part| escaped(part)).collect::<Vec<_>>().join(" · "),
        String::new(),
        format!("**{}** {reason}", facts::verdict_word(result.verdict)),
        thresholds(&result.thresholds),
        format!("- **SUCCESS {share}**, {}", escaped(&success)),
    ];
    for row in failures::rows(result) {
        lines.push(format!("  - {} ({}) {}; {}", row.count, row.share, row.kind, escaped(&row.first)));
    }
    if let Some(statuses) = failures::statuses(result) {
        lines.push(format!("- status {}", statuses.join(" · ")));
    }
    let note = throughput.note.map(|note| format!(" {note}")).unwrap_or_default();
    if let Some((rate, more)) = throughput.parts.split_first() {
        let more: Vec<String> = more.iter().map(|part| format!(", {part}")).collect();
        lines.push(format!("- {} **{rate}**{}{note}", throughput.label, more.concat()));
    }
    if let Some(sessions) = scenario::sessions(result) {
        lines.push(format!("- sessions: {}", escaped(&sessions)));
    }
    for (label, text) in replay::lines(result) {
        lines.push(format!("- {label}: {}", escaped(&text)));
    }
    if let Some(decoding) = scenario::decoding(result) {
        lines.push(format!("- decoded: {decoding}"));
    }
    let retries = retries::lines(result);
    if !retries.is_empty() {
        lines.push(format!("- retries: {}", escaped(&retries.join("; "))));
    }
    if let Some(events) = facts::events(result) {
        lines.push(format!("- events: {events}"));
    }
    if let Some(connections) = facts::connections(result) {
        lines.push(format!("- connections: {connections}"));
    }
    let tls = tls::lines(result);
    if !tls.is_empty() {
        lines.push(format!("- {}", escaped(&tls.join("; "))));
    }
    if let Some(parts) = server::parts(result) {
        lines.push(format!("- server {}", escaped(&parts.join(", "))));
    }
    for line in server::dependants(result) {
        lines.push(format!("  - {}", escaped(&line)));
    }
    if let Some(limiter) = &result.limiter {
        lines.push(format!("- limiter: {}", escaped(&limiter.sentence)));
    }
    let mut text = lines.join("\n");
    text.push('\n');
    if result.requests.done > 0 {
        text.push_str(&latencies(&table(result, KernelRows::All)));
    }
    text.push_str(&stages(result));
    text.push_str(&steps(result));
    text.push_str(&slowest(result));
    text.push_str(&traces(result));
    if !others.is_empty() {
        text.push('\n');
    }
    text.push_str(&findings(others));
    text.push_str(&folded(&record::rows(result)));
    text
}

/// What was required, and what became of it.
fn thresholds(thresholds: &[EvaluatedThreshold]) -> String {
    if thresholds.is_empty() {
        return String::new();
    }
    let (names, sides): (Vec<&str>, Vec<&str>) = threshold::HEADINGS.into_iter().unzip();
    let mut text = format!("\n| | {} |\n|:--|{}|\n", names.join(" | "), sides.join("|"));
    for one in thresholds {
        let word = threshold::outcome_word(one.outcome);
        let _ = writeln!(text, "| {} | {} |", strong(word), threshold::columns(one).join(" | "));
    }
    text
}

/// Stages of a rate that changes.
fn stages(result: &RunResult) -> String {
    let Some(table) = stages::table(result) else { return String::new() };
    let sides = "--:|".repeat(table.headings.len());
    let mut text = format!("\n| {} | {} |\n|:--|{sides}\n", table.unit, table.headings.join(" | "));
    for (name, cells) in &table.rows {
        let _ = writeln!(text, "| {} | {} |", escaped(name), cells.join(" | "));
    }
    text
}

/// Steps and flows of a scenario.
fn steps(result: &RunResult) -> String {
    let Some(table) = scenario::table(result) else { return String::new() };
    let sides = "--:|".repeat(table.headings.len());
    let mut text = format!("\n| {} | {} |\n|:--|{sides}\n", table.unit, table.headings.join(" | "));
    for (name, cells) in &table.rows {
        let _ = writeln!(text, "| {} | {} |", escaped(name), cells.join(" | "));
    }
    for note in &table.notes {
        let _ = write!(text, "\n{}\n", escaped(note));
    }
    text
}

/// The slowest requests, folded.
fn slowest(result: &RunResult) -> String {
    let (rows, unit) = slowest::rows(result);
    if rows.is_empty() {
        return String::new();
    }
    let summary =
        format!("The {} by response time; times in {unit}", plural(rows.len() as u64, "slowest request"));
    let mut text =
        format!("\n<details><summary>{summary}</summary>\n\n| {} | |\n", slowest::HEADINGS.join(" | "));
    let _ = writeln!(text, "|{}:--|:--|", "--:|".repeat(slowest::HEADINGS.len() - 1));
    for row in rows {
        let mut notes: Vec<String> = row.notes.iter().map(|note| escaped(note)).collect();
        if let Some(trace) = row.trace {
            let trace = escaped(&trace);
            // The URL was checked to have nothing that ends a link early.
            notes.push(row.link.map_or_else(|| format!("`{trace}`"), |link| format!("[{trace}](<{link}>)")));
        }
        let cells = row.cells.map(|cell| escaped(&cell));
        let _ = writeln!(text, "| {} | {} |", cells.join(" | "), notes.join(", "));
    }
    text.push_str("\n</details>\n");
    text
}

/// The slowest traced requests.
fn traces(result: &RunResult) -> String {
    let Some(summary) = traces::summary(result) else { return String::new() };
    let (rows, unit) = traces::rows(result);
    let mut text = format!("\ntraces: {}\n", escaped(&summary));
    if rows.is_empty() {
        return text;
    }
    let [response, service, others @ ..] = traces::HEADINGS;
    let _ = write!(text, "\n| {response}, {unit} | {service}, {unit} | {} | |\n", others.join(" | "));
    text.push_str("|--:|--:|:--|:--|:--|:--|\n");
    for row in rows {
        let [response, service, status, sent, trace] = row.cells.map(|cell| escaped(&cell));
        // The URL was checked to have nothing that ends a link early.
        let trace = row.link.map_or_else(|| format!("`{trace}`"), |link| format!("[{trace}](<{link}>)"));
        let notes = escaped(&row.notes.join(", "));
        let _ = writeln!(text, "| {response} | {service} | {status} | {sent} | {trace} | {notes} |");
    }
    text
}

/// A word in capitals stands out.
pub(crate) fn strong(word: &str) -> String {
    if word.chars().any(char::is_uppercase) { format!("**{word}**") } else { word.to_owned() }
}

/// A heading over one of several reports.
pub fn title(text: &str) -> String {
    format!("## {}\n", escaped(text))
}

/// Findings alone, a line each.
pub fn findings(findings: &[Finding]) -> String {
    let lines: Vec<String> = findings.iter().map(|finding| format!("- {}\n", sentence(finding))).collect();
    lines.concat()
}

/// Findings and notes below a report, a line each.
pub(crate) fn findings_and_notes(findings: &[Finding], notes: &[String]) -> String {
    let notes: Vec<String> = notes.iter().map(|note| format!("- {}\n", escaped(note))).collect();
    let lines = self::findings(findings) + &notes.concat();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

/// What it takes to make the run again, shown on demand.
fn folded(rows: &[(&'static str, String)]) -> String {
    let mut text = "\n<details><summary>To make this run again</summary>\n\n| | |\n|:--|:--|\n".to_owned();
    for (name, value) in rows {
        // Writing to a `String` can't fail.
        let _ = writeln!(text, "| {name} | {} |", escaped(value));
    }
    text.push_str("\n</details>\n");
    text
}

fn latencies(table: &Table) -> String {
    let headings = headings();
    let mut text = format!(
        "\n| {} | {} |\n|:--|{}\n",
        table.unit.name,
        headings.join(" | "),
        "--:|".repeat(headings.len())
    );
    for row in &table.rows {
        let _ = writeln!(text, "| {} | {} |", row.name, row.cells.join(" | "));
    }
    if !table.notes.is_empty() {
        text.push('\n');
    }
    for note in &table.notes {
        let _ = writeln!(text, "- {}", escaped(note));
    }
    text
}

/// A finding on one line, its code linked to the explanation.
pub(crate) fn sentence(finding: &Finding) -> String {
    let code = finding.code.name();
    format!(
        "{} — {} ([{code}](docs/findings.md#{code}))",
        escaped(&finding.message),
        escaped(&finding.advice)
    )
}

/// `text` with everything that Markdown or HTML would take as markup made plain.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in clean(text).chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' => {
                escaped.push('\\');
                escaped.push(character);
            }
            _ => escaped.push(character),
        }
    }
    escaped
}
