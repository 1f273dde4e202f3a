//! A run second by second, in as many points as a chart can show.

use prony_model::{SecondPoint, StepPoint, Timeline, TimelinePoint};

/// Points of a timeline at most: more than the columns of a small chart.
const POINTS_MAX: usize = 300;
/// Points of the timeline of a step at most: its chart is smaller still.
const STEP_POINTS_MAX: usize = 60;
/// Timelines of a cell at most: more lines in a chart can't be distinguished.
pub(super) const TIMELINES_MAX: u32 = 12;
/// Points that are kept of a group of seconds.
const KEPT: usize = 3;
/// A rate over less of a second than this is chance.
const LEAST_COVERED_S: f64 = 0.5;

/// Whether the timeline of `repeat` of `repeats` is kept: `most` of them, spread over the study.
pub(super) fn is_kept(repeat: u32, repeats: u32, most: u32) -> bool {
    let timelines = u64::from(most.min(repeats));
    let before = |repeat: u32| u64::from(repeat) * timelines / u64::from(repeats.max(1));
    before(repeat) > before(repeat.saturating_sub(1))
}

/// The timeline of a run; decimated by extremes, so that no spike is lost.
pub(super) fn timeline(repeat: u32, series: &[SecondPoint]) -> Timeline {
    let is_short = |second: &SecondPoint| second.covered_s < LEAST_COVERED_S;
    let points: Vec<TimelinePoint> = series
        .iter()
        .filter(|second| second.covered_s > 0.0 && (series.len() == 1 || !is_short(second)))
        .map(point)
        .collect();
    Timeline { repeat, points: decimated(points, POINTS_MAX) }
}

/// The timeline of a step of a run, by when it was due.
pub(super) fn step_timeline(repeat: u32, timeline: &[StepPoint]) -> Timeline {
    let is_short = |point: &StepPoint| point.covered_s < LEAST_COVERED_S;
    let whole =
        timeline.iter().filter(|point| point.covered_s > 0.0 && (timeline.len() == 1 || !is_short(point)));
    let points = whole.map(|point| TimelinePoint {
        at_s: point.at_s,
        rate_per_s: point.ended.saturating_sub(point.failed) as f64 / point.covered_s,
        failed_per_s: point.failed as f64 / point.covered_s,
        p50_ms: point.p50_ms,
        p99_ms: point.p99_ms,
        max_ms: point.max_ms,
    });
    Timeline { repeat, points: decimated(points.collect(), STEP_POINTS_MAX) }
}

fn point(second: &SecondPoint) -> TimelinePoint {
    TimelinePoint {
        at_s: second.second as f64,
        rate_per_s: second.done as f64 / second.covered_s,
        failed_per_s: second.failed as f64 / second.covered_s,
        p50_ms: second.p50_ms,
        p99_ms: second.p99_ms,
        max_ms: second.max_ms,
    }
}

/// At most `most` points: the least rate, the greatest rate and the greatest latency of each group of seconds, in the order of time.
fn decimated(points: Vec<TimelinePoint>, most: usize) -> Vec<TimelinePoint> {
    if points.len() <= most {
        return points;
    }
    let group = points.len().div_ceil(most / KEPT);
    let mut kept = Vec::with_capacity(most);
    for seconds in points.chunks(group) {
        let greatest = |of: fn(&TimelinePoint) -> f64| {
            (0..seconds.len()).max_by(|&one, &other| of(&seconds[one]).total_cmp(&of(&seconds[other])))
        };
        let mut extremes: Vec<usize> = [
            greatest(|point| -point.rate_per_s),
            greatest(|point| point.rate_per_s),
            greatest(|point| point.max_ms.unwrap_or_default()),
        ]
        .into_iter()
        .flatten()
        .collect();
        extremes.sort_unstable();
        extremes.dedup();
        kept.extend(extremes.into_iter().map(|index| seconds[index]));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: u64, done: u64, max_ms: f64) -> SecondPoint {
        SecondPoint { second, covered_s: 1.0, done, max_ms: Some(max_ms), ..SecondPoint::default() }
    }

    #[test]
    fn no_spike_and_no_gap_is_lost() {
        let mut series: Vec<SecondPoint> = (0..3600).map(|at| second(at, 1000, 1.0)).collect();
        series[1234].max_ms = Some(900.0);
        series[2345].done = 0;
        let points = timeline(1, &series).points;
        assert!(points.len() <= POINTS_MAX, "{}", points.len());
        assert!(points.windows(2).all(|pair| pair[0].at_s < pair[1].at_s));
        assert!(points.iter().any(|point| point.max_ms == Some(900.0)));
        assert!(points.iter().any(|point| point.rate_per_s < 1.0));
    }

    #[test]
    fn a_short_timeline_is_whole() {
        let mut series: Vec<SecondPoint> = (0..10).map(|at| second(at, 1000, 1.0)).collect();
        series.push(SecondPoint { covered_s: 0.01, ..second(10, 3, 1.0) });
        let whole = timeline(7, &series);
        assert_eq!((whole.repeat, whole.points.len()), (7, 10));
        let short = [SecondPoint { covered_s: 0.1, ..second(0, 5, 1.0) }];
        assert!((timeline(7, &short).points[0].rate_per_s - 50.0).abs() < 1e-9);
    }

    #[test]
    fn timelines_are_spread_over_the_study() {
        let check = |repeats: u32, expected: usize| {
            assert_eq!(
                (1..=repeats).filter(|repeat| is_kept(*repeat, repeats, TIMELINES_MAX)).count(),
                expected,
                "{repeats}"
            );
        };
        check(1, 1);
        check(6, 6);
        check(12, 12);
        check(13, 12);
        check(500, 12);
        assert!(is_kept(500, 500, TIMELINES_MAX));
    }
}
