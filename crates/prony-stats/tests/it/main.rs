//! The promises of the statistics, kept in seeded worlds where the truth is known. With 300 trials a
//! share is known to about ±3 %; `examples/coverage.rs` prints the same with more.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    unreachable_pub,
    reason = "the simulation rounds durations and is shared with an example"
)]

mod changes;
mod compared_servers;
mod histories;
mod servers;
mod simulation;

use prony_stats::Quantile;
use simulation::{PAIR_SPREAD, share};

const TRIALS: u32 = 300;

#[track_caller]
fn check(what: &str, share: f64, expected: std::ops::RangeInclusive<f64>) {
    assert!(expected.contains(&share), "{what}: {:.1} % is not within {expected:?}", 100.0 * share);
}

#[test]
fn sectioning_covers_independent_latencies() {
    for (q, z) in [(Quantile::P50, 0.0), (Quantile::P90, 1.281_552), (Quantile::P99, 2.326_348)] {
        let coverage = simulation::interval_coverage(TRIALS, 1, 0.0, q, z);
        check(&format!("coverage of {q}"), coverage.covered(), 0.9..=0.99);
        check(&format!("printed {q}"), share(coverage.known, coverage.trials), 0.95..=1.0);
    }
}

#[test]
fn sectioning_survives_autocorrelation_where_order_statistics_do_not() {
    let coverage = simulation::interval_coverage(TRIALS, 2, 0.99, Quantile::P50, 0.0);
    check("sectioning", coverage.covered(), 0.88..=0.99);
    check("order statistics", coverage.order_statistics(), 0.0..=0.3);
    let coverage = simulation::interval_coverage(TRIALS, 2, 0.9, Quantile::P90, 1.281_552);
    check("sectioning", coverage.covered(), 0.9..=0.99);
    check("order statistics", coverage.order_statistics(), 0.0..=0.6);
}

/// Latencies that forget themselves only after 200 requests leave a p99 of 20 000 to a handful of
/// occasions: nothing may be printed as if it were known.
#[test]
fn a_tail_of_few_occasions_is_never_printed_as_known() {
    let coverage = simulation::interval_coverage(TRIALS, 3, 0.995, Quantile::P99, 2.326_348);
    check("known", share(coverage.known, coverage.trials), 0.0..=0.01);
    check("withheld", 1.0 - share(coverage.indicative, coverage.trials), 0.85..=1.0);
}

#[test]
fn the_same_server_is_not_called_different() {
    for n in [6, 10, 20, 40] {
        let verdicts = simulation::verdicts(4000, 4, n, 0.0);
        check(
            &format!("false verdicts of {n} pairs"),
            share(verdicts.slower + verdicts.faster, verdicts.trials),
            0.01..=0.06,
        );
    }
    let verdicts = simulation::sequential_verdicts(2000, 5, 0.0);
    check(
        "false verdicts of four looks",
        share(verdicts.slower + verdicts.faster, verdicts.trials),
        0.0..=0.05,
    );
    check("false verdicts of peeking", simulation::peeking(500, 6), 0.15..=0.3);
}

#[test]
fn the_smallest_detectable_effect_is_detected() {
    for n in [10, 20, 40] {
        let effect = 2.9 * PAIR_SPREAD / f64::from(n).sqrt();
        let verdicts = simulation::verdicts(1000, 7, n as usize, effect);
        check(&format!("found with {n} pairs"), share(verdicts.slower, verdicts.trials), 0.7..=1.0);
        check(&format!("wrong sign with {n} pairs"), share(verdicts.faster, verdicts.trials), 0.0..=0.01);
    }
    let verdicts = simulation::sequential_verdicts(500, 8, 2.9 * PAIR_SPREAD / 40.0_f64.sqrt());
    check("found with looks", share(verdicts.slower, verdicts.trials), 0.7..=1.0);
}

#[test]
fn label_swaps_keep_their_level_and_find_a_slower_tail() {
    check("false alarms", simulation::swap_alarms(100, 9, 0.0), 0.0..=0.12);
    check("found", simulation::swap_alarms(100, 9, 0.2), 0.8..=1.0);
}

#[test]
fn a_planted_warm_up_is_cut_and_a_stationary_series_left_alone() {
    let (found, slices) = simulation::cuts(1000, 10, 0.0, 0.5);
    check("found", found, 0.95..=1.0);
    assert!((6.0..=16.0).contains(&slices), "cut {slices} slices");
    let (found, slices) = simulation::cuts(1000, 11, 0.0, 0.0);
    check("false cuts", found, 0.0..=0.07);
    assert!(slices < 3.0, "false cuts take {slices} slices");
}

#[test]
fn trends_are_seen_and_imagined_in_one_percent() {
    check("false alarms", simulation::unsteady(4000, 12, 0.0, 0.0), 0.004..=0.016);
    check("found", simulation::unsteady(500, 13, 0.0, 0.1), 0.99..=1.0);
}
