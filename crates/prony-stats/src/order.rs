//! In which order the blocks of each pair run.

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

/// The order of one pair of adjacent blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairOrder {
    /// A first.
    AFirst,
    /// B first.
    BFirst,
}

/// The order of each of `pairs` pairs, by a fair coin: whatever the first block does to the second (a
/// warm cache, a throttled CPU) then favours neither side.
///
/// `seed` starts a PCG XSL RR 128/64 generator. The first pairs of a longer list are those of a shorter
/// one, so a sequential comparison may go on.
pub fn pair_orders(pairs: usize, seed: u64) -> Vec<PairOrder> {
    let mut generator = Pcg64::seed_from_u64(seed);
    let mut toss = || if generator.next_u64() >> 63 == 0 { PairOrder::AFirst } else { PairOrder::BFirst };
    (0..pairs).map(|_| toss()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_fair_and_repeatable() {
        let orders = pair_orders(1000, 7);
        let first = orders.iter().filter(|order| **order == PairOrder::AFirst).count();
        assert!((450..=550).contains(&first), "A is first in {first} of 1000");
        assert_eq!(pair_orders(16, 7), orders[..16]);
        assert_ne!(pair_orders(16, 8), orders[..16]);
    }
}
