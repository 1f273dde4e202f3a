//! Several agents: the merged figures, then a line for each.

use prony_model::{
    Absence, AbsenceKind, ClockOffset, FLEET_FORMAT, FLEET_VERSION, FleetAgent, FleetResult, StartSpread,
};
use prony_report::{Style, csv, fleet};

use crate::fixtures::open;

fn agent(name: &str) -> FleetAgent {
    FleetAgent {
        name: name.to_owned(),
        clock: Some(ClockOffset { offset_ns: -86_400_000_000_000, bound_ns: 120_000 }),
        start_late_ns: Some(80_000),
        measured_ns: Some((1_000_000_000, 11_000_000_000)),
        result: Some(Box::new(open(&[1.5; 2_000]))),
        absence: None,
    }
}

fn result(agents: Vec<FleetAgent>) -> FleetResult {
    let merged = open(&[1.5; 4_000]);
    FleetResult {
        format: FLEET_FORMAT.to_owned(),
        version: FLEET_VERSION,
        verdict: merged.verdict,
        agents,
        start_spread: Some(StartSpread { spread_ns: 150_000, bound_ns: 240_000 }),
        overlap_share: Some(0.9999),
        server_agent: None,
        merged,
    }
}

/// With an agent that a hostile reason is about.
pub(crate) fn three() -> FleetResult {
    let reason = "nothing heard for 10 s\u{1b}[31m".to_owned();
    let lost = FleetAgent {
        clock: None,
        start_late_ns: None,
        measured_ns: None,
        result: None,
        absence: Some(Absence { kind: AbsenceKind::Lost, reason }),
        ..agent("c")
    };
    result(vec![agent("a"), agent("a-rather-long-name.example"), lost])
}

#[test]
fn three_agents_fit_a_screen() {
    let text = fleet::text(&three(), &Style::default());
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() <= 50, "{} lines:\n{text}", lines.len());
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    for part in
        ["\na ", "\na-rather-lon ", "\nc ", "c lost: nothing heard for 10 s", "VALID", "within 0.15 ms"]
    {
        assert!(text.contains(part), "{part:?} in\n{text}");
    }
}

#[test]
fn all_formats_name_the_agents() {
    let markdown = fleet::markdown(&three());
    for part in ["| a | VALID", "| +0.08 ms | ± 0.12 ms |", "c lost: nothing heard"] {
        assert!(markdown.contains(part), "{part:?} in\n{markdown}");
    }
    let rows = fleet::csv("fleet.json", &three());
    for file in ["\nfleet.json:a,", "\nfleet.json:a-rather-long-name.example,"] {
        assert!(rows.contains(file), "{file:?} in\n{rows}");
    }
    assert!(rows.starts_with("fleet.json,"), "{rows}");
    let columns = csv::HEADER.matches(',').count();
    assert!(rows.lines().all(|row| row.matches(',').count() == columns), "{rows}");
}

#[test]
fn a_thousand_agents_are_not_a_thousand_lines() {
    let agents = (0..1_000).map(|number| agent(&format!("agent-{number}"))).collect();
    let text = fleet::text(&result(agents), &Style::default());
    assert!(text.lines().count() < 80 && text.contains("980 more agents"), "{text}");
}
