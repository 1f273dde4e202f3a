//! The page: its parts in the order of `templates/run.html`.

use askama::Template;
use prony_model::{Finding, FleetResult, LatencySummary, RunResult};

use super::{distribution, drift, server, tables, timeline};
use crate::latency::Unit;
use crate::number::count;
use crate::rerun::rerun;
use crate::study::{
    Figure, STYLE, STYLE_HASH, Table, Word, facts_table, machine_table, severity, verdict_word,
};
use crate::{clean, facts, failures, fleet, record, replay, retries, scenario, tls};

/// A whole page.
#[derive(Template)]
#[template(path = "run.html")]
pub(super) struct Page<'a> {
    style: &'static str,
    style_hash: &'static str,
    what: String,
    verdict: Word,
    sentence: String,
    reason: String,
    circumstances: String,
    command: String,
    missing: Vec<String>,
    thresholds: Option<Table>,
    findings: Vec<(Word, &'a Finding)>,
    clocks: Table,
    clock_notes: Vec<String>,
    facts: Vec<(&'static str, String)>,
    timeline: Option<Figure>,
    distribution: Option<Figure>,
    stages: Option<Table>,
    drift: Option<Table>,
    steps: Option<(Table, Vec<String>)>,
    steps_title: &'static str,
    replay: Option<Table>,
    left_out: Option<Table>,
    failures: Option<Table>,
    statuses: Option<Table>,
    retries: Vec<String>,
    slowest: Option<Table>,
    traces: Option<(Table, String)>,
    agents: Option<Agents>,
    server: Option<Figure>,
    server_facts: Option<Table>,
    record: Table,
    machine: Table,
}

/// The agents of a load.
pub(super) struct Agents {
    pub(super) table: Table,
    pub(super) notes: Vec<String>,
}

impl<'a> Page<'a> {
    pub(super) fn new(result: &'a RunResult, fleet: Option<&FleetResult>) -> Self {
        let rerun = rerun(&result.plan);
        let mut missing = rerun.missing.clone();
        if fleet.is_some() {
            missing.push("Several agents shared the load: add the same --agents.".to_owned());
        }
        let worst = facts::split_findings(result).0;
        let (clocks, clock_notes) = tables::clocks(result);
        Self {
            style: STYLE,
            style_hash: STYLE_HASH,
            what: facts::what(&result.plan),
            verdict: verdict_word(result.verdict),
            sentence: sentence(result),
            reason: worst.map_or_else(|| facts::client(result), |finding| finding.message.clone()),
            circumstances: facts::choices(result).join(" · "),
            command: clean(&rerun.shell()),
            missing,
            thresholds: tables::thresholds(&result.thresholds),
            findings: result.findings.iter().map(|finding| (severity(finding.severity), finding)).collect(),
            clocks,
            clock_notes,
            facts: lines(result),
            timeline: timeline::figure(result),
            distribution: distribution::figure(result),
            stages: tables::stages(result),
            drift: drift::table(result),
            steps: tables::steps(result),
            steps_title: if result.plan.replay.is_some() { "Routes" } else { "Sessions and steps" },
            replay: tables::replay(result),
            left_out: tables::left_out(result),
            failures: tables::failures(result),
            statuses: tables::statuses(result),
            retries: retries::lines(result),
            slowest: tables::slowest(result),
            traces: tables::traces(result),
            agents: fleet.map(|fleet| tables::agents(&fleet::table(fleet))),
            server: server::figure(result),
            server_facts: server::facts(result),
            record: facts_table("record", "This run", record::own(result)),
            machine: machine_table("The machine of the client", &result.environment),
        }
    }
}

/// The rate, how long responses took, how many were good.
fn sentence(result: &RunResult) -> String {
    let throughput = facts::throughput(result);
    let rate = throughput.parts.first().cloned().unwrap_or_default();
    let label = if throughput.label == "rate" { "Rate" } else { "Goodput" };
    let (share, text) = facts::success(result);
    let good = format!("{share} good ({text})");
    if result.requests.done == 0 {
        return format!("No good response: {text}.");
    }
    let figures = result.figures();
    format!("{label} {rate}; {}; {good}.", times(result, figures.response))
}

/// The highest quantile that may be printed, and the median.
fn times(result: &RunResult, summary: &LatencySummary) -> String {
    let unit = Unit::of(result);
    let named = [("p50", "0.5"), ("p99", "0.99"), ("p99.9", "0.999")];
    let known: Vec<String> = named
        .iter()
        .filter_map(|(name, key)| {
            let value = summary.quantiles_ms.get(*key).copied().flatten()?;
            Some(format!("{name} {} {}", unit.cell(value), unit.name))
        })
        .collect();
    let max = summary.max_ms.map(|max| format!("max {} {}", unit.cell(max), unit.name));
    let shown = known.into_iter().chain(max).collect::<Vec<_>>().join(", ");
    format!("response time {shown} (n {})", count(summary.count))
}

/// What the text report has beside its tables, line by line.
fn lines(result: &RunResult) -> Vec<(&'static str, String)> {
    let throughput = facts::throughput(result);
    let note = throughput.note.map(|note| format!(" {note}")).unwrap_or_default();
    let (share, success) = facts::success(result);
    let mut lines = vec![
        ("success", format!("{share}: {success}")),
        (throughput.label, format!("{}{note}", throughput.parts.join(", "))),
    ];
    let mut add = |label, text: Option<String>| lines.extend(text.map(|text| (label, text)));
    add("limiter", result.limiter.as_ref().map(|limiter| limiter.sentence.clone()));
    add("sessions", scenario::sessions(result));
    add("decoded", scenario::decoding(result));
    add("events", facts::events(result));
    add("connections", facts::connections(result));
    for line in tls::lines(result) {
        add("TLS", Some(line));
    }
    add("status", failures::statuses(result).map(|statuses| statuses.join(" · ")));
    for (label, text) in replay::lines(result) {
        add(label, Some(text));
    }
    lines
}
