//! The rates of all agents together.

use prony_model::{Interval, RateSummary, RunPlan, RunResult};
use prony_stats::rate_interval;

use super::pieces::Pieces;

/// Rates over `measured_s`, the measured part of all agents.
pub(super) fn rate(
    plan: &RunPlan,
    results: &[&RunResult],
    measured_s: f64,
    pieces: Option<&Pieces>,
) -> RateSummary {
    // Rates are counts over times; agents whose measured parts are not equally long have counts that add up all the same.
    let per_s = |rate: fn(&RateSummary) -> f64| {
        let counts = results.iter().map(|result| rate(&result.rate) * result.timing.measured_s);
        if measured_s > 0.0 { counts.sum::<f64>() / measured_s } else { 0.0 }
    };
    let done_per_s = per_s(|rate| rate.done_per_s);
    let whole_rounds = results.iter().map(|result| result.rate.whole_rounds_per_s);
    let whole_rounds_per_s = whole_rounds.sum::<Option<f64>>().filter(|_| !results.is_empty());
    // Parts at different rates are no sample of one.
    let pieces = pieces.filter(|_| plan.stages.is_none());
    let interval = pieces.and_then(|pieces| rate_interval(&pieces.done, pieces.length_ns as f64 / 1e9).ok());
    RateSummary {
        asked_per_s: plan.asked_per_s(measured_s),
        sent_per_s: per_s(|rate| rate.sent_per_s),
        answered_per_s: per_s(|rate| rate.answered_per_s),
        done_per_s,
        interval_per_s: interval
            .filter(|_| done_per_s > 0.0)
            .map(|found| rate_ends(done_per_s, found.interval.high - found.per_second, whole_rounds_per_s)),
        whole_rounds_per_s,
    }
}

/// The interval of a counted rate, `half` wide on either side. Where connections move in lockstep the count is off
/// by up to a round, in each part of the run alike: the interval is that of the rate from whole rounds, too.
pub fn rate_ends(done_per_s: f64, half: f64, whole_rounds_per_s: Option<f64>) -> Interval {
    let whole = whole_rounds_per_s.unwrap_or(done_per_s);
    let half = half.max(0.0);
    Interval {
        low: (done_per_s.min(whole) - half).max(0.0),
        high: done_per_s.max(whole) + half,
        indicative: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 connections in lockstep, 98 ms a round: every fifth of two seconds holds two rounds, 80 /s, and the rate is
    /// 81.6 /s. The interval was 80 to 80.
    #[test]
    fn the_interval_of_a_rate_holds_that_of_whole_rounds() {
        let ends = |half, whole| {
            let Interval { low, high, .. } = rate_ends(80.0, half, whole);
            (low, high)
        };
        assert_eq!(ends(0.0, Some(81.6)), (80.0, 81.6));
        assert_eq!(ends(1.0, Some(79.0)), (78.0, 81.0));
        assert_eq!(ends(1.0, None), (79.0, 81.0));
    }
}
