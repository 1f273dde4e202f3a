//! When requests are due: pure arithmetic on the moment at which the load began.
//!
//! An open loop's schedule is never changed by what happens, and needs no queue: a cursor counts what is due,
//! another one what was taken, and the difference is what waits.

use std::num::NonZeroU64;

use prony_model::{Arrivals, Rate, RunPlan};
use rand::Rng as _;
use rand_pcg::Pcg64;

use crate::clock::{NEVER, Nanos};

/// This thread's part of an open-loop schedule.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    /// The next request that becomes due.
    due: Cursor,
    due_count: u64,
    /// The next request to be sent.
    taken: Cursor,
    taken_count: u64,
    /// Requests of this thread at most, from `count_from` on.
    limit: u64,
    counted: u64,
    count_from: Nanos,
    /// No request is due from this moment on.
    end: Nanos,
}

#[derive(Debug, Clone)]
enum Cursor {
    /// Request `index` of all threads is due `index / rate` after the start; this thread has every
    /// `stride`-th, so that the threads together make exactly the asked schedule.
    Constant { start: Nanos, rate_per_s: f64, index: u64, stride: NonZeroU64 },
    /// A Poisson process of this thread's own; the sum of independent ones is one of the summed rate.
    Poisson { next_ns: f64, start: Nanos, mean_gap_ns: f64, random: Box<Pcg64> },
}

/// What a schedule is made for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    /// This thread, from 0; of a load that agents share, among those of all agents.
    pub thread: u32,
    /// How many threads share the schedule.
    pub threads: u32,
    /// Seed of the run.
    pub seed: u64,
    /// The first request is due now.
    pub start: Nanos,
    /// No request is due from here on.
    pub end: Nanos,
    /// Requests of all threads at most, not counting those due before `count_from`; [`u64::MAX`] for no limit.
    pub requests: u64,
    /// When the measured part begins.
    pub count_from: Nanos,
}

impl Schedule {
    /// The part of `part.thread` in a load of `rate` over all threads.
    pub(crate) fn new(rate: Rate, arrivals: Arrivals, part: Part) -> Self {
        let stride = NonZeroU64::new(u64::from(part.threads)).expect("invariant: plans have a thread");
        let cursor = match arrivals {
            Arrivals::Constant => Cursor::Constant {
                start: part.start,
                rate_per_s: rate.as_per_second(),
                index: u64::from(part.thread),
                stride,
            },
            Arrivals::Poisson => {
                let mean_gap_ns = 1e9 / rate.as_per_second() * stride.get() as f64;
                // One stream per thread of the same seed: independent, and the same in every repetition.
                let mut random = Box::new(Pcg64::new(u128::from(part.seed), u128::from(part.thread)));
                let next_ns = exponential(&mut random) * mean_gap_ns;
                Cursor::Poisson { next_ns, start: part.start, mean_gap_ns, random }
            }
        };
        let limit = match arrivals {
            _ if part.requests == u64::MAX => u64::MAX,
            Arrivals::Constant => constant_share(rate, part),
            Arrivals::Poisson => RunPlan::part_of(part.requests, part.thread, part.threads),
        };
        Self {
            due: cursor.clone(),
            due_count: 0,
            taken: cursor,
            taken_count: 0,
            limit,
            counted: 0,
            count_from: part.count_from,
            end: part.end,
        }
    }

    /// Requests that are due at `now` and were not taken yet.
    #[inline]
    pub(crate) fn waiting(&mut self, now: Nanos) -> u64 {
        loop {
            let moment = self.next_due();
            if moment > now {
                break;
            }
            self.due.advance();
            self.due_count += 1;
            self.counted += u64::from(moment >= self.count_from);
        }
        self.due_count - self.taken_count
    }

    /// When the next request becomes due that is not due yet.
    #[inline]
    pub(crate) fn next_due(&self) -> Nanos {
        let moment = self.due.moment();
        // A thread that has no part in the count still has one in the warm-up.
        let wanted = self.counted < self.limit || moment < self.count_from;
        if wanted && moment < self.end { moment } else { NEVER }
    }

    /// Takes the oldest waiting request: when it was due. Call only after `waiting` returned more than 0.
    #[inline]
    pub(crate) fn take(&mut self) -> Nanos {
        debug_assert!(self.taken_count < self.due_count, "takes what waits");
        let moment = self.taken.moment();
        self.taken.advance();
        self.taken_count += 1;
        moment
    }

    /// Requests of this thread that count at most; [`u64::MAX`] for no limit.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// When the oldest waiting request was due. Call only after `waiting` returned more than 0.
    pub(crate) fn oldest(&self) -> Nanos {
        self.taken.moment()
    }

    /// Ends the schedule at `now`, if that is earlier than its end.
    pub(crate) fn end_at(&mut self, now: Nanos) {
        self.end = self.end.min(now);
    }

    /// Whether every request was taken.
    pub(crate) fn is_over(&self) -> bool {
        self.next_due() == NEVER && self.taken_count == self.due_count
    }
}

impl Cursor {
    #[inline]
    fn moment(&self) -> Nanos {
        match self {
            Self::Constant { start, rate_per_s, index, .. } => {
                start.saturating_add(offset(*index, *rate_per_s))
            }
            Self::Poisson { next_ns, start, .. } => start.saturating_add(whole_nanos(*next_ns)),
        }
    }

    #[inline]
    fn advance(&mut self) {
        match self {
            Self::Constant { index, stride, .. } => *index += stride.get(),
            Self::Poisson { next_ns, mean_gap_ns, random, .. } => {
                *next_ns += exponential(random) * *mean_gap_ns;
            }
        }
    }
}

/// How many of the counted requests of a constant schedule are `part.thread`'s: those that are due next from
/// `count_from` on, whoever's turn it is after the warm-up.
fn constant_share(rate: Rate, part: Part) -> u64 {
    let rate_per_s = rate.as_per_second();
    let warmup = part.count_from.saturating_sub(part.start);
    // The first index that counts: estimated, and then corrected by the rounding of `offset`.
    let mut first = whole_nanos(warmup as f64 * (rate_per_s / 1e9));
    while first > 0 && offset(first - 1, rate_per_s) >= warmup {
        first -= 1;
    }
    while offset(first, rate_per_s) < warmup {
        first += 1;
    }
    let threads = u64::from(part.threads);
    let turn = (u64::from(part.thread) + threads - first % threads) % threads;
    let turn = u32::try_from(turn).expect("invariant: below the number of threads");
    RunPlan::part_of(part.requests, turn, part.threads)
}

/// `index / rate`, in nanoseconds. Computed from the index each time, so that no rounding adds up.
#[inline]
fn offset(index: u64, rate_per_s: f64) -> Nanos {
    whole_nanos(index as f64 * 1e9 / rate_per_s)
}

/// An exponentially distributed number with mean 1 (inverse transform; 1 − u is never 0).
fn exponential(random: &mut Pcg64) -> f64 {
    const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
    let uniform = (random.next_u64() >> 11) as f64 * STEP;
    -(1.0 - uniform).ln()
}

#[inline]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative; the cast saturates"
)]
fn whole_nanos(nanos: f64) -> Nanos {
    nanos as Nanos
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn schedule(
        rate: f64,
        arrivals: Arrivals,
        thread: u32,
        threads: u32,
        end: Nanos,
        requests: u64,
    ) -> Schedule {
        let rate = Rate::per_second(rate).expect("a rate");
        Schedule::new(
            rate,
            arrivals,
            Part { thread, threads, seed: 7, start: 1_000, count_from: 1_000, end, requests },
        )
    }

    /// Everything that `schedule` makes due until it is over, at once.
    fn all(mut schedule: Schedule) -> Vec<Nanos> {
        let count = schedule.waiting(NEVER - 1);
        let moments = (0..count).map(|_| schedule.take()).collect();
        assert!(schedule.is_over());
        moments
    }

    fn check_rate(rate: f64, threads: u32, seconds: u64) {
        let end = 1_000 + seconds * 1_000_000_000;
        let mut moments: Vec<Nanos> = (0..threads)
            .flat_map(|thread| all(schedule(rate, Arrivals::Constant, thread, threads, end, u64::MAX)))
            .collect();
        moments.sort_unstable();
        let one = all(schedule(rate, Arrivals::Constant, 0, 1, end, u64::MAX));
        assert_eq!(moments, one, "{threads} threads make the schedule of one");
        assert_eq!(one.len() as u64, whole_nanos((rate * seconds as f64).ceil()), "{rate}/s for {seconds} s");
    }

    #[test]
    fn constant_rates_add_up_exactly() {
        check_rate(1000.0, 1, 10);
        check_rate(1000.0, 3, 10);
        check_rate(333.333, 7, 30);
        check_rate(2_000_003.0, 16, 1);
        check_rate(0.5, 2, 9);
    }

    #[test]
    fn poisson_keeps_its_rate_and_its_seed() {
        let end = 1_000 + 100_000_000_000;
        let part = |thread| all(schedule(1000.0, Arrivals::Poisson, thread, 2, end, u64::MAX));
        let (first, second) = (part(0), part(1));
        let total = first.len() + second.len();
        // 100,000 expected, standard deviation 316.
        assert!((98_700..101_300).contains(&total), "{total}");
        assert_ne!(first, second);
        assert_eq!(first, part(0));
        // Exponential gaps have a standard deviation equal to their mean.
        let gaps: Vec<f64> = first.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.03, "{}", variance.sqrt() / mean);
    }

    #[test]
    fn limits_and_early_ends() {
        assert_eq!(all(schedule(1000.0, Arrivals::Constant, 0, 1, NEVER, 17)).len(), 17);
        let mut cut = schedule(1000.0, Arrivals::Constant, 0, 1, NEVER, u64::MAX);
        assert_eq!(cut.waiting(1_000 + 5_000_000), 6);
        cut.end_at(1_000 + 5_000_000);
        assert_eq!(cut.next_due(), NEVER);
        assert!(!cut.is_over(), "six wait");
        for _ in 0..6 {
            cut.take();
        }
        assert!(cut.is_over());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn threads_together_make_the_schedule_of_one(
            rate in 0.5_f64..2e6,
            threads in 1_u32..9,
            warmup in prop_oneof![Just(0), 0_u64..3_000_000_000],
            requests in 1_u64..500,
        ) {
            let rate = Rate::per_second(rate).expect("a rate");
            let (start, end) = (1_000, NEVER);
            // At high rates only the end of the warm-up, so that a case stays small.
            let warmup = warmup.min(whole_nanos(2e12 / rate.as_per_second()));
            let count_from = start + warmup;
            let of = |thread, threads| {
                let part = Part { thread, threads, seed: 7, start, count_from, end, requests };
                all(Schedule::new(rate, Arrivals::Constant, part))
            };
            let mut together: Vec<Nanos> = (0..threads).flat_map(|thread| of(thread, threads)).collect();
            together.sort_unstable();
            let counted = together.iter().filter(|moment| **moment >= count_from).count();
            prop_assert_eq!(counted as u64, requests);
            prop_assert_eq!(together, of(0, 1));
        }

        #[test]
        fn poisson_threads_share_a_count(threads in 1_u32..9, warmup in 0_u64..100_000_000, requests in 1_u64..500) {
            let rate = Rate::per_second(5_000.0).expect("a rate");
            let count_from = 1_000 + warmup;
            let counted: usize = (0..threads)
                .map(|thread| Part { thread, threads, seed: 3, start: 1_000, count_from, end: NEVER, requests })
                .map(|part| all(Schedule::new(rate, Arrivals::Poisson, part)))
                .map(|moments| moments.iter().filter(|moment| **moment >= count_from).count())
                .sum();
            prop_assert_eq!(counted as u64, requests);
        }
    }
}
