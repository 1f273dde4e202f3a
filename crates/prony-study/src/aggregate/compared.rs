//! B against A within a study: the runs of one repeat are a pair, for they shared the machine's mood.

use prony_model::{
    CapacityBounds, Figure, Load, LoadKind, Metric, MetricComparison, StudyComparison, StudyMetric,
};
use prony_stats::{LEAST_PAIRS, Looks};

use super::cell::CellRecord;
use crate::compare::{BlockPair, Question, compare_bounds, evaluate, withhold};
use crate::{ComparisonSpec, Study};

/// Everything that the study wants compared.
pub(super) fn comparisons(study: &Study, seed: u64, cells: &[CellRecord]) -> Vec<StudyComparison> {
    study.comparisons.iter().map(|spec| comparison(spec, seed, &cells[spec.a], &cells[spec.b])).collect()
}

fn comparison(spec: &ComparisonSpec, seed: u64, a: &CellRecord, b: &CellRecord) -> StudyComparison {
    if spec.kind == LoadKind::Capacity {
        let metrics = vec![compare_bounds(&bounds(a), &bounds(b), spec.margin)];
        return of_metrics(spec, metrics);
    }
    let loads = || a.runs.iter().chain(&b.runs).filter_map(|run| run.load);
    let closed_loop = loads().all(|load| matches!(load, Load::Closed { .. }));
    let question = Question {
        primary: spec.metric.unwrap_or(if closed_loop { Metric::Rate } else { Metric::P50 }),
        closed_loop,
        margin: spec.margin,
        looks: Looks::Once,
        seed,
    };
    let pairs = pairs(a, b);
    let is_few = pairs.len() < LEAST_PAIRS;
    let forbidden = is_few.then(|| format!("{} valid pairs; at least {LEAST_PAIRS} needed", pairs.len()));
    let mut metrics = evaluate(&pairs, &question, forbidden.as_deref());
    if is_few {
        metrics.iter_mut().for_each(withhold);
    }
    of_metrics(spec, metrics)
}

fn of_metrics(spec: &ComparisonSpec, metrics: Vec<MetricComparison>) -> StudyComparison {
    StudyComparison {
        title: spec.title.clone(),
        a: index(spec.a),
        b: index(spec.b),
        margin: spec.margin,
        metrics,
    }
}

/// What each search of a cell found its capacity to lie between.
fn bounds(cell: &CellRecord) -> Vec<CapacityBounds> {
    let readings = cell.readings(Figure::of_metric(StudyMetric::Capacity));
    readings.into_iter().map(CapacityBounds::of_reading).collect()
}

/// The repeats of which both runs are valid.
fn pairs(a: &CellRecord, b: &CellRecord) -> Vec<BlockPair> {
    let with_block = |cell: &'_ CellRecord, repeat: u32| {
        cell.runs.iter().find(|run| run.summary.repeat == repeat).and_then(|run| run.block.clone())
    };
    let repeats = a.runs.iter().map(|run| run.summary.repeat);
    repeats.filter_map(|repeat| Some((with_block(a, repeat)?, with_block(b, repeat)?))).collect()
}

/// An index as results store it.
pub(super) fn index(index: usize) -> u32 {
    u32::try_from(index).expect("invariant: a study has fewer cells than that")
}
