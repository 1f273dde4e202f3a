//! The title of a chart of one metric: who leads, by how much, and whether the runs support it.

use prony_model::{StudyCell, StudyMetric};

use super::super::words::{across, known, said};
use crate::number::{rough_percent, times};

/// Who leads among `cells` in `metric`; `None` where none has it.
pub(super) fn sentence(cells: &[&StudyCell], metric: StudyMetric) -> Option<String> {
    let mut ranked: Vec<(&StudyCell, f64)> =
        cells.iter().filter_map(|cell| Some((*cell, known(cell, metric)?))).collect();
    ranked.sort_by(|a, b| a.1.total_cmp(&b.1));
    if metric.is_better_high() {
        ranked.reverse();
    }
    let ((best, first), (worst, last)) = (*ranked.first()?, *ranked.last()?);
    if ranked.len() == 1 {
        return Some(format!("{}: {} {}", best.name, said(metric, first), of(metric)));
    }
    let range = format!("{} and {}", said(metric, first), said(metric, last));
    let (low, high) = (first.min(last), first.max(last));
    if low <= 0.0 {
        return Some(format!("{} and {} differ most in {}: {range}", best.name, worst.name, plain(metric)));
    }
    let ratio = high / low;
    match (across(best, metric), across(worst, metric)) {
        (Some(a), Some(b)) if a.high < b.low || b.high < a.low => {
            Some(format!("{} {} {}", best.name, superior(metric, ratio), worst.name))
        }
        (Some(_), Some(_)) => {
            Some(format!("No clear difference in {}: the intervals overlap", plain(metric)))
        }
        _ => Some(format!(
            "{} measured {} {}, but there are too few runs for intervals",
            best.name,
            compared(metric, ratio),
            worst.name
        )),
    }
}

/// The metric after a value.
fn of(metric: StudyMetric) -> &'static str {
    match metric {
        StudyMetric::Rate => "answered well",
        _ => plain(metric),
    }
}

/// The metric within a sentence.
fn plain(metric: StudyMetric) -> &'static str {
    match metric {
        StudyMetric::Rate => "rate",
        StudyMetric::P50 => "p50 response time",
        StudyMetric::P99 => "p99 response time",
        StudyMetric::Wall => "the time of the command",
        StudyMetric::Probe => "the time of a probe",
        other => other.name(),
    }
}

/// The better one's advantage, up to the name of the other.
fn superior(metric: StudyMetric, ratio: f64) -> String {
    match metric {
        StudyMetric::Rate if ratio >= 1.95 => {
            format!("answers {} as many requests per second as", times(ratio))
        }
        StudyMetric::Rate => format!("answers {} more requests per second than", rough_percent(ratio - 1.0)),
        _ if ratio >= 1.95 => format!("is {} as fast as{}", times(ratio), at(metric)),
        _ => format!("takes {} less time than{}", rough_percent(1.0 - 1.0 / ratio), at(metric)),
    }
}

/// The same without claiming it.
fn compared(metric: StudyMetric, ratio: f64) -> String {
    match metric {
        StudyMetric::Rate => format!("{} the rate of", times(ratio)),
        _ => format!("{} as fast as{}", times(ratio), at(metric)),
    }
}

/// The quantile, between `than` and the name.
fn at(metric: StudyMetric) -> &'static str {
    match metric {
        StudyMetric::P50 => ", at p50,",
        StudyMetric::P99 => ", at p99,",
        _ => "",
    }
}
