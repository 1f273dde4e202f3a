//! Cells whose load agents shared.

use prony_model::{
    Absence, AbsenceKind, FLEET_FORMAT, FLEET_VERSION, FleetAgent, FleetResult, StartSpread, fleet_to_json,
};

use super::*;

fn agent(name: &str, result: Option<RunResult>) -> FleetAgent {
    let absence = || Absence { kind: AbsenceKind::Lost, reason: "not heard".to_owned() };
    FleetAgent {
        name: name.to_owned(),
        clock: None,
        start_late_ns: None,
        measured_ns: None,
        absence: result.is_none().then(absence),
        result: result.map(Box::new),
    }
}

/// Agents `a` of 300 and `b` of 100 responses; `b` is lost in the second run.
fn fleet(step: &Step) -> FleetResult {
    let is_first = step.repeat == 1;
    let b = is_first.then(|| run(1, 100, 4.0, step.place));
    let merged = run(1, if is_first { 400 } else { 300 }, 2.0, step.place);
    FleetResult {
        format: FLEET_FORMAT.to_owned(),
        version: FLEET_VERSION,
        verdict: merged.verdict,
        agents: vec![agent("a", Some(run(1, 300, 1.0, step.place))), agent("b", b)],
        start_spread: is_first.then_some(StartSpread { spread_ns: 250_000, bound_ns: 1 }),
        overlap_share: is_first.then_some(0.98),
        server_agent: None,
        merged,
    }
}

#[test]
fn each_agent_has_figures_of_its_own_beside_those_of_all() {
    let mut study = study(2);
    study.cells.truncate(1);
    let schedule = schedule(&study);
    // By way of the files, as a study reads them.
    let stored = schedule.steps.iter().map(|step| {
        let text = fleet_to_json(&fleet(step));
        Ok((step.clone(), Stored::from_json(&text).expect("a result of agents")))
    });
    let result = aggregate::<AggregateError>(&study, &schedule, stored, Vec::new()).expect("whole results");
    let cell = &result.cells[0];
    let requests =
        |cell: &prony_model::StudyCell| -> Vec<u64> { cell.runs.iter().map(|run| run.requests).collect() };
    assert_eq!(requests(cell), [400, 300], "the cell is the load of all");
    let agents = cell.agents.as_ref().expect("agents");
    let shares: Vec<(&str, Vec<u64>, u32)> =
        agents.shares.iter().map(|share| (share.name.as_str(), requests(share), share.planned)).collect();
    assert_eq!(shares, [("a", vec![300, 300], 2), ("b", vec![100], 2)]);
    assert_eq!((agents.more, agents.start_spread_ms, agents.overlap_share), (0, Some(0.25), Some(0.98)));
    let p50 = |cell: &prony_model::StudyCell| {
        let found = cell.figures.iter().find(|figure| figure.metric == StudyMetric::P50);
        found.and_then(|figure| figure.value).expect("a median")
    };
    for (share, expected_ms) in agents.shares.iter().zip([1.0, 4.0]) {
        assert!((p50(share) / expected_ms - 1.0).abs() < 0.02, "{}: {}", share.name, p50(share));
        assert!(share.timelines.is_empty() && share.curve.is_empty() && share.agents.is_none());
    }
    assert!((p50(cell) / 2.0 - 1.0).abs() < 0.02);
}

#[test]
fn cells_without_agents_have_none() {
    let result = aggregated(&study(1), [1.0; 4], |_, _| ());
    assert!(result.cells.iter().all(|cell| cell.agents.is_none()));
    assert!(!prony_model::study_to_json(&result).contains("\"agents\""));
}
