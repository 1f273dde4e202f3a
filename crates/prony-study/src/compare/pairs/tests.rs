//! Pairs of scripted runs.

use std::convert::Infallible;

use prony_model::{Finding, FindingCode, Severity, from_json};

use super::*;

/// A short run, with what the tests of the binary need and no more.
const STORED: &str = include_str!("../../../../prony/tests/it/stored.json");

fn stored() -> RunResult {
    let mut result = from_json(STORED).expect("a stored run");
    result.findings.clear();
    result.timing.interrupted = false;
    result
}

fn live(pairs: usize, looks: Looks) -> LiveComparison {
    let mut plan = stored().plan;
    plan.target.port = 1;
    let mut other = plan.clone();
    other.target.port = 2;
    LiveComparison { plans: [plan, other], pairs, looks, block: None, is_drain_given: false, seed: 7 }
}

const QUESTION: Question =
    Question { primary: Metric::Rate, closed_loop: true, margin: 0.02, looks: Looks::Once, seed: 7 };

/// Measures with runs of a server A, which does 1,000 a second, and a server B, which does `factor` times as much;
/// `change` is given every run of a block with its number.
fn measured(
    live: &LiveComparison,
    factor: f64,
    mut change: impl FnMut(usize, &mut RunResult),
) -> Result<Measured, LiveError<Infallible>> {
    let mut number = 0;
    let mut run = |plan: &RunPlan| {
        let mut result = stored();
        result.plan = plan.clone();
        result.rate.done_per_s = if plan.target.port == 1 { 1000.0 } else { 1000.0 * factor };
        // The first two are the pilots.
        if number >= 2 {
            change(number - 2, &mut result);
        }
        number += 1;
        Ok(result)
    };
    measure(live, &Question { looks: live.looks, ..QUESTION }, &mut run, &mut |_| {})
}

fn steal() -> Finding {
    Finding {
        code: FindingCode::Steal,
        severity: Severity::Invalid,
        evidence: Vec::new(),
        message: String::new(),
        advice: String::new(),
    }
}

#[test]
fn pairs_are_adjacent_and_their_order_is_drawn() {
    let mut ports = Vec::new();
    let live = live(20, Looks::Once);
    let measured = measured(&live, 2.0, |_, result| ports.push(result.plan.target.port)).expect("pairs");
    assert_eq!((measured.pairs.len(), ports.len()), (20, 40));
    for (pair, ports) in measured.pairs.iter().zip(ports.chunks(2)) {
        let expected = if pair.order == BlockOrder::AFirst { [1, 2] } else { [2, 1] };
        assert_eq!(ports, expected);
        assert!(
            pair.blocks.1.summary.rate_per_s > pair.blocks.0.summary.rate_per_s,
            "B is B in either order"
        );
    }
    let a_first = measured.pairs.iter().filter(|pair| pair.order == BlockOrder::AFirst).count();
    assert!((1..20).contains(&a_first), "{a_first}");
    assert!(measured.looks.is_empty() && !measured.interrupted);
}

#[test]
fn a_sequential_comparison_ends_with_its_answer() {
    let measured = measured(&live(40, Looks::Sequential), 2.0, |_, _| {}).expect("pairs");
    let looks: Vec<u64> = measured.looks.iter().map(|look| look.pairs).collect();
    assert_eq!((looks, measured.pairs.len()), (vec![10, 16], 16));
}

#[test]
fn disturbed_pairs_are_measured_again() {
    let measured = measured(&live(6, Looks::Once), 1.0, |number, result| {
        if number == 3 {
            result.findings.push(steal());
        }
    })
    .expect("pairs");
    let dropped: Vec<bool> = measured.pairs.iter().map(|pair| pair.dropped.is_some()).collect();
    assert_eq!(dropped, [false, true, false, false, false, false, false]);
}

#[test]
fn a_machine_that_is_always_disturbed_is_given_up() {
    let measured = measured(&live(6, Looks::Once), 1.0, |_, result| result.findings.push(steal()));
    assert_eq!(measured.expect("pairs").pairs.len(), 12);
}

#[test]
fn half_a_pair_is_no_pair() {
    let measured =
        measured(&live(20, Looks::Once), 1.0, |number, result| result.timing.interrupted = number == 15);
    let measured = measured.expect("pairs");
    assert_eq!((measured.pairs.len(), measured.interrupted), (7, true));
}

#[test]
fn a_server_without_a_good_answer_is_not_compared() {
    let mut run = |plan: &RunPlan| -> Result<RunResult, Infallible> {
        let mut result = stored();
        result.plan = plan.clone();
        result.requests.done = if plan.target.port == 1 { 100 } else { 0 };
        Ok(result)
    };
    let measured = measure(&live(6, Looks::Once), &QUESTION, &mut run, &mut |_| {});
    let Some(LiveError::NoGoodAnswer { side, .. }) = measured.err() else { panic!("it can't be compared") };
    assert_eq!(side, "B");
}

#[test]
fn blocks_are_long_enough_for_the_primary_metric() {
    let check = |primary: Metric, per_s: f64, expected_ms: u64| {
        let mut pilots = [stored(), stored()];
        pilots[0].rate.done_per_s = per_s;
        pilots[1].rate.done_per_s = 1e6;
        for pilot in &mut pilots {
            pilot.latency.response.mean_ms = Some(8.0);
        }
        let block = block_length(primary, true, &pilots);
        assert_eq!(block.as_millis(), u128::from(expected_ms), "{} at {per_s} /s", primary.name());
    };
    check(Metric::Rate, 10_000.0, 200);
    check(Metric::P50, 25.0, 4000);
    check(Metric::P99, 1000.0, 1000);
    check(Metric::P999, 10.0, 10_000);
    check(Metric::Rate, 0.0, 10_000);
}

#[test]
fn blocks_hold_enough_rounds() {
    let block = |mean_ms: f64, closed_loop: bool| {
        let mut pilots = [stored(), stored()];
        for pilot in &mut pilots {
            pilot.rate.done_per_s = 1000.0;
        }
        pilots[1].latency.response.mean_ms = Some(mean_ms);
        pilots[0].latency.response.mean_ms = Some(1.0);
        block_length(Metric::Rate, closed_loop, &pilots).as_millis()
    };
    assert_eq!([block(98.0, true), block(5.0, true), block(9000.0, true)], [1960, 200, 10_000]);
    assert_eq!(block(98.0, false), 200);
}

/// A server whose answers take longer than the usual drain once failed a request in seventy.
#[test]
fn late_answers_are_waited_for() {
    let mut pilots = [stored(), stored()];
    for (pilot, max_ms) in pilots.iter_mut().zip([100.0, 1500.0]) {
        pilot.latency.response.max_ms = Some(max_ms);
    }
    assert_eq!(block_drain(&pilots), Duration::from_millis(4500));
}
