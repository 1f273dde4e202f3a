//! What chance does to a segment: the permutation test of a cut.

use super::energy::{Cutter, Split};
use super::{LEAST_POINTS, P_TO_SUSPECT};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;
use std::ops::Range;

/// How many random orders are drawn at most: the least probability is 1/10,000, that of an alert.
const PERMUTATIONS: u32 = 9_999;

/// The share of the observed divergence within which another counts as equal. The same points in another order give
/// the same sums but for their last bits.
const EQUAL: f64 = 1e-9;

/// The probability that the points of a segment, in random order, can be cut as clearly as by `split`: `None` as
/// soon as it is sure to be above [`P_TO_SUSPECT`].
///
/// p = (1 + hits)/(B + 1) (Phipson and Smyth 2010). Of noise, one order in two is a hit, and twenty are drawn rather
/// than ten thousand; a stop of that kind can't make a p smaller. Each segment has a stream of the generator to
/// itself, so its answer doesn't depend on what was asked before.
pub(super) fn p_of_split(logs: &[f64], segment: Range<usize>, split: Split, seed: u64) -> Option<f64> {
    let total = f64::from(PERMUTATIONS + 1);
    let stream = (segment.start as u128) << 64 | segment.end as u128;
    let mut generator = Pcg64::seed_from_u64(seed);
    generator = Pcg64::new(u128::from(generator.next_u64()), stream);
    let mut points = logs[segment].to_vec();
    let mut cutter = Cutter::new(points.len(), LEAST_POINTS);
    let clear = split.divergence * (1.0 - EQUAL);
    let mut hits = 0_u32;
    for _ in 0..PERMUTATIONS {
        shuffle(&mut points, &mut generator);
        if cutter.best_split(&points).is_some_and(|by_chance| by_chance.divergence >= clear) {
            hits += 1;
            if f64::from(1 + hits) / total > P_TO_SUSPECT {
                return None;
            }
        }
    }
    Some(f64::from(1 + hits) / total)
}

/// Fisher and Yates. The place is the upper half of a product of 128 bits: unlike `rand`'s own it can't change with a
/// version of it, and it is even to 2^-58.
fn shuffle(points: &mut [f64], generator: &mut Pcg64) {
    for last in (1..points.len()).rev() {
        let place = (u128::from(generator.next_u64()) * (last as u128 + 1)) >> 64;
        points.swap(last, usize::try_from(place).expect("invariant: no greater than `last`"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::energy::best_split;
    use super::*;

    fn check(logs: &[f64], least_p: f64, greatest_p: f64) {
        let split = best_split(logs, LEAST_POINTS).unwrap();
        let p = p_of_split(logs, 0..logs.len(), split, 3);
        assert!(p.is_some_and(|p| (least_p..=greatest_p).contains(&p)), "{p:?} of {logs:?}");
        assert_eq!(p, p_of_split(logs, 0..logs.len(), split, 3), "the seed decides");
    }

    #[test]
    fn the_probability_is_that_of_the_order() {
        let step = |before: usize, after: usize| -> Vec<f64> {
            (0..before + after).map(|i| f64::from(u8::from(i >= before))).collect()
        };
        check(&step(20, 20), 1e-4, 1e-4);
        // Of 2 · C(12, 6) · … orders a few cut as well: the low ones first or the high ones first, 2 of 924.
        let twelve = step(6, 6);
        let split = best_split(&twelve, LEAST_POINTS).unwrap();
        assert_eq!(p_of_split(&twelve, 0..12, split, 3), None, "2/924 is above .001");
        // 2 of 3,432.
        check(&step(7, 7), 3e-4, 1e-3);
    }
}
