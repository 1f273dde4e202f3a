//! Comparing a tail that no single block reaches: label-swap permutation over merged histograms.
//!
//! A block of a pair is too short for its own p99.9, so there is nothing to pair. Merged, all blocks of
//! A and all of B have one; what the difference would be by chance is seen by exchanging A and B within
//! random pairs, which under "no difference" changes nothing. Source: Phipson and Smyth, Statistical
//! Applications in Genetics and Molecular Biology 9 (2010), for p = (1 + hits)/(B + 1).

use crate::layout::highest_of;
use crate::quantile::Quantile;
use crate::sparse::Sparse;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

/// How many label swaps are drawn: the least probability is 1/5000.
pub const SWAPS: u64 = 4999;

/// The difference of a merged quantile and its probability by chance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Swap {
    /// ln(Q_B/Q_A) over all blocks: above 0 if B is slower.
    pub difference: f64,
    /// The probability of a difference at least as great, either way, if the labels mean nothing. Never
    /// below 2^(1−n) for n pairs, as that many swaps mirror each other.
    pub p: f64,
}

/// Compares quantile `q` of merged blocks; each pair is (A, B). `None` if a side recorded nothing.
///
/// `seed` starts a PCG XSL RR 128/64 generator: the same seed gives the same probability. A swap that
/// leaves a side empty (its blocks were all on one side) counts as no difference.
pub fn label_swap(pairs: &[(Sparse, Sparse)], q: Quantile, seed: u64) -> Option<Swap> {
    let mut observed = Merged::of(pairs);
    let difference = observed.difference(q)?;
    observed.fold_below(q);
    let mut generator = Pcg64::seed_from_u64(seed);
    let mut hits = 0_u64;
    let mut swapped = observed.clone();
    for _ in 0..SWAPS {
        swapped.counts_a.copy_from_slice(&observed.counts_a);
        swapped.counts_b.copy_from_slice(&observed.counts_b);
        let mut coins = 0_u64;
        for (k, change) in observed.changes.iter().enumerate() {
            if k % 64 == 0 {
                coins = generator.next_u64();
            }
            if coins >> (k % 64) & 1 == 1 {
                swapped.exchange(change);
            }
        }
        // The same two logarithms give the same difference to the last bit, so ties are recognised.
        let by_chance = swapped.difference(q).unwrap_or(0.0);
        hits += u64::from(by_chance.abs() >= difference.abs());
    }
    Some(Swap { difference, p: (1 + hits) as f64 / (SWAPS + 1) as f64 })
}

/// Both sides over the buckets that any block uses, densely: exchanging a pair is one addition each.
#[derive(Clone)]
struct Merged {
    /// The buckets used, ascending.
    indices: Vec<u32>,
    counts_a: Vec<i64>,
    counts_b: Vec<i64>,
    /// For each pair, what exchanging it adds to A and takes from B.
    changes: Vec<Vec<i64>>,
}

impl Merged {
    fn of(pairs: &[(Sparse, Sparse)]) -> Self {
        let blocks = pairs.iter().flat_map(|(a, b)| a.buckets().chain(b.buckets()));
        let mut indices: Vec<u32> = blocks.map(|(index, _)| index).collect();
        indices.sort_unstable();
        indices.dedup();
        let zeros = vec![0_i64; indices.len()];
        let mut merged = Self {
            indices,
            counts_a: zeros.clone(),
            counts_b: zeros.clone(),
            changes: Vec::with_capacity(pairs.len()),
        };
        for (a, b) in pairs {
            let mut change = zeros.clone();
            for (block, sign) in [(a, -1), (b, 1)] {
                for (index, count) in block.buckets() {
                    let at =
                        merged.indices.binary_search(&index).expect("invariant: every bucket was collected");
                    let count = i64::try_from(count).expect("invariant: nobody lives to record 2^63 values");
                    change[at] += sign * count;
                    let side = if sign < 0 { &mut merged.counts_a } else { &mut merged.counts_b };
                    side[at] += count;
                }
            }
            merged.changes.push(change);
        }
        merged
    }

    /// Folds the buckets that quantile `q` can't reach by any swap into one: most of them, for a tail.
    ///
    /// Up to a bucket, a side holds at most the greater block of every pair, and in all at least the
    /// lesser one.
    fn fold_below(&mut self, q: Quantile) {
        let lesser: i64 = self.changes.iter().map(|change| change.iter().sum::<i64>().min(0)).sum();
        let least_total = self.counts_a.iter().sum::<i64>() + lesser;
        let least_rank = q.rank(least_total.cast_unsigned());
        let mut leads = vec![0; self.changes.len()];
        let mut seen = 0;
        let reached = self.counts_a.iter().enumerate().position(|(at, count)| {
            seen += count;
            for (lead, change) in leads.iter_mut().zip(&self.changes) {
                *lead += change[at];
            }
            let most = seen + leads.iter().map(|&lead: &i64| lead.max(0)).sum::<i64>();
            most.cast_unsigned() >= least_rank
        });
        let Some(unreached @ 2..) = reached else { return };
        self.indices.drain(..unreached - 1);
        for counts in [&mut self.counts_a, &mut self.counts_b].into_iter().chain(&mut self.changes) {
            let folded = counts.drain(..unreached - 1).sum::<i64>();
            counts[0] += folded;
        }
    }

    fn exchange(&mut self, change: &[i64]) {
        for ((a, b), change) in self.counts_a.iter_mut().zip(&mut self.counts_b).zip(change) {
            *a += change;
            *b -= change;
        }
    }

    /// ln(Q_B/Q_A), or `None` if a side is empty.
    fn difference(&self, q: Quantile) -> Option<f64> {
        Some(self.quantile(&self.counts_b, q)?.ln() - self.quantile(&self.counts_a, q)?.ln())
    }

    fn quantile(&self, counts: &[i64], q: Quantile) -> Option<f64> {
        let total: i64 = counts.iter().sum();
        let rank = q.rank(u64::try_from(total).expect("invariant: counts of whole blocks are not negative"));
        let mut seen = 0;
        let at = counts.iter().position(|count| {
            seen += count;
            seen > 0 && seen.cast_unsigned() >= rank
        })?;
        Some(highest_of(self.indices[at] as usize).max(1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::Histogram;
    use proptest::prelude::*;

    /// `n` pairs of 100 values each, B's tail `factor` times A's; blocks differ from each other.
    fn check(n: u64, factor: f64, least_p: f64, greatest_p: f64) -> Swap {
        let block = |k: u64, factor: f64| {
            let mut values: Histogram = (0..99).map(|i| 100_000 + 1000 * i + 37 * k).collect();
            let slow = 1_000_000.0 * factor + 20_000.0 * (k * 7 % 5) as f64;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a few milliseconds"
            )]
            values.record_n(slow as u64, 2);
            values.to_sparse()
        };
        let pairs: Vec<_> = (0..n).map(|k| (block(k, 1.0), block(k + 2, factor))).collect();
        let swap = label_swap(&pairs, Quantile::P99, 7).unwrap();
        assert!((least_p..=greatest_p).contains(&swap.p), "{n} pairs, x{factor}: {swap:?}");
        swap
    }

    #[test]
    fn a_slower_tail_is_found_and_an_equal_one_is_not() {
        check(20, 1.0, 0.1, 1.0);
        let swap = check(20, 1.3, 0.0002, 0.005);
        assert!((swap.difference - 1.3_f64.ln()).abs() < 0.05, "{swap:?}");
        // Four pairs can't be surer than 2/16.
        check(4, 3.0, 0.09, 0.16);
    }

    proptest! {
        #[test]
        fn folding_changes_nothing(
            blocks in prop::collection::vec(
                (prop::collection::vec(0_u64..3000, 0..20), prop::collection::vec(0_u64..3000, 0..20)),
                1..8,
            ),
            q in 0.0..=1.0,
            swaps in any::<u8>(),
        ) {
            let sparse = |values: Vec<u64>| values.into_iter().collect::<Histogram>().to_sparse();
            let pairs: Vec<_> = blocks.into_iter().map(|(a, b)| (sparse(a), sparse(b))).collect();
            let q = Quantile::new(q).unwrap();
            let mut whole = Merged::of(&pairs);
            let mut folded = whole.clone();
            folded.fold_below(q);
            for k in (0..pairs.len()).filter(|k| swaps >> k & 1 == 1) {
                let change = whole.changes[k].clone();
                whole.exchange(&change);
                let change = folded.changes[k].clone();
                folded.exchange(&change);
            }
            prop_assert_eq!(whole.difference(q), folded.difference(q));
        }
    }

    #[test]
    fn the_seed_decides() {
        assert_eq!(check(12, 1.1, 0.0, 1.0), check(12, 1.1, 0.0, 1.0));
        let nothing = [(Sparse::default(), Sparse::default())];
        assert_eq!(label_swap(&nothing, Quantile::P99, 7), None);
        assert_eq!(label_swap(&[], Quantile::P99, 7), None);
    }
}
