//! The result of several agents: the merged figures as those of a run, then what each agent did.

use std::fmt::Write as _;

use prony_model::{Clock, FleetAgent, FleetResult, RunResult};

use crate::latency::Unit;
use crate::number::{count, dash, or_dash, rate};
use crate::page::Page;
use crate::{Style, clean, csv, facts, markdown, text};

/// Agents that a report shows, those without a valid result first; CSV and JSON have all of them.
const SHOWN_MAX: usize = 20;
/// Columns of an agent's name at most.
const NAME_MAX: usize = 12;
/// What stands over the columns of [`cells`].
const HEADINGS: [&str; 8] = ["verdict", "rate /s", "p50", "p99", "p50 serv", "p99 serv", "lag p99", "CPU"];

/// The report for a terminal; no line is wider than `style` says.
pub fn text(result: &FleetResult, style: &Style) -> String {
    let mut page = Page::new(style);
    let unit = Unit::of(&result.merged);
    let (shown, more) = shown(result);
    let rows: Vec<(String, Vec<String>)> =
        shown.iter().map(|agent| (short(&agent.name), cells(agent, unit))).collect();
    let names = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    let name_width = names.max("agents".len()) + 1;
    let widths: Vec<usize> = (0..HEADINGS.len())
        .map(|column| {
            let cells = rows.iter().map(|(_, cells)| cells[column].chars().count());
            cells.max().unwrap_or_default().max(HEADINGS[column].len()) + 2
        })
        .collect();
    if name_width + widths.iter().sum::<usize>() <= page.style().columns() {
        let line = |name: &str, cells: &[String]| {
            let cells = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}"));
            format!("{name:<name_width$}{}", cells.collect::<String>())
        };
        page.line(&line("agents", &HEADINGS.map(str::to_owned)));
        for (name, cells) in &rows {
            page.line(&line(name, cells));
        }
    } else {
        for (name, cells) in &rows {
            let named = HEADINGS.iter().zip(cells).map(|(heading, cell)| format!("{heading} {cell}"));
            page.labelled("agent", None, &format!("{name}: {}", named.collect::<Vec<_>>().join(", ")));
        }
    }
    if more > 0 {
        page.inset(&format!("{} more agents: -o csv has them all", count(more as u64)));
    }
    for agent in &shown {
        if let Some(absence) = &agent.absence {
            let why = format!("{} {}: {}", agent.name, absence.kind.name(), absence.reason);
            page.labelled("no result", None, &clean(&why));
        }
    }
    if let Some(start) = start(result) {
        page.labelled("start", None, &start);
    }
    format!("{}\n{}", text::run(&result.merged, style), page.finish())
}

/// The agents of a load, as a table for other reports. Names and reasons are foreign text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentTable {
    /// The unit of latencies.
    pub unit: &'static str,
    /// What stands over the cells.
    pub headings: Vec<&'static str>,
    /// Name and cells of each agent that is shown.
    pub rows: Vec<(String, Vec<String>)>,
    /// How many are not.
    pub more: usize,
    /// Why agents have no result.
    pub absences: Vec<String>,
    /// How far apart they began, and how long they measured together.
    pub start: Option<String>,
}

/// The agents of `result`.
pub fn table(result: &FleetResult) -> AgentTable {
    let unit = Unit::of(&result.merged);
    let (shown, more) = shown(result);
    let row = |agent: &&FleetAgent| {
        let mut cells = cells(agent, unit);
        cells.push(or_dash(agent.start_late_ns, late));
        cells.push(or_dash(agent.clock, |clock| bound(clock.bound_ns)));
        (agent.name.clone(), cells)
    };
    let absence = |agent: &&FleetAgent| {
        let absence = agent.absence.as_ref()?;
        Some(format!("{} {}: {}", agent.name, absence.kind.name(), absence.reason))
    };
    AgentTable {
        unit: unit.name,
        headings: HEADINGS.into_iter().chain(["start", "clock"]).collect(),
        rows: shown.iter().map(row).collect(),
        more,
        absences: shown.iter().filter_map(absence).collect(),
        start: start(result),
    }
}

/// The report for issues and pull requests.
pub fn markdown(result: &FleetResult) -> String {
    let table = table(result);
    let mut text = markdown::run(&result.merged);
    let sides = "--:|".repeat(table.headings.len());
    // Writing to a `String` can't fail.
    let _ = write!(text, "\n| agent ({}) | {} |\n|:--|{sides}\n", table.unit, table.headings.join(" | "));
    for (name, cells) in &table.rows {
        let _ = writeln!(text, "| {} | {} |", markdown::escaped(name), cells.join(" | "));
    }
    if table.more > 0 {
        let _ = writeln!(text, "\n{} more agents", count(table.more as u64));
    }
    for why in &table.absences {
        let _ = writeln!(text, "\n- {}", markdown::escaped(why));
    }
    if let Some(start) = &table.start {
        let _ = writeln!(text, "\n{}", markdown::escaped(start));
    }
    text
}

/// The latencies of all agents together and of each, as CSV ([`csv::HEADER`]); an agent's are those of `file:name`.
pub fn csv(file: &str, result: &FleetResult) -> String {
    let agents = result
        .agents
        .iter()
        .filter_map(|agent| Some(csv::rows(&format!("{file}:{}", agent.name), agent.result.as_ref()?)));
    std::iter::once(csv::rows(file, &result.merged)).chain(agents).collect()
}

/// The agents that are shown, and how many others there are.
fn shown(result: &FleetResult) -> (Vec<&FleetAgent>, usize) {
    let mut agents: Vec<&FleetAgent> = result.agents.iter().collect();
    if agents.len() > SHOWN_MAX {
        let verdict = |agent: &FleetAgent| agent.result.as_ref().map(|result| result.verdict);
        // None, for no result, is less than any.
        agents.sort_by_key(|agent| verdict(agent).map(std::cmp::Reverse));
    }
    let more = agents.len().saturating_sub(SHOWN_MAX);
    agents.truncate(SHOWN_MAX);
    (agents, more)
}

fn short(name: &str) -> String {
    clean(name).chars().take(NAME_MAX).collect()
}

/// What one agent did; dashes where it has no result.
fn cells(agent: &FleetAgent, unit: Unit) -> Vec<String> {
    let Some(result) = &agent.result else {
        let mut cells = vec![dash(); HEADINGS.len()];
        agent.absence.as_ref().map_or("lost", |absence| absence.kind.name()).clone_into(&mut cells[0]);
        return cells;
    };
    let quantile = |clock: Clock, name: &str| {
        let value =
            result.summary(clock).and_then(|summary| summary.quantiles_ms.get(name).copied().flatten());
        or_dash(value, |ms| unit.cell(ms))
    };
    vec![
        facts::verdict_word(result.verdict).to_owned(),
        rate(result.rate.done_per_s),
        quantile(Clock::Response, "0.5"),
        quantile(Clock::Response, "0.99"),
        quantile(Clock::Service, "0.5"),
        quantile(Clock::Service, "0.99"),
        quantile(Clock::Lag, "0.99"),
        cpu(result),
    ]
}

/// The share of a core that each worker thread used, on average.
fn cpu(result: &RunResult) -> String {
    let wall_s = result.timing.measured_s * result.client.threads.len() as f64;
    if wall_s > 0.0 { prony_model::words::percent(whole(result.client.cpu_s / wall_s)) } else { dash() }
}

/// A share in whole percent.
fn whole(share: f64) -> f64 {
    (share.clamp(0.0, 1.0) * 100.0).round() / 100.0
}

fn late(ns: i64) -> String {
    format!("{:+.2} ms", ns as f64 / 1e6)
}

fn bound(ns: u64) -> String {
    format!("± {:.2} ms", ns as f64 / 1e6)
}

/// How far apart agents began, and how long they measured together.
fn start(result: &FleetResult) -> Option<String> {
    let spread = result.start_spread?;
    let agents = result.agents.iter().filter(|agent| agent.start_late_ns.is_some()).count();
    let overlap = result.overlap_share.map(|share| {
        let share = whole(share);
        format!("; they measured together in {} of the time", prony_model::words::percent(share))
    });
    Some(format!(
        "{agents} agents were ready within {:.2} ms ({} by their clocks){}",
        spread.spread_ns as f64 / 1e6,
        bound(spread.bound_ns),
        overlap.unwrap_or_default()
    ))
}
