//! Whether several observers saw the same thing at the same time.
//!
//! Observers that load one server see the same stalls, so what one of them sees in a block of time is compared with what
//! the others see in the same block, which takes the server's own changes out. If nobody is unlike the others, then the
//! names of the observers mean nothing within a block: exchanging them at random shows how far the farthest of them is
//! from the others by chance. Because the statistic is the greatest of all deviations, its probability needs no further
//! correction for the number of observers. Sources: randomised blocks and permutations within them, Good, Permutation,
//! Parametric and Bootstrap Tests of Hypotheses (2005), 6.2; the greatest statistic, Westfall and Young, Resampling-Based
//! Multiple Testing (1993), 2.3; p = (1 + hits)/(B + 1), Phipson and Smyth (2010).

use rand::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64;

/// How many random exchanges are drawn: the least probability is 1/1000.
const EXCHANGES: u32 = 999;

/// The observer that is farthest from the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Farthest {
    /// Its number, from 0.
    pub observer: usize,
    /// Its mean over the blocks − the mean of all others.
    pub difference: f64,
    /// The probability that the farthest of all observers is at least so far off, either way, if all see the same.
    pub p: f64,
}

/// The observer that is farthest from the others. `seen` has one row per block of time, with a value for each observer.
/// `None` for fewer than two observers, no block, or rows that are not equally long.
///
/// `seed` starts a PCG XSL RR 128/64 generator: the same seed gives the same probability.
pub fn farthest(seen: &[Vec<f64>], seed: u64) -> Option<Farthest> {
    let observers = seen.first()?.len();
    if observers < 2 || seen.iter().any(|block| block.len() != observers) {
        return None;
    }
    let mut sums = vec![0.0; observers];
    let found = greatest(seen, &mut sums);
    let mut generator = Pcg64::seed_from_u64(seed);
    let mut exchanged = seen.to_vec();
    let mut hits = 0_u32;
    for _ in 0..EXCHANGES {
        for block in &mut exchanged {
            shuffle(block, &mut generator);
        }
        let by_chance = greatest(&exchanged, &mut sums);
        // The same values in another order add up to another last digit.
        hits += u32::from(by_chance.1.abs() >= found.1.abs() * (1.0 - 1e-9));
    }
    Some(Farthest {
        observer: found.0,
        difference: found.1,
        p: f64::from(1 + hits) / f64::from(EXCHANGES + 1),
    })
}

/// The observer whose mean is farthest from that of the others, and by how much.
fn greatest(seen: &[Vec<f64>], sums: &mut [f64]) -> (usize, f64) {
    sums.fill(0.0);
    for block in seen {
        for (sum, value) in sums.iter_mut().zip(block) {
            *sum += value;
        }
    }
    let total: f64 = sums.iter().sum();
    let others = (sums.len() - 1) as f64;
    let blocks = seen.len() as f64;
    let differences = sums.iter().map(|sum| (sum - (total - sum) / others) / blocks).enumerate();
    differences.max_by(|one, other| one.1.abs().total_cmp(&other.1.abs())).unwrap_or((0, 0.0))
}

/// Fisher and Yates' shuffle.
fn shuffle(values: &mut [f64], generator: &mut Pcg64) {
    for last in (1..values.len()).rev() {
        let wide = u128::from(generator.next_u64()) * (last as u128 + 1);
        values.swap(last, usize::try_from(wide >> 64).unwrap_or(last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(generator: &mut Pcg64) -> f64 {
        (0..12).map(|_| (generator.next_u64() >> 11) as f64 / (1_u64 << 53) as f64).sum::<f64>() - 6.0
    }

    /// Ten blocks of `observers`, of which the last sees `more`; the server changes far more from block to block.
    fn seen(observers: usize, more: f64, generator: &mut Pcg64) -> Vec<Vec<f64>> {
        (0..10)
            .map(|_| {
                let server = 50.0 * noise(generator);
                let block = (0..observers).map(|_| server + noise(generator));
                let mut block: Vec<f64> = block.collect();
                block[observers - 1] += more;
                block
            })
            .collect()
    }

    #[test]
    fn observers_that_see_the_same_are_rarely_called_unlike() {
        let mut generator = Pcg64::seed_from_u64(5);
        for observers in [2, 3, 10] {
            let trials = 300;
            let called = (0..trials)
                .filter(|seed| farthest(&seen(observers, 0.0, &mut generator), *seed).unwrap().p < 0.05);
            // 15 expected, standard deviation 3.8.
            assert!(called.count() <= 27, "{observers} observers");
        }
    }

    #[test]
    fn one_that_sees_more_is_found_behind_the_changes_of_the_server() {
        let mut generator = Pcg64::seed_from_u64(6);
        for observers in [2, 3, 10] {
            let found = farthest(&seen(observers, 4.0, &mut generator), 1).unwrap();
            assert!(found.observer == observers - 1 || observers == 2, "{found:?}");
            assert!(found.p < 0.01 && (found.difference.abs() - 4.0).abs() < 2.0, "{observers}: {found:?}");
        }
    }

    #[test]
    fn too_little_is_no_answer() {
        assert_eq!(farthest(&[], 1), None);
        assert_eq!(farthest(&[vec![1.0]], 1), None);
        assert_eq!(farthest(&[vec![1.0, 2.0], vec![1.0]], 1), None);
        let same = farthest(&[vec![1.0, 1.0, 1.0], vec![2.0, 2.0, 2.0]], 1).unwrap();
        assert!((same.p - 1.0).abs() < 1e-12 && same.difference.abs() < 1e-12);
    }
}
