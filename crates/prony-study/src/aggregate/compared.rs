//! B against A within a study: the runs of one repeat are a pair, for they shared the machine's mood.

use prony_model::{Load, Metric, StudyComparison};
use prony_stats::{LEAST_PAIRS, Looks};

use super::cell::CellRecord;
use crate::compare::{BlockPair, Question, judge, withhold};
use crate::{ComparisonSpec, Study};

/// Everything that the study wants compared.
pub(super) fn comparisons(study: &Study, seed: u64, cells: &[CellRecord]) -> Vec<StudyComparison> {
    study.wanted.iter().map(|wanted| comparison(wanted, seed, &cells[wanted.a], &cells[wanted.b])).collect()
}

fn comparison(wanted: &ComparisonSpec, seed: u64, a: &CellRecord, b: &CellRecord) -> StudyComparison {
    let loads = || a.runs.iter().chain(&b.runs).filter_map(|run| run.load);
    let closed_loop = loads().all(|load| matches!(load, Load::Closed { .. }));
    let question = Question {
        primary: wanted.metric.unwrap_or(if closed_loop { Metric::Rate } else { Metric::P50 }),
        closed_loop,
        margin: wanted.margin,
        looks: Looks::Once,
        seed,
    };
    let pairs = pairs(a, b);
    let is_few = pairs.len() < LEAST_PAIRS;
    let forbidden = is_few.then(|| format!("{} valid pairs; at least {LEAST_PAIRS} needed", pairs.len()));
    let mut metrics = judge(&pairs, &question, forbidden.as_deref());
    if is_few {
        metrics.iter_mut().for_each(withhold);
    }
    StudyComparison {
        title: wanted.title.clone(),
        a: index(wanted.a),
        b: index(wanted.b),
        margin: wanted.margin,
        metrics,
    }
}

/// The repeats of which both runs are valid.
fn pairs(a: &CellRecord, b: &CellRecord) -> Vec<BlockPair> {
    let with_block = |cell: &'_ CellRecord, repeat: u32| {
        cell.runs.iter().find(|run| run.told.repeat == repeat).and_then(|run| run.block.clone())
    };
    let repeats = a.runs.iter().map(|run| run.told.repeat);
    repeats.filter_map(|repeat| Some((with_block(a, repeat)?, with_block(b, repeat)?))).collect()
}

/// An index as results store it.
pub(super) fn index(index: usize) -> u32 {
    u32::try_from(index).expect("invariant: a study has fewer cells than that")
}
