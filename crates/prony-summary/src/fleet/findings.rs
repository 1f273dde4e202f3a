//! What speaks against the numbers of several agents as those of one instrument: agents without a result, agents whose own
//! result is invalid, agents that did not start together, and what makes an agent's result doubtful.

use prony_model::words::{milliseconds, percent, plural};
use prony_model::{Evidence, Finding, FindingCode, FleetAgent, RunResult, Severity, StartSpread, Verdict};

use crate::timeline::drifted;

/// Agents may be ready that far apart,
const SPREAD_MIN_NS: f64 = 10e6;
/// or this share of the measured part apart.
const SPREAD_SHARE: f64 = 0.01;
/// Beyond so many times that, the agents were no one instrument.
const SPREAD_INVALID: f64 = 10.0;
/// Share of the time in which all agents measured: warn, invalid below.
const OVERLAP_SHARE: (f64, f64) = (0.98, 0.5);
/// Agents that a message names.
const NAMED_MAX: usize = 3;

/// The findings on `agents` together; `merged` is their result.
pub(super) fn findings(
    merged: &RunResult,
    agents: &[FleetAgent],
    start_spread: Option<StartSpread>,
    overlap_share: Option<f64>,
) -> Vec<Finding> {
    let together = [
        lost(agents),
        invalid(agents),
        start_spread.and_then(|spread| wide_start(merged.timing.measured_s, spread)),
        overlap_share.and_then(|share| overlap(share, merged.plan.end.requests().is_some())),
    ];
    let mut findings: Vec<Finding> = together.into_iter().flatten().chain(doubts(agents)).collect();
    if !findings.iter().any(|finding| finding.code == FindingCode::NotSteady) {
        findings.extend(drifted(&merged.drift));
    }
    findings
}

/// `a, b and 3 more`.
fn names(agents: &[&FleetAgent]) -> String {
    let named: Vec<&str> = agents.iter().take(NAMED_MAX).map(|agent| agent.name.as_str()).collect();
    match (agents.len().saturating_sub(NAMED_MAX), named.as_slice()) {
        (0, [rest @ .., last]) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        (0, _) => named.concat(),
        (more, _) => format!("{} and {more} more", named.join(", ")),
    }
}

fn agents_word(count: usize) -> &'static str {
    if count == 1 { "agent" } else { "agents" }
}

/// Agents without a result.
fn lost(agents: &[FleetAgent]) -> Option<Finding> {
    let absent: Vec<&FleetAgent> = agents.iter().filter(|agent| agent.result.is_none()).collect();
    let first = absent.first()?;
    let why = first.absence.as_ref().map_or_else(
        || "for an unknown reason".to_owned(),
        |absence| format!("{} {}: {}", first.name, absence.kind.name(), absence.reason),
    );
    let share = lost_share(agents);
    let load = share.map(|share| format!(", {} of the load", percent(share))).unwrap_or_default();
    Some(Finding {
        code: FindingCode::AgentLost,
        severity: Severity::Invalid,
        evidence: vec![
            Evidence::new("lost", absent.len() as f64, "count"),
            Evidence::new("agents", agents.len() as f64, "count"),
        ],
        message: format!(
            "{} of {} without a result{load}: {} ({why}); the server had another load than was asked for",
            absent.len(),
            plural(agents.len() as u64, "agent"),
            names(&absent),
        ),
        advice: "look at that agent's own output, and run it again with agents that stay".to_owned(),
    })
}

/// The share of the load that agents without a result had, as far as the others know it.
fn lost_share(agents: &[FleetAgent]) -> Option<f64> {
    let results = || agents.iter().filter_map(|agent| agent.result.as_ref());
    let of = results().next()?.plan.share().of;
    let known: u32 = results().map(|result| result.plan.threads).sum();
    (known < of).then(|| f64::from(of - known) / f64::from(of))
}

/// Agents whose own result is invalid: what they measured says something about themselves.
fn invalid(agents: &[FleetAgent]) -> Option<Finding> {
    let found: Vec<&FleetAgent> = agents
        .iter()
        .filter(|agent| agent.result.as_ref().is_some_and(|result| result.verdict == Verdict::Invalid))
        .collect();
    let first = found.first()?;
    let why = first.result.as_ref()?.findings.first()?;
    let are = if found.len() == 1 { "is" } else { "are" };
    Some(Finding {
        code: FindingCode::AgentInvalid,
        severity: Severity::Invalid,
        evidence: vec![
            Evidence::new("invalid", found.len() as f64, "count"),
            Evidence::new("agents", agents.len() as f64, "count"),
        ],
        message: format!(
            "{} {} {are} invalid, on {}: {} ({})",
            agents_word(found.len()),
            names(&found),
            first.name,
            why.message,
            why.code.name(),
        ),
        advice: why.advice.clone(),
    })
}

/// What makes the result of a valid agent doubtful makes that of all doubtful: one finding for each code.
fn doubts(agents: &[FleetAgent]) -> Vec<Finding> {
    let mut codes: Vec<FindingCode> = Vec::new();
    let warnings = |agent: &'_ FleetAgent| {
        let findings = agent.result.iter().flat_map(|result| &result.findings);
        findings.filter(|finding| finding.severity == Severity::Warning).cloned().collect::<Vec<_>>()
    };
    for finding in agents.iter().flat_map(warnings) {
        if !codes.contains(&finding.code) {
            codes.push(finding.code);
        }
    }
    let of_code = |code: FindingCode| {
        let found: Vec<(&FleetAgent, Finding)> = agents
            .iter()
            .filter_map(|agent| Some((agent, warnings(agent).into_iter().find(|one| one.code == code)?)))
            .collect();
        let concerned: Vec<&FleetAgent> = found.iter().map(|(agent, _)| *agent).collect();
        let (first, finding) = found.first()?;
        let whose = if found.len() == 1 { String::new() } else { format!("on {}: ", first.name) };
        let word = agents_word(found.len());
        Some(Finding {
            message: format!("{word} {}: {whose}{}", names(&concerned), finding.message),
            ..finding.clone()
        })
    };
    codes.into_iter().filter_map(of_code).collect()
}

/// Agents were not ready at one moment.
fn wide_start(measured_s: f64, spread: StartSpread) -> Option<Finding> {
    let limit = SPREAD_MIN_NS.max(SPREAD_SHARE * measured_s * 1e9);
    let (spread_ns, bound_ns) = (spread.spread_ns as f64, spread.bound_ns as f64);
    if spread_ns + bound_ns <= limit {
        return None;
    }
    let severity =
        if spread_ns - bound_ns > SPREAD_INVALID * limit { Severity::Invalid } else { Severity::Warning };
    Some(Finding {
        code: FindingCode::StartSpread,
        severity,
        evidence: vec![
            Evidence::new("spread", spread_ns / 1e6, "ms"),
            Evidence::new("bound", bound_ns / 1e6, "ms"),
            Evidence::new("limit", limit / 1e6, "ms"),
        ],
        message: format!(
            "agents started {} apart, ± {} by their clocks; at most {} would be one moment",
            milliseconds(spread_ns / 1e6),
            milliseconds(bound_ns / 1e6),
            milliseconds(limit / 1e6),
        ),
        advice: "a longer --warmup takes the start out of the measured part; look at what the latest agent's machine \
                 was busy with, and at how far its clock is known"
            .to_owned(),
    })
}

/// Agents did not measure at one time. Where a count ends each agent's part, the fastest ends first.
fn overlap(share: f64, ends_by_count: bool) -> Option<Finding> {
    let severity = match share {
        share if share >= OVERLAP_SHARE.0 => return None,
        _ if ends_by_count => Severity::Note,
        share if share >= OVERLAP_SHARE.1 => Severity::Warning,
        _ => Severity::Invalid,
    };
    Some(Finding {
        code: FindingCode::Overlap,
        severity,
        evidence: vec![Evidence::new("overlap_share", share, "share")],
        message: format!(
            "all agents measured together in {} of the time in which any did: the rate of all is not what the server \
             did at any moment",
            percent(share)
        ),
        advice: "end the run by time (--duration) rather than by a number of requests".to_owned(),
    })
}
