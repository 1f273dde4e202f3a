//! Thresholds, and what others published, beside what was measured.

use prony_model::{
    Bound, EvaluatedThreshold, Figure, PlainFigure, PublishedFigure, Reading, StudyCell, StudyFigure,
    StudyMetric, StudyThreshold, Threshold, ThresholdOutcome,
};

use super::cell::CellRecord;
use super::compared::index;
use crate::{CellThreshold, Publication, Study};

/// Every threshold with its outcome.
pub(super) fn thresholds(study: &Study, records: &[CellRecord]) -> Vec<StudyThreshold> {
    let evaluated = |required: &CellThreshold| {
        let record = &records[required.cell];
        let evaluated = match required.threshold.bound {
            Bound::Word(_) => of_words(&required.threshold, record),
            Bound::Amount(_) => of_figure(&required.threshold, record),
        };
        StudyThreshold { cell: index(required.cell), evaluated }
    };
    study.thresholds.iter().map(evaluated).collect()
}

fn of_figure(threshold: &Threshold, record: &CellRecord) -> EvaluatedThreshold {
    let figure = record.figure(threshold.figure);
    let reading = figure.as_ref().map_or_else(Reading::default, |figure| Reading {
        value: figure.value,
        interval: figure.interval,
        samples: figure.samples,
        ..Reading::default()
    });
    let outcome = if reading.value.is_none() && is_missed_without_value(threshold, record) {
        (ThresholdOutcome::Missed, None)
    } else if reading.value.is_none() && is_met_without_value(threshold, record) {
        (ThresholdOutcome::Met, None)
    } else {
        let (outcome, _) = threshold.of_reading(&reading);
        let why = figure.and_then(|figure| figure.note).unwrap_or_else(|| "no valid run has it".to_owned());
        (outcome, (outcome == ThresholdOutcome::Undecided).then_some(why))
    };
    threshold.evaluated(&reading, None, outcome)
}

/// Without a value a threshold is missed where most runs are known to miss it, and where requests did fail in runs that are
/// invalid.
fn is_missed_without_value(threshold: &Threshold, record: &CellRecord) -> bool {
    let is_missed = |reading: &Reading| threshold.of_reading(reading).0 == ThresholdOutcome::Missed;
    let readings = record.readings(threshold.figure);
    let missed = readings.iter().filter(|reading| is_missed(reading)).count();
    let failed =
        threshold.figure.is_of_failures() && record.unusable_readings(threshold.figure).any(is_missed);
    2 * missed > readings.len() || failed
}

/// Without a value a threshold is met where every run is known to meet it: its server carried at least as much.
fn is_met_without_value(threshold: &Threshold, record: &CellRecord) -> bool {
    let readings = record.readings(threshold.figure);
    let mut outcomes = readings.iter().map(|reading| threshold.of_reading(reading).0);
    !readings.is_empty() && outcomes.all(|outcome| outcome == ThresholdOutcome::Met)
}

/// A word must be as required in every run.
fn of_words(threshold: &Threshold, record: &CellRecord) -> EvaluatedThreshold {
    let words = record.runs.iter().filter_map(|run| match threshold.figure {
        Figure::Plain(PlainFigure::Verdict) => Some(run.summary.verdict.name()),
        _ if !run.is_valid() => None,
        _ => run.summary.limiter.as_ref().map(|limiter| limiter.kind.name()),
    });
    let outcomes: Vec<_> = words.map(|word| (word, threshold.of_words(Some(word)))).collect();
    let of = |wanted| outcomes.iter().find(|(_, (outcome, _))| *outcome == wanted);
    let decisive =
        of(ThresholdOutcome::Missed).or_else(|| of(ThresholdOutcome::Undecided)).or_else(|| outcomes.first());
    let (word, outcome) = match decisive {
        Some((word, outcome)) => (Some(*word), outcome.clone()),
        None => (None, threshold.of_words(None)),
    };
    let reading = Reading { samples: outcomes.len() as u64, ..Reading::default() };
    threshold.evaluated(&reading, word, outcome)
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

fn figure(cell: &StudyCell, metric: StudyMetric) -> Option<&StudyFigure> {
    cell.figures.iter().find(|figure| figure.metric == metric)
}
