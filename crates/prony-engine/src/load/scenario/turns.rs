//! Numbers that the threads of a load take in turn: rows of feeds, `{counter}`.
//!
//! The threads of one machine share a counter. Agents that share a load can't: each takes the numbers that the turns of
//! its own threads would get, so that no number is taken twice and none is left out.

use std::sync::atomic::{AtomicU64, Ordering};

use prony_model::{RunPlan, Share};

/// One sequence of numbers from 0, of which this machine takes its part.
pub(super) struct Turns {
    first: u64,
    threads: u64,
    of: u64,
    taken: AtomicU64,
}

impl Default for Turns {
    /// All numbers.
    fn default() -> Self {
        Self { first: 0, threads: 1, of: 1, taken: AtomicU64::new(0) }
    }
}

impl Turns {
    /// Those of the threads of `plan`.
    pub(super) fn of(plan: &RunPlan) -> Self {
        let Share { first, of } = plan.share();
        let threads = u64::from(plan.threads.max(1));
        Self { first: first.into(), threads, of: of.into(), ..Self::default() }
    }

    /// The next number.
    pub(super) fn take(&self) -> u64 {
        let taken = self.taken.fetch_add(1, Ordering::Relaxed);
        taken / self.threads * self.of + self.first + taken % self.threads
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agents_take_each_number_once(threads in prop::collection::vec(1_u64..9, 1..9), rounds in 1_u64..50) {
            let of: u64 = threads.iter().sum();
            let mut first = 0;
            let mut taken = Vec::new();
            for threads in threads {
                let turns = Turns { first, threads, of, taken: AtomicU64::new(0) };
                taken.extend((0..rounds * threads).map(|_| turns.take()));
                first += threads;
            }
            taken.sort_unstable();
            prop_assert_eq!(taken, (0..rounds * of).collect::<Vec<_>>());
        }
    }
}
