//! One number of a cell, from those of its runs.

use prony_model::{
    CapacityBounds, Clock, Figure, FigureBasis, Interval, Reading, StudyFigure, StudyMetric, Unit,
};
use prony_stats::{Histogram, LEAST_PAIRS, Quantile, median, signed_rank_center};

/// Of a 95 % interval, both sides together.
const Z_975: f64 = 1.96;
/// Nanoseconds of a millisecond.
const NANOS_PER_MS: f64 = 1e6;

/// All valid runs of a cell together: what a single one may be too short for.
pub(super) struct Together<'a> {
    /// Response times of the good responses.
    pub(super) response: &'a Histogram,
    /// Requests that were due.
    pub(super) intended: u64,
    /// Those of them without a good response.
    pub(super) failed: u64,
}

/// A figure of all usable runs of a cell, as [`StudyFigure`] has it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CellFigure {
    pub(super) value: Option<f64>,
    pub(super) interval: Option<Interval>,
    basis: FigureBasis,
    runs: u32,
    pub(super) samples: u64,
    range: Option<(f64, f64)>,
    pub(super) note: Option<String>,
}

impl CellFigure {
    /// As a study stores it.
    pub(super) fn of_metric(self, metric: StudyMetric) -> StudyFigure {
        let Self { value, interval, basis, runs, samples, range, note } = self;
        StudyFigure { metric, value, interval, basis, runs, samples, range, note }
    }
}

/// The figure of the usable runs for `of`, one reading each; `None` where no run has it.
pub(super) fn figure(of: Figure, readings: &[&Reading], together: &Together) -> Option<CellFigure> {
    if readings.is_empty() {
        return None;
    }
    let values: Vec<f64> = readings.iter().filter_map(|reading| reading.value).collect();
    let mut figure = CellFigure {
        value: None,
        interval: None,
        basis: FigureBasis::None,
        runs: u32::try_from(values.len()).unwrap_or(u32::MAX),
        samples: readings.iter().map(|reading| reading.samples).sum(),
        range: extremes(&values),
        note: None,
    };
    if values.len() < readings.len() {
        withheld(&mut figure, of, readings, together);
        return Some(figure);
    }
    figure.value = median(&values);
    let around = around(of, readings);
    (figure.interval, figure.basis) = match values.len() {
        2..LEAST_PAIRS if around.is_some() => (around, FigureBasis::AcrossRuns),
        1 => (readings[0].interval, FigureBasis::WithinRun),
        _ => (across(of, &values), FigureBasis::AcrossRuns),
    };
    figure.note = match (values.len(), figure.interval) {
        (1, Some(_)) if of == CAPACITY => {
            Some("n = 1 search: the interval is its bounds and says nothing of the next".to_owned())
        }
        (count @ 2..LEAST_PAIRS, Some(_)) => {
            Some(format!("n = {count} searches: the interval holds the bounds of each"))
        }
        (1, Some(_)) => {
            Some("n = 1 run: the interval is from within it and says nothing of the next".to_owned())
        }
        (1, None) => Some("n = 1 run: no interval".to_owned()),
        (count, None) => Some(format!("n = {count} runs: no interval; at least {LEAST_PAIRS} needed")),
        (_, Some(_)) => None,
    };
    if figure.interval.is_none() {
        figure.basis = FigureBasis::None;
    }
    Some(figure)
}

/// The figure that each run brings bounds of its own for.
const CAPACITY: Figure = Figure::Other(StudyMetric::Capacity);

/// What holds the bounds of all searches: too few for an interval by ranks, but each has one that is worth something.
fn around(of: Figure, readings: &[&Reading]) -> Option<Interval> {
    if of != CAPACITY {
        return None;
    }
    let bounds = readings.iter().map(|reading| CapacityBounds::of_reading(reading));
    let around = CapacityBounds::around(&bounds.collect::<Vec<_>>())?;
    Some(Interval { low: around.low?, high: around.high?, indicative: false })
}

/// A number that some run withholds: those that are left would describe the better runs only. All runs together may
/// support a quantile that a single one does not.
fn withheld(figure: &mut CellFigure, of: Figure, readings: &[&Reading], together: &Together) {
    let notes: Vec<_> = readings.iter().filter_map(|reading| reading.withheld.as_ref()).collect();
    let is_bound = notes.iter().any(|note| note.above_ms.is_some());
    let is_of_client = readings.iter().any(|reading| reading.is_of_client);
    if let Some(value) = merged(of, together).filter(|_| !is_bound && !is_of_client) {
        figure.value = Some(value);
        figure.note = Some("of all runs together: single ones have too few responses".to_owned());
        return;
    }
    let without = readings.len() - values_of(readings);
    let reason = notes.first().map_or("no response was good", |note| note.reason.as_str());
    figure.note = Some(if readings.len() == 1 {
        reason.to_owned()
    } else {
        format!("withheld in {without} of {} runs: {reason}", readings.len())
    });
}

fn values_of(readings: &[&Reading]) -> usize {
    readings.iter().filter(|reading| reading.value.is_some()).count()
}

/// The quantile of the merged distribution, milliseconds, with every failed request above all good ones.
fn merged(of: Figure, together: &Together) -> Option<f64> {
    let Figure::Latency(Clock::Response, level) = of else { return None };
    let q = level.quantile()?;
    let quantile = Quantile::new(q).ok()?;
    let done = together.response.count();
    if done < quantile.samples_needed() || together.failed as f64 > (1.0 - q) * together.intended as f64 {
        return None;
    }
    let rank = quantile.rank(done + together.failed);
    together.response.value_at_rank(rank).map(|nanos| nanos as f64 / NANOS_PER_MS)
}

/// The 95 % interval over at least six runs: by signed ranks, of logarithms where ratios have a meaning.
fn across(of: Figure, values: &[f64]) -> Option<Interval> {
    if values.len() < LEAST_PAIRS {
        return None;
    }
    let is_ratio = of.unit() != Unit::Share && values.iter().all(|value| *value > 0.0);
    let (low, high) = if is_ratio {
        let logarithms: Vec<f64> = values.iter().copied().map(f64::ln).collect();
        signed_rank_center(&logarithms, Z_975)?.interval.map(|(low, high)| (low.exp(), high.exp()))?
    } else {
        signed_rank_center(values, Z_975)?.interval?
    };
    // The median of skewed values may lie outside of where they are centred.
    let value = median(values)?;
    Some(Interval { low: low.min(value), high: high.max(value), indicative: false })
}

fn extremes(values: &[f64]) -> Option<(f64, f64)> {
    let least = values.iter().copied().reduce(f64::min)?;
    let greatest = values.iter().copied().reduce(f64::max)?;
    Some((least, greatest))
}

#[cfg(test)]
mod tests {
    use prony_model::QuantileNote;

    use super::*;

    fn reading(value: f64) -> Reading {
        let interval = Some(Interval { low: value - 1.0, high: value + 1.0, indicative: false });
        Reading { value: Some(value), interval, samples: 100, ..Reading::default() }
    }

    fn without(above_ms: Option<f64>) -> Reading {
        let note = QuantileNote { reason: "too few".to_owned(), above_ms };
        Reading { samples: 100, withheld: Some(note), ..Reading::default() }
    }

    fn of(metric: StudyMetric, readings: &[Reading], response: &Histogram, failed: u64) -> CellFigure {
        let together = Together { response, intended: response.count() + failed, failed };
        figure(Figure::of_metric(metric), &readings.iter().collect::<Vec<_>>(), &together).expect("readings")
    }

    fn across_runs(values: &[f64]) -> CellFigure {
        let readings: Vec<Reading> = values.iter().copied().map(reading).collect();
        of(StudyMetric::Rate, &readings, &Histogram::new(), 0)
    }

    #[test]
    fn the_number_of_runs_decides_the_basis() {
        let one = across_runs(&[100.0]);
        assert_eq!((one.value, one.basis), (Some(100.0), FigureBasis::WithinRun));
        assert_eq!(one.interval.map(|interval| interval.low), Some(99.0));
        let five = across_runs(&[100.0, 102.0, 98.0, 101.0, 99.0]);
        assert_eq!((five.value, five.basis, five.interval), (Some(100.0), FigureBasis::None, None));
        assert_eq!(five.range, Some((98.0, 102.0)));
        assert!(five.note.is_some_and(|note| note.starts_with("n = 5 runs: no interval")));
        let six = across_runs(&[100.0, 102.0, 98.0, 101.0, 99.0, 400.0]);
        assert_eq!(
            (six.value, six.basis, six.samples, six.runs),
            (Some(100.5), FigureBasis::AcrossRuns, 600, 6)
        );
        let interval = six.interval.expect("six runs");
        assert!((interval.low - 98.0).abs() < 1e-9 && (interval.high - 400.0).abs() < 1e-9, "{interval:?}");
        assert_eq!(six.note, None);
    }

    #[test]
    fn a_zero_has_no_logarithm_and_a_share_no_ratio() {
        let six = across_runs(&[0.0; 6]);
        assert_eq!(six.interval.map(|interval| (interval.low, interval.high)), Some((0.0, 0.0)));
        assert_eq!(
            figure(
                Figure::of_metric(StudyMetric::Rate),
                &[],
                &Together { response: &Histogram::new(), intended: 0, failed: 0 }
            ),
            None
        );
    }

    #[test]
    fn one_run_that_withholds_takes_the_value_away() {
        let all: Histogram = (0..900).map(|k| 1_000_000 + k).collect();
        let some = [reading(1.0), reading(1.0), without(None)];
        let figure = of(StudyMetric::P99, &some, &all, 0);
        assert_eq!((figure.value, figure.runs), (None, 2));
        assert_eq!(figure.note.as_deref(), Some("withheld in 1 of 3 runs: too few"));
    }

    #[test]
    fn all_runs_together_may_support_what_single_ones_do_not() {
        let all: Histogram = (0..2000).map(|k| 1_000_000 + 1000 * k).collect();
        let none = [without(None), without(None)];
        let figure = of(StudyMetric::P99, &none, &all, 0);
        assert!(figure.value.is_some_and(|value| (value - 2.98).abs() < 0.01), "{figure:?}");
        assert!(figure.note.is_some_and(|note| note.contains("all runs together")));
        // Twenty failed requests in a thousand are beyond the 99th percentile.
        assert_eq!(of(StudyMetric::P99, &none, &all, 40).value, None);
        assert_eq!(of(StudyMetric::P99, &[without(Some(30_000.0)), without(None)], &all, 0).value, None);
    }
}
