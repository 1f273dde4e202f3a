//! Thresholds, and what others published, beside what was measured.

use prony_model::{PublishedFigure, StudyCell, StudyFigure, StudyMetric, StudyThreshold, ThresholdOutcome};

use super::cell::CellRecord;
use super::compared::index;
use crate::{Publication, Study, Threshold};

/// Every threshold with its outcome.
pub(super) fn thresholds(study: &Study, records: &[CellRecord], cells: &[StudyCell]) -> Vec<StudyThreshold> {
    let evaluated = |threshold: &Threshold| {
        let measured = value(&cells[threshold.cell], threshold.metric);
        StudyThreshold {
            cell: index(threshold.cell),
            text: words(threshold),
            metric: threshold.metric,
            at_least: threshold.at_least,
            at_most: threshold.at_most,
            measured,
            outcome: outcome(threshold, measured, &records[threshold.cell]),
        }
    };
    study.thresholds.iter().map(evaluated).collect()
}

/// Without a number nothing is met. It is missed all the same where most runs are known to be beyond what is good.
fn outcome(threshold: &Threshold, measured: Option<f64>, record: &CellRecord) -> ThresholdOutcome {
    let most = threshold.at_most.unwrap_or(f64::INFINITY);
    let least = threshold.at_least.unwrap_or(f64::NEG_INFINITY);
    match measured {
        Some(value) if (least..=most).contains(&value) => ThresholdOutcome::Met,
        Some(_) => ThresholdOutcome::Missed,
        None => {
            let readings = record.readings(threshold.metric);
            let bound = |note: &prony_model::QuantileNote| note.above_ms;
            let is_beyond = readings.iter().filter(|reading| {
                let at_least = reading.value.or(reading.withheld.as_ref().and_then(bound));
                at_least.is_some_and(|at_least| at_least > most)
            });
            let is_missed = 2 * is_beyond.count() > readings.len();
            if is_missed { ThresholdOutcome::Missed } else { ThresholdOutcome::Unknown }
        }
    }
}

/// For people: "p99 at most 50 ms".
fn words(threshold: &Threshold) -> String {
    let bound = |word: &str, value: Option<f64>| {
        value.map(|value| format!("{word} {}", in_unit(threshold.metric, value)))
    };
    let bounds: Vec<String> = [bound("at least", threshold.at_least), bound("at most", threshold.at_most)]
        .into_iter()
        .flatten()
        .collect();
    format!("{} {}", threshold.metric.name(), bounds.join(" and "))
}

/// As it was written, with its unit; shares as percent.
fn in_unit(metric: StudyMetric, value: f64) -> String {
    match metric.unit() {
        "per_s" => format!("{value} /s"),
        // Thirteen digits hide what the multiplication adds.
        "share" => format!("{} %", (value * 1e13).round() / 1e11),
        unit => format!("{value} {unit}"),
    }
}

/// Every published number with ours.
pub(super) fn published(study: &Study, cells: &[StudyCell]) -> Vec<PublishedFigure> {
    let published = |publication: &Publication| {
        let ours = figure(&cells[publication.cell], publication.metric);
        let measured = ours.and_then(|figure| figure.value);
        PublishedFigure {
            cell: index(publication.cell),
            metric: publication.metric,
            published: publication.value,
            source: publication.source.clone(),
            note: publication.note.clone(),
            measured,
            interval: ours.and_then(|figure| figure.interval),
            ratio: measured
                .filter(|_| publication.value != 0.0 && is_comparable(study, publication.metric))
                .map(|measured| measured / publication.value),
        }
    };
    study.published.iter().map(published).collect()
}

/// Whether ours and theirs may be divided: the short form of a study makes fewer requests, and so takes less time in all
/// and has seen fewer extremes.
fn is_comparable(study: &Study, metric: StudyMetric) -> bool {
    !study.short || !matches!(metric, StudyMetric::Total | StudyMetric::Min | StudyMetric::Max)
}

fn value(cell: &StudyCell, metric: StudyMetric) -> Option<f64> {
    figure(cell, metric)?.value
}

fn figure(cell: &StudyCell, metric: StudyMetric) -> Option<&StudyFigure> {
    cell.figures.iter().find(|figure| figure.metric == metric)
}
