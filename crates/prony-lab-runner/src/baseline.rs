//! Which earlier builds a build is compared with. Pure: candidates and comparisons in, choices out.
//!
//! A cell is compared with the newest good build that has enough valid runs of it. One build with few usable figures
//! must not keep all later ones from being compared.

use prony_model::{ComparisonOutcome, MetricComparison};
use prony_stats::LEAST_PAIRS;

use prony_lab_model::BuildId;
use prony_lab_store::results::{Candidate, Results};

/// Good builds that are considered: older ones say little about a change.
pub(super) const CANDIDATES_MAX: u32 = 50;
/// Builds that one build is compared with: its own cells differ from those of the last builds only now and then.
pub(super) const COMPARED_MAX: usize = 3;

/// A cell that was compared, and with which build.
#[derive(Debug, Clone)]
pub(super) struct ComparedCell<R> {
    pub(super) cell: String,
    pub(super) baseline: BuildId,
    /// What decides.
    pub(super) primary: Option<MetricComparison>,
    /// All of it.
    pub(super) result: R,
}

/// The comparisons of one build with earlier ones.
#[derive(Debug)]
pub(super) struct Comparisons<R> {
    pub(super) cells: Vec<ComparedCell<R>>,
    /// Cells without a comparison that says anything, and how many valid runs each has.
    left: Vec<(String, u32)>,
    /// The builds it was compared with.
    tried: Vec<BuildId>,
}

impl<R> Comparisons<R> {
    /// None yet, of a build with these `results`.
    pub(super) fn of(results: &Results) -> Self {
        let mut left: Vec<(String, u32)> = Vec::new();
        for one in results.measured.iter().filter(|one| one.is_valid) {
            match left.iter_mut().find(|(cell, _)| *cell == one.cell) {
                Some((_, runs)) => *runs = one.runs.max(*runs),
                None => left.push((one.cell.clone(), one.runs)),
            }
        }
        Self { cells: Vec::new(), left, tried: Vec::new() }
    }

    /// The build to compare it with next: the newest of `candidates` that has enough valid runs of a cell that is left.
    /// Where none has, the newest.
    pub(super) fn next(&self, candidates: &[Candidate]) -> Option<BuildId> {
        if self.tried.len() >= COMPARED_MAX {
            return None;
        }
        let is_enough = |cell: &str, runs: u32| {
            // With fewer runs of its own, more on the other side don't help.
            let needed = |own: u32| own.min(u32::try_from(LEAST_PAIRS).unwrap_or(u32::MAX));
            self.left.iter().any(|(name, own)| name == cell && runs >= needed(*own))
        };
        let covers = |one: &&Candidate| {
            !self.tried.contains(&one.build) && one.cells.iter().any(|(cell, runs)| is_enough(cell, *runs))
        };
        let newest = || candidates.first().filter(|_| self.tried.is_empty());
        candidates.iter().find(covers).or_else(newest).map(|one| one.build)
    }

    /// Adds what came of comparing it with `baseline`. A cell keeps its first comparison, unless a later one says more.
    pub(super) fn add(&mut self, baseline: BuildId, found: Vec<(String, Option<MetricComparison>, R)>) {
        self.tried.push(baseline);
        for (cell, primary, result) in found {
            let is_answered = primary
                .as_ref()
                .is_some_and(|primary| !matches!(primary.outcome, ComparisonOutcome::NoVerdict { .. }));
            let is_left = self.left.iter().any(|(left, _)| *left == cell);
            let known = self.cells.iter().position(|known| known.cell == cell);
            if is_answered {
                self.left.retain(|(left, _)| *left != cell);
            }
            let new = ComparedCell { cell, baseline, primary, result };
            match known {
                Some(at) if is_answered && is_left => self.cells[at] = new,
                Some(_) => {}
                None => self.cells.push(new),
            }
        }
    }

    /// The build it was compared with first: the newest.
    pub(super) fn first(&self) -> Option<BuildId> {
        self.tried.first().copied()
    }
}

#[cfg(test)]
mod tests {
    use prony_model::{ComparisonMethod, Metric};

    use super::*;

    fn candidate(build: i64, cells: &[(&str, u32)]) -> Candidate {
        let cells = cells.iter().map(|(cell, runs)| ((*cell).to_owned(), *runs)).collect();
        Candidate { build: BuildId(build), cells }
    }

    fn of(cells: &[(&str, u32)]) -> Comparisons<()> {
        let left = cells.iter().map(|(cell, runs)| ((*cell).to_owned(), *runs)).collect();
        Comparisons { cells: Vec::new(), left, tried: Vec::new() }
    }

    fn compared(cell: &str, outcome: ComparisonOutcome) -> (String, Option<MetricComparison>, ()) {
        let primary = MetricComparison {
            metric: Metric::P50,
            primary: true,
            method: ComparisonMethod::SignedRanks,
            pairs: 10,
            a: Some(1.0),
            b: Some(1.0),
            change: Some(0.0),
            interval: None,
            spread: None,
            p: None,
            differs: false,
            outcome,
        };
        (cell.to_owned(), Some(primary), ())
    }

    #[test]
    fn a_build_with_few_usable_figures_is_passed_over() {
        let builds = [candidate(7, &[("kv", 1)]), candidate(6, &[("kv", 10)]), candidate(5, &[("kv", 10)])];
        assert_eq!(of(&[("kv", 10)]).next(&builds), Some(BuildId(6)));
        // A study with fewer runs than a verdict needs is compared with its like.
        assert_eq!(of(&[("kv", 1)]).next(&builds), Some(BuildId(7)));
        assert_eq!(of(&[("kv", 3)]).next(&builds), Some(BuildId(6)));
        // Where nothing can be compared, the newest is named.
        assert_eq!(of(&[("other", 10)]).next(&builds), Some(BuildId(7)));
        assert_eq!(of(&[("kv", 10)]).next(&builds[..1]), Some(BuildId(7)));
        assert_eq!(of(&[("kv", 10)]).next(&[]), None);
    }

    #[test]
    fn each_cell_has_the_newest_build_that_can_be_compared() {
        let silent = || ComparisonOutcome::NoVerdict { reason: "1 run on each side".to_owned() };
        let builds = [
            candidate(9, &[("a", 6), ("b", 2)]),
            candidate(8, &[("a", 6), ("b", 6)]),
            candidate(7, &[("a", 6), ("b", 6)]),
        ];
        let mut all = of(&[("a", 6), ("b", 6)]);
        assert_eq!(all.next(&builds), Some(BuildId(9)));
        all.add(BuildId(9), vec![compared("a", ComparisonOutcome::Faster), compared("b", silent())]);
        assert_eq!(all.next(&builds), Some(BuildId(8)));
        // It has enough runs, but not of the same repeats.
        all.add(BuildId(8), vec![compared("a", ComparisonOutcome::Slower), compared("b", silent())]);
        assert_eq!(all.next(&builds), Some(BuildId(7)));
        all.add(BuildId(7), vec![compared("b", ComparisonOutcome::NoDifference)]);
        let found: Vec<_> = all.cells.iter().map(|cell| (cell.cell.as_str(), cell.baseline.0)).collect();
        assert_eq!(found, [("a", 9), ("b", 7)]);
        assert_eq!((all.first(), all.next(&builds)), (Some(BuildId(9)), None));
    }

    #[test]
    fn a_build_is_compared_with_few_others() {
        let builds: Vec<Candidate> = (0..9).map(|back| candidate(20 - back, &[("a", 6)])).collect();
        let mut all = of(&[("a", 6)]);
        while let Some(build) = all.next(&builds) {
            all.add(build, Vec::new());
        }
        assert_eq!(all.tried, [20, 19, 18].map(BuildId));
    }
}
