//! In which order cells are run.

use rand::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};

use crate::study::{Order, Restart, Study};

/// Digits of the place in file names at least: files sort in the order of time.
const PLACE_DIGITS: usize = 4;

/// Every run of a study, in the order of time. Stored in the folder of the study, so that it can be resumed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// Seed of the order and of the loads.
    pub seed: u64,
    /// What the schedule is of: a checksum of everything in the study that a run depends on.
    pub fingerprint: String,
    /// The runs.
    pub steps: Vec<Step>,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Its place, from 1.
    pub place: u32,
    /// The cell, by index.
    pub cell: usize,
    /// Which repeat of it, from 1.
    pub repeat: u32,
    /// The file of its result, relative to the folder of the study: `runs/0007-r2-kv-400.json`.
    pub file: String,
}

impl Schedule {
    /// The order of `study`'s runs, which follows from its seed (PCG XSL RR 128/64).
    pub fn new(study: &Study) -> Self {
        let mut generator = Pcg64::seed_from_u64(study.seed);
        let cells = 0..study.cells.len();
        let order: Vec<(usize, u32)> = match study.order {
            Order::Sequential => {
                cells.flat_map(|cell| (1..=study.repeats).map(move |repeat| (cell, repeat))).collect()
            }
            Order::Interleaved => {
                (1..=study.repeats).flat_map(|repeat| cells.clone().map(move |cell| (cell, repeat))).collect()
            }
            Order::Random => (1..=study.repeats)
                .flat_map(|repeat| {
                    let cells = shuffled_cells(study, &mut generator);
                    cells.into_iter().map(move |cell| (cell, repeat))
                })
                .collect(),
        };
        let digits = order.len().to_string().len().max(PLACE_DIGITS);
        let step = |(place, (cell, repeat)): (u32, (usize, u32))| {
            let slug = &study.cells[cell].slug;
            Step { place, cell, repeat, file: format!("runs/{place:0digits$}-r{repeat}-{slug}.json") }
        };
        Self {
            seed: study.seed,
            fingerprint: fingerprint(study),
            steps: (1..).zip(order).map(step).collect(),
        }
    }
}

/// Every cell once. Where targets live for a repeat, cells of one target stay together, or each of them would be
/// started several times in a repeat.
fn shuffled_cells(study: &Study, generator: &mut Pcg64) -> Vec<usize> {
    let mut cells: Vec<usize> = (0..study.cells.len()).collect();
    shuffle(&mut cells, generator);
    if study.restart == Restart::Repeat {
        // None stands for what has no target.
        let mut targets: Vec<Option<usize>> =
            std::iter::once(None).chain((0..study.targets.len()).map(Some)).collect();
        shuffle(&mut targets, generator);
        let place = |cell: &usize| targets.iter().position(|target| *target == study.cells[*cell].target);
        cells.sort_by_cached_key(place);
    }
    cells
}

/// Every order is as likely as any other (Fisher and Yates).
fn shuffle<T>(items: &mut [T], generator: &mut Pcg64) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(last as u64 + 1, generator));
    }
}

/// A number from 0 to `bound` − 1. The product's upper half; for bounds of some thousand its bias is below 2^−50.
#[expect(clippy::cast_possible_truncation, reason = "below the bound, which is a usize")]
fn below(bound: u64, generator: &mut Pcg64) -> usize {
    ((u128::from(generator.next_u64()) * u128::from(bound)) >> 64) as usize
}

/// A checksum of everything that a run depends on; not of titles, texts, thresholds, comparisons or published figures.
fn fingerprint(study: &Study) -> String {
    let Study { name, short, repeats, seed, order, restart, pause, targets, cells, .. } = study;
    let words = format!("{:?}", (name, short, repeats, seed, order, restart, pause, targets, cells));
    format!("{:032x}", fnv1a(words.as_bytes()))
}

/// FNV-1a, 128 bits (Fowler, Noll, Vo; draft-eastlake-fnv): against accidents, not against malice.
fn fnv1a(bytes: &[u8]) -> u128 {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(OFFSET, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME))
}
