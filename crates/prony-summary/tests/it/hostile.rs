//! Results of agents that nobody wrote in good faith: whatever passes for a result is merged without a panic, and one that
//! is damaged costs no more than its agent.

use std::collections::BTreeMap;

use prony_model::{AbsenceKind, AgentOutcome, FindingCode, FleetResult, RunResult, TimePieces, from_json};
use prony_stats::Histogram;
use prony_summary::{histogram_data, merge};
use serde_json::{Value, json};

const STORED: &str = include_str!("../../../prony/tests/it/stored.json");

/// Pieces of time that it has.
const PIECES: usize = 20;

/// A result with every distribution that there is.
fn stored() -> RunResult {
    let mut result = from_json(STORED).expect("a result");
    let values: Histogram = (1..=2_000).map(|index| index * 1_000).collect();
    let text = values.to_base64_v2();
    let pieces = || vec![text.clone(); PIECES];
    for stored in
        [&mut result.histograms.response, &mut result.histograms.service, &mut result.histograms.connect]
    {
        *stored = histogram_data(&values);
    }
    result.pieces = Some(TimePieces {
        length_ns: 50_000_000,
        done: vec![2_000; PIECES],
        response: pieces(),
        service: pieces(),
    });
    result
}

fn merged(results: Vec<RunResult>) -> FleetResult {
    let plan = results[0].plan.clone();
    let agents = results.into_iter().zip(["a", "b", "c"]);
    let agents =
        agents.map(|(result, name)| AgentOutcome { name: name.to_owned(), clock: None, result: Ok(result) });
    merge(&plan, 0, agents.collect())
}

/// The places of all values below `value`, as JSON pointers.
fn places(value: &Value, place: &str, all: &mut Vec<String>) {
    let below: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(values) => {
            values.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    for (key, value) in below {
        let place = format!("{place}/{}", key.replace('~', "~0").replace('/', "~1"));
        places(value, &place, all);
        all.push(place);
    }
}

#[test]
fn every_value_replaced_by_an_extreme_one_in_two_agents() {
    let good = stored();
    let text: Value = serde_json::from_str(&prony_model::to_json(&good)).expect("JSON");
    let mut all = Vec::new();
    places(&text, "", &mut all);
    // One piece of time stands for the others.
    all.retain(|place| {
        !place.starts_with("/pieces/") || place.ends_with("/1") || place.matches('/').count() < 3
    });
    let extremes = [json!(u64::MAX), json!(-1e308), json!(""), json!([])];
    let (mut merges, mut tried) = (0, 0);
    for place in &all {
        for extreme in &extremes {
            tried += 1;
            let mut changed = text.clone();
            *changed.pointer_mut(place).expect("it is there") = extreme.clone();
            let Ok(changed) = from_json(&changed.to_string()) else { continue };
            merges += 1;
            // Twice, so that what is added up is added up beyond 64 bits.
            let fleet = merged(vec![good.clone(), changed.clone(), changed]);
            let latency = &fleet.merged.latency.response;
            let values: Vec<f64> = [latency.min_ms, latency.max_ms].into_iter().flatten().collect();
            assert!(values.is_sorted(), "{place} {extreme}: {latency:?}");
        }
    }
    assert!(merges > 300, "{merges} of {tried} were results");
}

/// What is done to a result.
type Damage<'a> = Box<dyn Fn(&mut RunResult) + 'a>;

#[test]
fn a_damaged_distribution_costs_its_agent_and_nothing_else() {
    let good = stored();
    let alone = merged(vec![good.clone(), good.clone()]);
    let values: Histogram = [1_000, 2_000].into_iter().collect();
    let mut huge = Histogram::new();
    huge.record_n(5_000, u64::MAX / 2);
    let damages: BTreeMap<&str, Damage<'_>> = BTreeMap::from([
        (
            "text",
            Box::new(|result: &mut RunResult| result.histograms.lag.data = "AAAA".to_owned()) as Damage<'_>,
        ),
        ("count", Box::new(|result| result.histograms.response.count += 1)),
        ("unit", Box::new(|result| result.histograms.service.unit = "ms".to_owned())),
        ("another", Box::new(|result| result.histograms.connect.data = values.to_base64_v2())),
        ("huge", Box::new(|result| result.histograms.blocked = histogram_data(&huge))),
        (
            "piece",
            Box::new(|result| {
                result.pieces.as_mut().expect("there are").service[3] = "H4sI".to_owned();
            }),
        ),
        (
            "huge pieces",
            Box::new(|result| {
                result.pieces.as_mut().expect("there are").response[3] = huge.to_base64_v2();
            }),
        ),
        (
            "fewer pieces",
            Box::new(|result| {
                result.pieces.as_mut().expect("there are").done.pop();
            }),
        ),
        ("pieces of no length", Box::new(|result| result.pieces.as_mut().expect("there are").length_ns = 0)),
    ]);
    for (what, damage) in damages {
        let mut damaged = good.clone();
        damage(&mut damaged);
        let fleet = merged(vec![good.clone(), damaged, good.clone()]);
        let absence = fleet.agents[1].absence.as_ref().unwrap_or_else(|| panic!("{what} was used"));
        assert_eq!(absence.kind, AbsenceKind::Failed, "{what}");
        assert!(absence.reason.starts_with("its result can't be used: "), "{what}: {}", absence.reason);
        assert!(fleet.merged.findings.iter().any(|finding| finding.code == FindingCode::AgentLost), "{what}");
        assert_eq!(fleet.merged.requests, alone.merged.requests, "{what}");
        assert_eq!(fleet.merged.histograms, alone.merged.histograms, "{what}");
    }
}

#[test]
fn intervals_are_of_all_agents_or_of_none() {
    let good = stored();
    let interval = |results: Vec<RunResult>| merged(results).merged.rate.interval_per_s.is_some();
    let with = |change: fn(&mut RunResult)| {
        let mut changed = good.clone();
        change(&mut changed);
        changed
    };
    let twice_as_long = |result: &mut RunResult| {
        let pieces = result.pieces.as_mut().expect("there are");
        pieces.length_ns *= 2;
        for row in [&mut pieces.response, &mut pieces.service] {
            row.truncate(PIECES / 2);
        }
        pieces.done.truncate(PIECES / 2);
    };
    assert!(interval(vec![good.clone(), good.clone()]));
    assert!(interval(vec![good.clone(), with(twice_as_long)]), "pieces are joined");
    assert!(!interval(vec![good.clone(), with(|result| result.pieces = None)]));
    let odd = with(|result| result.pieces.as_mut().expect("there are").length_ns = 70_000_000);
    assert!(!interval(vec![good.clone(), odd]));
}
