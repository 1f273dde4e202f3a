//! Capacities of a cell, over its searches.

use prony_model::{CapacityLimit, CapacityOutcome, CapacityResult, Confirmation, capacity_from_json};

use super::*;

/// A search with this outcome.
fn search(outcome: CapacityOutcome) -> CapacityResult {
    let mut result = capacity_from_json(CAPACITY).expect("a stored search");
    result.findings.clear();
    result.verdict = Verdict::Valid;
    result.outcome = outcome;
    result
}

const CAPACITY: &str = include_str!("../../../tests/data/capacity.json");

fn between(estimate_per_s: f64, lower_per_s: f64, upper_per_s: f64) -> CapacityOutcome {
    CapacityOutcome::Between {
        estimate_per_s,
        lower_per_s,
        upper_per_s,
        carried_per_s: lower_per_s,
        exceeded_per_s: upper_per_s,
        is_decided: true,
        confirmation: Confirmation::Missing,
    }
}

fn at_least(lower_per_s: f64) -> CapacityOutcome {
    CapacityOutcome::AtLeast {
        lower_per_s,
        is_decided: true,
        limit: CapacityLimit::Client,
        reason: "the client is the limit".to_owned(),
        confirmation: Confirmation::Missing,
    }
}

/// The study of two cells, whose searches come out like these, and with these thresholds of the first.
fn measured(outcomes: [&[CapacityOutcome]; 2], thresholds: &[&str]) -> StudyResult {
    let mut study = study(u32::try_from(outcomes[0].len()).expect("few"));
    study.cells.truncate(2);
    study.thresholds = thresholds.iter().map(|text| required(0, text)).collect();
    study.comparisons = vec![ComparisonSpec { kind: LoadKind::Capacity, metric: None, ..spec(0, 1) }];
    let schedule = schedule(&study);
    let stored = schedule.steps.iter().map(|step| {
        let outcome = outcomes[step.cell][step.repeat as usize - 1].clone();
        Ok((step.clone(), Stored::Capacity(Box::new(search(outcome)))))
    });
    aggregate::<AggregateError>(&study, &schedule, stored, Vec::new()).expect("whole results")
}

fn figure(result: &StudyResult) -> &prony_model::StudyFigure {
    assert_eq!(result.cells[0].figures.len(), 1);
    &result.cells[0].figures[0]
}

#[test]
fn the_bounds_of_few_searches_hold_those_of_each() {
    let one = [between(100.0, 95.0, 106.0)];
    let result = measured([&one, &[between(120.0, 110.0, 130.0)]], &[]);
    let of = |result: &StudyResult| {
        let figure = figure(result);
        (figure.value, figure.interval.map(|interval| (interval.low, interval.high)), figure.runs)
    };
    assert_eq!(of(&result), (Some(100.0), Some((95.0, 106.0)), 1));
    assert_eq!(result.comparisons[0].metrics[0].outcome, ComparisonOutcome::Faster);
    assert_eq!(result.comparisons[0].metrics.len(), 1);
    assert_eq!(result.cells[0].searches.len(), 1);
    let three = [between(100.0, 95.0, 106.0), between(90.0, 80.0, 96.0), between(110.0, 105.0, 115.0)];
    let result = measured([&three, &three], &[]);
    assert_eq!(of(&result), (Some(100.0), Some((80.0, 115.0)), 3));
    assert!(figure(&result).note.as_ref().is_some_and(|note| note.starts_with("n = 3 searches")));
    assert_eq!(result.comparisons[0].metrics[0].outcome, ComparisonOutcome::NoDifferenceSeen);
    assert!(figure(&result).samples > 0, "trials that count");
}

#[test]
fn a_lower_bound_is_no_number_but_can_decide() {
    use ThresholdOutcome::{Met, Missed, Undecided};

    fn outcomes(first: &[CapacityOutcome]) -> (Option<f64>, Vec<ThresholdOutcome>) {
        let result = measured([first, first], &["capacity > 400", "capacity > 2000"]);
        let outcomes = result.thresholds.iter().map(|one| one.evaluated.outcome).collect();
        (figure(&result).value, outcomes)
    }
    assert_eq!(outcomes(&[at_least(500.0)]), (None, vec![Met, Undecided]));
    assert_eq!(outcomes(&[at_least(500.0), between(450.0, 420.0, 480.0)]), (None, vec![Met, Undecided]));
    assert_eq!(
        outcomes(&[at_least(500.0), between(350.0, 320.0, 380.0)]),
        (None, vec![Undecided, Undecided])
    );
    let below = CapacityOutcome::Below { upper_per_s: 300.0 };
    assert_eq!(outcomes(&[below]), (None, vec![Missed, Missed]));
    assert_eq!(outcomes(&[between(450.0, 390.0, 480.0)]), (Some(450.0), vec![Met, Missed]));
}

#[test]
fn a_search_that_found_nothing_is_an_invalid_run() {
    let mut unknown = search(CapacityOutcome::Unknown { reason: "every trial is void".to_owned() });
    unknown.verdict = Verdict::Invalid;
    let mut study = study(1);
    study.cells.truncate(1);
    study.comparisons.clear();
    let schedule = schedule(&study);
    let stored = [Ok((schedule.steps[0].clone(), Stored::Capacity(Box::new(unknown))))];
    let result = aggregate::<AggregateError>(&study, &schedule, stored, Vec::new()).expect("a whole result");
    assert!(result.complete && result.verdict == Verdict::Invalid);
    assert!(result.cells[0].figures.is_empty(), "{:?}", result.cells[0].figures);
    assert_eq!(result.cells[0].searches.len(), 1);
}
