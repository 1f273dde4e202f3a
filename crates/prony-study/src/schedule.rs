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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use proptest::prelude::prop;
    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::*;
    use crate::file::Overrides;

    fn read(text: &str) -> Study {
        Study::read(Path::new("made.toml"), text, Overrides::default()).expect("the file is right")
    }

    proptest! {
        /// The matrix has as many cells as its axes make, less what is excluded, and what is included beside them;
        /// each is run exactly as often as it should be, in an order that the seed alone decides.
        #[test]
        fn every_cell_is_run_as_often_as_it_should_be(
            targets in 1_usize..4,
            values in prop::collection::vec(1_usize..4, 0..3),
            excluded in prop::collection::btree_set(0_usize..27, 0..4),
            included in 0_usize..3,
            repeats in 1_u32..5,
            seed in 0_u64..1000,
            order in prop::sample::select(vec!["random", "interleaved", "sequential"]),
            restart in prop::sample::select(vec!["run", "repeat", "never"]),
        ) {
            let keys = ["connections", "pipeline"];
            let mut axes = vec![(0..targets).map(|target| format!("'t{target}'")).collect::<Vec<_>>()];
            axes.extend(values.iter().map(|number| (0..*number).map(|value| (value + 40).to_string()).collect()));
            let names: Vec<&str> = std::iter::once("target").chain(keys).take(axes.len()).collect();
            let points = axes.iter().map(Vec::len).product::<usize>();
            let excluded: Vec<usize> = excluded.into_iter().filter(|point| *point + 1 < points).collect();
            let point = |number: usize| {
                let mut left = number;
                let values = axes.iter().zip(&names).map(|(values, name)| {
                    let value = &values[left % values.len()];
                    left /= values.len();
                    format!("{name} = {value}")
                });
                format!("{{ {} }}", values.collect::<Vec<_>>().join(", "))
            };
            let mut text = format!(
                "repeats = {repeats}\nseed = {seed}\norder = '{order}'\nrestart = '{restart}'\n[loads.x]\nconnections = 99\n[loads.y]\n"
            );
            for target in 0..targets {
                text.extend(["[targets.t", &target.to_string(), "]\nserve = 'null'\n"]);
            }
            text += "[matrix]\nload = ['x']\n";
            for (name, values) in names.iter().zip(&axes) {
                text.extend([name, " = [", &values.join(", "), "]\n"]);
            }
            let excluded: Vec<String> = excluded.into_iter().map(point).collect();
            text.extend(["exclude = [", &excluded.join(", "), "]\n"]);
            // Nothing of the product has the load y.
            let included: Vec<String> =
                (0..included.min(targets)).map(|target| format!("{{ load = 'y', target = 't{target}' }}")).collect();
            text.extend(["include = [", &included.join(", "), "]\n"]);
            let study = read(&text);
            prop_assert_eq!(study.cells.len(), points - excluded.len() + included.len());

            let schedule = Schedule::new(&study);
            let mut runs: BTreeMap<(usize, u32), usize> = BTreeMap::new();
            for (at, step) in schedule.steps.iter().enumerate() {
                prop_assert_eq!(step.place as usize, at + 1);
                *runs.entry((step.cell, step.repeat)).or_default() += 1;
            }
            prop_assert!(runs.values().all(|times| *times == 1));
            prop_assert_eq!(runs.len(), study.cells.len() * repeats as usize);
            prop_assert!(runs.keys().all(|(_, repeat)| (1..=repeats).contains(repeat)));
            let files: std::collections::BTreeSet<&str> =
                schedule.steps.iter().map(|step| step.file.as_str()).collect();
            prop_assert_eq!(files.len(), schedule.steps.len());
            prop_assert_eq!(&Schedule::new(&read(&text)), &schedule);
        }
    }

    /// Two targets, three loads of each, five repeats.
    fn text(head: &str) -> String {
        format!(
            "{head}\nrepeats = 5\n[targets.a]\nserve = 'null'\n[targets.b]\nserve = 'null'\n[loads.x]\n[matrix]\nconnections = [1, 2, 3]\n"
        )
    }

    #[test]
    fn targets_that_live_for_a_repeat_are_started_once_in_it() {
        let study = read(&text("seed = 4\nrestart = 'repeat'"));
        let steps = Schedule::new(&study).steps;
        let targets: Vec<(u32, Option<usize>)> =
            steps.iter().map(|step| (step.repeat, study.cells[step.cell].target)).collect();
        let changes = targets.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert_eq!(changes, 9, "{targets:?}");
        let firsts: std::collections::BTreeSet<_> = targets.chunks(6).map(|repeat| repeat[0].1).collect();
        assert_eq!(firsts.len(), 2, "neither is always first");
    }

    #[test]
    fn orders() {
        let cells = |head: &str| -> Vec<usize> {
            Schedule::new(&read(&text(head))).steps.iter().map(|step| step.cell).collect()
        };
        assert_eq!(cells("order = 'sequential'")[..6], [0, 0, 0, 0, 0, 1]);
        assert_eq!(cells("order = 'interleaved'")[..7], [0, 1, 2, 3, 4, 5, 0]);
        assert_ne!(cells("seed = 1"), cells("seed = 2"));
    }

    #[test]
    fn files_sort_in_the_order_of_time() {
        let steps = Schedule::new(&read(&text("seed = 1\norder = 'interleaved'"))).steps;
        assert_eq!(steps[0].file, "runs/0001-r1-a-connections-1.json");
        assert_eq!(steps[29].file, "runs/0030-r5-b-connections-3.json");
    }

    #[test]
    fn the_fingerprint_is_that_of_the_runs() {
        let of = |text: &str| Schedule::new(&read(text)).fingerprint;
        let plain = of(&text("seed = 1"));
        let with_threshold = format!(
            "{}[[threshold]]\nmetric = 'p99'\nat-most = 5\n",
            text("seed = 1\ntitle = 'T'\nintro = 'I'")
        );
        assert_eq!(of(&with_threshold), plain);
        for other in ["seed = 2", "seed = 1\npause = '1s'", "seed = 1\norder = 'sequential'"] {
            assert_ne!(of(&text(other)), plain, "{other}");
        }
        assert_ne!(of(&text("seed = 1").replace("[1, 2, 3]", "[1, 2, 4]")), plain);
        assert_ne!(of(&text("seed = 1").replacen("'null'", "'null --workers 2'", 1)), plain);
    }
}
