//! When requests are due: pure arithmetic on the moment at which the load began.
//!
//! An open loop's schedule is never changed by what happens, and needs no queue: a cursor counts what is due,
//! another one what was taken, and the difference is what waits.

use std::num::NonZeroU64;
use std::sync::Arc;

use prony_model::{Arrivals, Rate, RunPlan, Stages};
use rand::Rng as _;
use rand_pcg::Pcg64;

use crate::clock::{NEVER, Nanos};
use crate::load::bursts::Bursts;
use crate::load::curve::Curve;

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
    /// Of a rate that changes, request `index` is due where its integral reaches that, and this thread has every
    /// `stride`-th.
    Staged { curve: Arc<Curve>, origin: Nanos, index: i64, stride: NonZeroU64, next: Nanos },
    /// A process of this thread's own of rate 1, on whose time `curve` and bursts are.
    Warped(Box<Warped>),
}

/// Random arrivals at a rate that changes. A process of rate 1 is turned into one of any rate by the inverse of the
/// rate's integral.
#[derive(Debug, Clone)]
struct Warped {
    curve: Arc<Curve>,
    bursts: Option<Bursts>,
    /// The beginning of the measured part.
    origin: Nanos,
    /// What all threads have counted on average since the beginning of the warm-up.
    count: f64,
    threads: f64,
    random: Pcg64,
    next: Nanos,
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
            Arrivals::Bursty { .. } => {
                let curve = Curve::steady(rate, part.count_from.saturating_sub(part.start));
                Cursor::warped(Arc::new(curve), arrivals, part)
            }
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
            Arrivals::Poisson | Arrivals::Bursty { .. } => {
                RunPlan::part_of(part.requests, part.thread, part.threads)
            }
        };
        Self::with(cursor, limit, part)
    }

    /// The part of `part.thread` in a load of `stages` over all threads; no count ends it.
    pub(crate) fn of_stages(stages: &Stages, arrivals: Arrivals, part: Part) -> Self {
        let curve = Arc::new(Curve::of_stages(stages, part.count_from.saturating_sub(part.start)));
        let cursor = match arrivals {
            Arrivals::Constant => Cursor::staged(curve, part),
            Arrivals::Poisson | Arrivals::Bursty { .. } => Cursor::warped(curve, arrivals, part),
        };
        Self::with(cursor, u64::MAX, part)
    }

    fn with(cursor: Cursor, limit: u64, part: Part) -> Self {
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
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the cast saturates, at more requests than a run can have"
    )]
    fn staged(curve: Arc<Curve>, part: Part) -> Self {
        let stride = NonZeroU64::new(u64::from(part.threads)).expect("invariant: plans have a thread");
        let index = curve.begins().ceil() as i64 + i64::from(part.thread);
        let next = moment(part.count_from, curve.reaches(index as f64));
        Self::Staged { curve, origin: part.count_from, index, stride, next }
    }

    fn warped(curve: Arc<Curve>, arrivals: Arrivals, part: Part) -> Self {
        let bursts = match arrivals {
            Arrivals::Bursty { factor, mean } => {
                Some(Bursts::new(&curve, factor, mean.as_nanos() as f64, part.seed))
            }
            Arrivals::Constant | Arrivals::Poisson => None,
        };
        let mut warped = Warped {
            curve,
            bursts,
            origin: part.count_from,
            count: 0.0,
            threads: f64::from(part.threads),
            // One stream per thread of the same seed: independent, and the same in every repetition.
            random: Pcg64::new(u128::from(part.seed), u128::from(part.thread)),
            next: 0,
        };
        warped.advance();
        Self::Warped(Box::new(warped))
    }

    #[inline]
    fn moment(&self) -> Nanos {
        match self {
            Self::Constant { start, rate_per_s, index, .. } => {
                start.saturating_add(offset(*index, *rate_per_s))
            }
            Self::Poisson { next_ns, start, .. } => start.saturating_add(whole_nanos(*next_ns)),
            Self::Staged { next, .. } => *next,
            Self::Warped(warped) => warped.next,
        }
    }

    #[inline]
    fn advance(&mut self) {
        match self {
            Self::Constant { index, stride, .. } => *index += stride.get(),
            Self::Poisson { next_ns, mean_gap_ns, random, .. } => {
                *next_ns += exponential(random) * *mean_gap_ns;
            }
            Self::Staged { curve, origin, index, stride, next } => {
                *index = index.saturating_add_unsigned(stride.get());
                *next = moment(*origin, curve.reaches(*index as f64));
            }
            Self::Warped(warped) => warped.advance(),
        }
    }
}

impl Warped {
    fn advance(&mut self) {
        self.count += exponential(&mut self.random) * self.threads;
        let count = match &mut self.bursts {
            None => Some(self.curve.begins() + self.count),
            Some(bursts) => bursts.reaches(&self.curve, self.count),
        };
        self.next = moment(self.origin, count.and_then(|count| self.curve.reaches(count)));
    }
}

/// The moment `offset_ns` from `origin`, or [`NEVER`].
#[expect(clippy::cast_possible_truncation, reason = "whole, and the cast saturates")]
fn moment(origin: Nanos, offset_ns: Option<f64>) -> Nanos {
    offset_ns.map_or(NEVER, |offset| origin.saturating_add_signed(offset as i64))
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
pub(super) fn exponential(random: &mut Pcg64) -> f64 {
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

    /// The parts of all threads of a load in stages, in the order of their moments.
    fn staged(stages: &Stages, arrivals: Arrivals, threads: u32, warmup: Nanos, seed: u64) -> Vec<Nanos> {
        let count_from = 1_000 + warmup;
        let end = count_from + u64::try_from(stages.duration().as_nanos()).expect("a run's length");
        let part = |thread| Part { thread, threads, seed, start: 1_000, count_from, end, requests: u64::MAX };
        let of = |thread| all(Schedule::of_stages(stages, arrivals, part(thread)));
        let mut moments: Vec<Nanos> = (0..threads).flat_map(of).collect();
        moments.sort_unstable();
        moments
    }

    fn parsed(text: &str) -> Stages {
        Stages::parse(text).expect("stages")
    }

    #[test]
    fn one_stage_is_a_constant_rate() {
        let end = 1_000 + 30_000_000_000;
        for rate in [1.0, 333.25, 1000.0] {
            let stages = parsed(&format!("{rate}/s:30s"));
            let one = all(schedule(rate, Arrivals::Constant, 0, 1, end, u64::MAX));
            let same = staged(&stages, Arrivals::Constant, 3, 0, 7);
            assert_eq!(one.len(), same.len(), "{rate}");
            assert!(one.iter().zip(&same).all(|(one, same)| one.abs_diff(*same) <= 1), "{rate}");
        }
    }

    #[test]
    fn hours_of_stages_add_up_to_the_request() {
        let moments = staged(&parsed("0.1/s:10h,0.1..0.5/s:10h,0.5/s:10h"), Arrivals::Constant, 2, 0, 7);
        assert_eq!(moments.len(), 3600 + 10_800 + 18_000);
        let hour = |number: u64| 1_000 + number * 3_600_000_000_000;
        let between =
            |from, to| moments.iter().filter(|moment| (hour(from)..hour(to)).contains(*moment)).count();
        assert_eq!([between(0, 10), between(10, 20), between(20, 30)], [3600, 10_800, 18_000]);
    }

    /// Counts of arrivals in windows: their mean, and their variance over it.
    fn dispersion(moments: &[Nanos], from: Nanos, window: Nanos, windows: usize) -> (f64, f64) {
        let mut counts = vec![0.0; windows];
        for moment in moments.iter().filter(|moment| **moment >= from) {
            let index = usize::try_from((moment - from) / window).expect("a small number");
            if let Some(count) = counts.get_mut(index) {
                *count += 1.0;
            }
        }
        let mean = counts.iter().sum::<f64>() / windows as f64;
        let variance =
            counts.iter().map(|count: &f64| (count - mean).powi(2)).sum::<f64>() / (windows - 1) as f64;
        (mean, variance / mean)
    }

    #[test]
    fn poisson_in_stages_has_the_rates_of_the_stages() {
        let moments = staged(&parsed("100/s:100s,0:100s,100..900/s:100s"), Arrivals::Poisson, 3, 0, 11);
        let second = |number: u64| 1_000 + number * 1_000_000_000;
        let between = |from, to| {
            moments.iter().filter(|moment| (second(from)..second(to)).contains(*moment)).count() as f64
        };
        // Expected ± 4.5 standard deviations.
        for (from, to, expected) in
            [(0, 100, 10_000.0_f64), (100, 200, 0.0), (200, 250, 15_000.0), (250, 300, 35_000.0)]
        {
            let count = between(from, to);
            assert!((count - expected).abs() <= 4.5 * expected.sqrt(), "{from}..{to}: {count}");
        }
        let (_, poisson) = dispersion(&moments, second(0), 1_000_000_000, 100);
        assert!((poisson - 1.0).abs() < 0.7, "{poisson}");
        assert_eq!(
            moments,
            staged(&parsed("100/s:100s,0:100s,100..900/s:100s"), Arrivals::Poisson, 3, 0, 11)
        );
    }

    /// Index of dispersion for counts in windows of length T of an interrupted Poisson process, from its two states:
    /// 1 + 2 r L (f − 1)²/f · (1 − (1 − e^(−sT)) / (sT)), s = f / (L (f − 1)) (Fischer and Meier-Hellstern, 1993).
    #[test]
    fn bursts_have_the_mean_and_the_dispersion_of_their_process() {
        let (rate, factor, mean_s, window_s, seconds) = (50.0_f64, 4.0_f64, 0.5_f64, 2.0_f64, 20_000_u32);
        let arrivals = Arrivals::Bursty { factor, mean: std::time::Duration::from_secs_f64(mean_s) };
        let stages = parsed(&format!("{rate}/s:{seconds}s"));
        let moments = staged(&stages, arrivals, 3, 0, 5);
        let windows = 10_000;
        let (mean, index) = dispersion(&moments, 1_000, 2_000_000_000, windows);
        let speed = factor / (mean_s * (factor - 1.0)) * window_s;
        let expected = 1.0
            + 2.0 * rate * mean_s * (factor - 1.0).powi(2) / factor * (1.0 - (1.0 - (-speed).exp()) / speed);
        // The mean of 10,000 windows of that dispersion.
        let error = (rate * window_s * expected / windows as f64).sqrt();
        assert!((mean - rate * window_s).abs() < 4.5 * error, "{mean} ± {error}");
        assert!((index / expected - 1.0).abs() < 0.08, "{index}, expected {expected}");
        // In a burst the rate is the factor's, and it takes one part of so many of the time.
        let busy = moments
            .chunk_by(|a, b| b - a < 100_000_000)
            .map(|burst| (burst[burst.len() - 1] - burst[0]) as f64);
        let share = busy.sum::<f64>() / 1e9 / f64::from(seconds);
        assert!((share * factor - 1.0).abs() < 0.08, "{share}");
    }

    #[test]
    fn bursts_of_a_constant_rate_are_those_of_one_stage() {
        let arrivals = Arrivals::Bursty { factor: 5.0, mean: std::time::Duration::from_millis(200) };
        let end = 1_000 + 50_000_000_000;
        let plain: Vec<Nanos> =
            (0..2).map(|thread| schedule(100.0, arrivals, thread, 2, end, u64::MAX)).flat_map(all).collect();
        let mut plain = plain;
        plain.sort_unstable();
        assert_eq!(plain, staged(&parsed("100/s:50s"), arrivals, 2, 0, 7));
        assert_eq!(all(schedule(100.0, arrivals, 0, 1, NEVER, 40)).len(), 40, "a count ends it, too");
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
        fn threads_together_make_the_stages_of_one(
            rates in prop::collection::vec((0_u32..2000, 0_u32..2000, 1_u64..1500), 1..7),
            threads in 1_u32..9,
            warmup in prop_oneof![Just(0), 0_u64..1_000_000_000],
        ) {
            let stages = Stages(rates.into_iter().map(|(from, to, ms)| prony_model::Stage {
                name: None,
                from_per_s: from.into(),
                to_per_s: to.into(),
                duration: std::time::Duration::from_millis(ms),
            }).collect());
            let one = staged(&stages, Arrivals::Constant, 1, warmup, 7);
            prop_assert_eq!(&one, &staged(&stages, Arrivals::Constant, threads, warmup, 7));
            let measured: Vec<Nanos> = one.into_iter().filter(|moment| *moment >= 1_000 + warmup).collect();
            // Each stage has the requests of its integral: those that it begins to hold.
            let mut first = 0.0;
            for (from_s, stage) in stages.spans() {
                let begin = 1_000 + warmup + whole_nanos((from_s * 1e9).round());
                let end = begin + u64::try_from(stage.duration.as_nanos()).expect("a stage's length");
                let next = first + stage.requests();
                let expected = (next - 1e-7).ceil() - (first - 1e-7).ceil();
                first = next;
                let count = measured.iter().filter(|moment| (begin..end).contains(*moment)).count();
                prop_assert!((count as f64 - expected).abs() < 0.5, "{} of {}", count, expected);
            }
            prop_assert!((measured.len() as f64 - (first - 1e-7).ceil().max(0.0)).abs() < 0.5);
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
