//! From the points of a series and the changes that are known to those that are there now: without a store.

use prony_stats::{CHANGE_WINDOW, ChangePoint, change_points, median};

use prony_lab_model::clock::Moment;
use prony_lab_model::{BuildId, Change, Point, Series};

/// How many points are analysed: four windows. Older ones were analysed when they were new.
const POINTS: usize = 200;

/// How many are to be read for that, as some don't count.
pub(super) const POINTS_TO_READ: u32 = 400;

/// How far a change may move with more points and still be the same one.
const SAME: usize = 5;

/// How far apart the changes of two series may be and still have one cause: noise moves them by a point or two.
const TOGETHER: usize = 2;

/// The builds around a change with which other series may have changed for the same reason: from the first to the last.
pub(super) type Near = (BuildId, BuildId);

/// What is to be written down.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// A change that is new; its number is still to come.
    New(Change, Near),
    /// A change that is known, updated with more points.
    Known(Change, Near),
    /// A change that more points don't show.
    Gone(Change),
}

/// Looks at the last points of a series. `known` are its changes so far. Points that don't count, or have no value that
/// a ratio can be taken of, are passed over.
pub(super) fn detect(series: &Series, points: &[Point], known: &[Change], now: Moment) -> Vec<Step> {
    let counted: Vec<(&Point, f64)> = points
        .iter()
        .filter(|point| point.is_valid)
        .filter_map(|point| Some((point, point.value.filter(|value| value.is_finite() && *value > 0.0)?)))
        .collect();
    let left_out = counted.len().saturating_sub(POINTS);
    let counted = &counted[left_out..];
    if counted.is_empty() {
        return Vec::new();
    }
    // Where older points are left out, the first of these lack what was before them.
    let settled = if left_out > 0 { CHANGE_WINDOW } else { 0 };
    let values: Vec<f64> = counted.iter().map(|(_, value)| *value).collect();
    // The seed is the series': the same points give the same answer.
    let detected = change_points(&values, half_width(counted), series.id.0.cast_unsigned())
        .expect("invariant: positive values, and not too many");
    let mut known: Vec<(usize, &Change)> = known
        .iter()
        .map(|change| (counted.partition_point(|(point, _)| point.build < change.build), change))
        .filter(|(index, _)| *index >= settled)
        .collect();
    let mut steps = Vec::new();
    for point in detected.iter().filter(|point| point.index >= settled) {
        let nearest = (0..known.len())
            .filter(|&at| known[at].0.abs_diff(point.index) <= SAME)
            .min_by_key(|&at| known[at].0.abs_diff(point.index));
        let found = made(series, counted, &values, point, now);
        let last = (point.index + TOGETHER).min(counted.len() - 1);
        let near = (counted[point.index.saturating_sub(TOGETHER)].0.build, counted[last].0.build);
        steps.push(match nearest.map(|at| known.remove(at).1) {
            Some(before) => {
                let Change { id, found_at, alert, comparison, .. } = *before;
                Step::Known(Change { id, found_at, alert, comparison, ..found }, near)
            }
            None => Step::New(found, near),
        });
    }
    // Those that are gone go first, so that their builds are free for others.
    let gone = known.into_iter().map(|(_, change)| Step::Gone(change.clone()));
    gone.chain(steps).collect()
}

fn made(
    series: &Series,
    counted: &[(&Point, f64)],
    values: &[f64],
    point: &ChangePoint,
    now: Moment,
) -> Change {
    let middle = |range: std::ops::Range<usize>| {
        median(&values[range]).expect("invariant: each side of a change has points")
    };
    Change {
        id: 0,
        series: series.id,
        build: counted[point.index].0.build,
        last_before: counted[point.index - 1].0.build,
        state: point.certainty.into(),
        before: middle(point.before.clone()),
        after: middle(point.after.clone()),
        p: point.p,
        found_at: now,
        alert: None,
        comparison: None,
    }
}

/// The median half-width of the points' own intervals, as a share of the value: less than a run can resolve is no change.
fn half_width(counted: &[(&Point, f64)]) -> f64 {
    let widths: Vec<f64> = counted
        .iter()
        .filter_map(|(point, value)| Some((point.high? - point.low?) / 2.0 / value))
        .filter(|width| width.is_finite() && *width > 0.0)
        .collect();
    median(&widths).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_lab_model::{ChangeState, ProjectId, SeriesId};

    fn series() -> Series {
        Series {
            id: SeriesId(1),
            project: ProjectId(1),
            variant: "default".to_owned(),
            cell: "GET /".to_owned(),
            metric: "p50".to_owned(),
            unit: "ms".to_owned(),
            is_better_high: false,
            fingerprint: "a".to_owned(),
        }
    }

    /// Points of builds 10, 20, …; the values wander by a percent.
    fn points(levels: &[(usize, f64)]) -> Vec<Point> {
        let levels = levels.iter().flat_map(|&(count, level)| std::iter::repeat_n(level, count));
        levels
            .enumerate()
            .map(|(at, level)| Point {
                build: BuildId(10 * i64::try_from(at + 1).expect("few")),
                commit: None,
                at: Moment(0),
                value: Some(level * (1.0 + 0.01 * ((at * 7 % 5) as f64 - 2.0))),
                low: None,
                high: None,
                runs: 3,
                samples: 1000,
                is_valid: true,
                note: None,
            })
            .collect()
    }

    fn detected(points: &[Point], known: &[Change]) -> Vec<Step> {
        detect(&series(), points, known, Moment(7))
    }

    #[test]
    fn a_change_is_reported_once_and_becomes_more_certain() {
        let all = points(&[(30, 2.0), (15, 2.4)]);
        assert_eq!(detected(&all[..30], &[]), []);
        let steps = detected(&all[..36], &[]);
        let [Step::New(change, near)] = &steps[..] else { panic!("{steps:?}") };
        assert_eq!((change.build, change.last_before), (BuildId(310), BuildId(300)));
        assert_eq!(*near, (BuildId(290), BuildId(330)));
        assert!((change.ratio() - 0.2).abs() < 0.02, "{change:?}");
        let known = Change { id: 4, found_at: Moment(3), build: BuildId(320), ..change.clone() };
        let steps = detected(&all, &[known]);
        let [Step::Known(surer, _)] = &steps[..] else { panic!("{steps:?}") };
        assert_eq!((surer.id, surer.found_at, surer.build), (4, Moment(3), BuildId(310)));
        assert_eq!(surer.state, ChangeState::Confirmed);
    }

    #[test]
    fn what_more_points_do_not_show_is_taken_back() {
        let known = Change {
            id: 4,
            series: SeriesId(1),
            build: BuildId(250),
            last_before: BuildId(240),
            state: ChangeState::Suspected,
            before: 2.0,
            after: 2.2,
            p: 1e-3,
            found_at: Moment(3),
            alert: None,
            comparison: None,
        };
        let all = points(&[(45, 2.0)]);
        assert_eq!(detected(&all, std::slice::from_ref(&known)), [Step::Gone(known.clone())]);
        // Older than what is analysed: it stays.
        let old = Change { build: BuildId(10), ..known };
        assert_eq!(detected(&points(&[(POINTS + 40, 2.0)]), &[old]), []);
    }

    #[test]
    fn invalid_points_and_zeros_do_not_count() {
        let mut all = points(&[(30, 2.0), (10, 4.0)]);
        for point in &mut all[30..38] {
            point.is_valid = false;
        }
        all[38].value = Some(0.0);
        all[39].value = None;
        assert_eq!(detected(&all, &[]), []);
        assert_eq!(detected(&[], &[]), []);
    }

    #[test]
    fn less_than_the_points_intervals_is_no_change() {
        let mut all = points(&[(30, 2.0), (15, 2.2)]);
        assert_eq!(detected(&all, &[]).len(), 1);
        for point in &mut all {
            point.low = point.value.map(|value| value * 0.8);
            point.high = point.value.map(|value| value * 1.2);
        }
        assert_eq!(detected(&all, &[]), []);
    }
}
