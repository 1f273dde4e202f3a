//! Agents of a server that gets slower, and of one that doesn't: what the response time of all drifted.

use prony_model::{AgentOutcome, FindingCode, FleetResult, RunResult, Stages, TimePieces, from_json};
use prony_stats::Histogram;
use prony_summary::{histogram_data, merge};

const STORED: &str = include_str!("../../../prony/tests/it/stored.json");
/// Half an hour, in pieces of 5 s.
const PIECES: u32 = 360;
const PIECE_NS: u64 = 5_000_000_000;

/// An agent of a soak; the response time of each piece is `us` microseconds, beside slow swings of 1 %.
fn agent(us: impl Fn(f64) -> f64) -> RunResult {
    let mut result = from_json(STORED).expect("a result");
    let mut all = Histogram::new();
    let pieces: Vec<String> = (0..PIECES)
        .map(|index| {
            let swing = 1.0 + 0.01 * (f64::from(index) * 0.9).sin();
            let mut piece = Histogram::new();
            piece.record_n(nanos(us(f64::from(index)) * swing), 990);
            piece.record_n(nanos(us(f64::from(index)) * 3.0 * swing), 30);
            all.add(&piece);
            piece.to_base64_v2()
        })
        .collect();
    for stored in [&mut result.histograms.response, &mut result.histograms.service] {
        *stored = histogram_data(&all);
    }
    result.pieces = Some(TimePieces {
        length_ns: PIECE_NS,
        done: vec![1_020; PIECES as usize],
        response: pieces.clone(),
        service: pieces,
    });
    result
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "microseconds, above 0")]
fn nanos(us: f64) -> u64 {
    (us * 1000.0) as u64
}

fn merged(us: impl Fn(f64) -> f64 + Copy, change: impl Fn(&mut RunResult)) -> FleetResult {
    let agents = ["a", "b", "c"].into_iter().map(|name| {
        let mut result = agent(us);
        change(&mut result);
        AgentOutcome { name: name.to_owned(), clock: None, result: Ok(result) }
    });
    let agents: Vec<AgentOutcome> = agents.collect();
    let plan = agents[0].result.as_ref().expect("a result").plan.clone();
    merge(&plan, 0, agents)
}

fn not_steady(fleet: &FleetResult) -> Vec<&str> {
    let found = fleet.merged.findings.iter().filter(|finding| finding.code == FindingCode::NotSteady);
    found.map(|finding| finding.message.as_str()).collect()
}

#[test]
fn a_server_that_gets_slower() {
    // 500 µs that rise by 0.1 µs in each 5 s, and a p99 of three times that: 0.216 ms an hour.
    let fleet = merged(|index| 500.0 + 0.1 * index, |_| ());
    let [p99, p50] = fleet.merged.drift.as_slice() else { panic!("{:?}", fleet.merged.drift) };
    for (drift, quantile, per_hour) in [(p99, "p99", 0.216), (p50, "p50", 0.072)] {
        assert_eq!(drift.quantile, quantile);
        assert!(drift.is_drift && (drift.per_hour_ms / per_hour - 1.0).abs() < 0.1, "{drift:?}");
        assert!((drift.interval.low..=drift.interval.high).contains(&per_hour), "{drift:?}");
    }
    let [message] = not_steady(&fleet)[..] else { panic!("{:?}", fleet.merged.findings) };
    assert!(message.starts_with("the p99 response time rose all along, by 7"), "{message}");
}

#[test]
fn a_steady_server() {
    let fleet = merged(|_| 500.0, |_| ());
    assert_eq!(fleet.merged.drift.len(), 2, "its slope is known");
    assert!(fleet.merged.drift.iter().all(|drift| !drift.is_drift), "{:?}", fleet.merged.drift);
    assert_eq!(not_steady(&fleet), [""; 0]);
}

#[test]
fn a_server_in_stages() {
    let stages = Stages::parse("100/s:900s,200/s:900s").expect("stages");
    let fleet = merged(|index| 500.0 + 0.1 * index, |result| result.plan.stages = Some(stages.clone()));
    assert_eq!(fleet.merged.drift, [], "another rate is another response time");
}
