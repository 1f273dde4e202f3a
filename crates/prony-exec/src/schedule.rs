//! Which command is next, and when it is enough. Pure: time comes as an argument.

use std::time::Duration;

use prony_model::ExecRuns;
use rand::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64;

/// The orders of the rounds, one after the other, from a seed.
#[derive(Debug)]
pub(crate) struct Orders(Pcg64);

impl Orders {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Pcg64::seed_from_u64(seed))
    }

    /// The numbers 0..`entries` in an order that is as likely as any other (Fisher and Yates).
    pub(crate) fn next(&mut self, entries: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..entries).collect();
        for last in (1..entries).rev() {
            order.swap(last, self.below(last as u64 + 1));
        }
        order
    }

    /// A number from 0 to `bound` − 1. The product's upper half; for bounds of some hundred its bias is below 2^−55.
    #[expect(clippy::cast_possible_truncation, reason = "below the bound, which is a usize")]
    fn below(&mut self, bound: u64) -> usize {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as usize
    }
}

/// Whether another round is due after `rounds` of `commands` commands that took `elapsed`.
pub(crate) fn goes_on(runs: &ExecRuns, rounds: u32, commands: usize, elapsed: Duration) -> bool {
    rounds < runs.least || (rounds < runs.most && elapsed < budget(runs, commands))
}

/// How many rounds there will be at least, as far as that is known after `rounds` of them.
pub(crate) fn expected(runs: &ExecRuns, rounds: u32, commands: usize, elapsed: Duration) -> u32 {
    let by_time = if rounds == 0 || elapsed.is_zero() {
        0.0
    } else {
        (f64::from(rounds) * budget(runs, commands).as_secs_f64() / elapsed.as_secs_f64()).ceil()
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive; saturates")]
    (by_time as u32).clamp(runs.least, runs.most)
}

/// The time that all commands have together.
fn budget(runs: &ExecRuns, commands: usize) -> Duration {
    runs.least_time.saturating_mul(u32::try_from(commands).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNS: ExecRuns = ExecRuns { warmup: 0, least: 10, most: 100, least_time: Duration::from_secs(3) };

    #[test]
    fn orders_are_fair_and_repeatable() {
        let mut orders = Orders::new(7);
        let mut first = [0; 3];
        for _ in 0..3000 {
            let order = orders.next(3);
            first[order[0]] += 1;
            let mut sorted = order;
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2]);
        }
        assert!(first.iter().all(|count| (850..=1150).contains(count)), "{first:?}");
        let (mut one, mut other, mut third) = (Orders::new(8), Orders::new(8), Orders::new(9));
        let of = |orders: &mut Orders| (0..20).map(|_| orders.next(5)).collect::<Vec<_>>();
        assert_eq!(of(&mut one), of(&mut other));
        assert_ne!(of(&mut Orders::new(8)), of(&mut third));
        assert_eq!(orders.next(0), Vec::<usize>::new());
    }

    #[test]
    fn when_it_is_enough() {
        let check = |rounds: u32, commands: usize, elapsed_s: u64, expected: bool| {
            let actual = goes_on(&RUNS, rounds, commands, Duration::from_secs(elapsed_s));
            assert_eq!(actual, expected, "{rounds} rounds of {commands} in {elapsed_s} s");
        };
        check(0, 1, 0, true);
        check(9, 1, 100, true);
        check(10, 1, 2, true);
        check(10, 1, 3, false);
        check(10, 2, 5, true);
        check(10, 2, 6, false);
        check(100, 1, 1, false);
    }

    #[test]
    fn how_many_there_will_be() {
        let estimate =
            |rounds: u32, elapsed_ms: u64| expected(&RUNS, rounds, 1, Duration::from_millis(elapsed_ms));
        assert_eq!(
            [estimate(0, 0), estimate(1, 100), estimate(1, 1), estimate(5, 10_000)],
            [10, 30, 100, 10]
        );
    }
}
