//! When requests are due: pure arithmetic on the moment at which the load began.
//!
//! An open loop's schedule is never changed by what happens, and needs no queue: a cursor counts what is due,
//! another one what was taken, and the difference is what waits.

use std::num::NonZeroU64;
use std::sync::Arc;

use prony_model::{Arrivals, Moments, Rate, RunPlan, Stages};
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
    /// Moments from a file, dealt round: this thread has every `stride`-th.
    Recorded { start: Nanos, moments: Moments, index: usize, stride: NonZeroU64 },
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
            Arrivals::Recorded => return Self::recorded(Moments::default(), part),
        };
        let limit = match arrivals {
            _ if part.requests == u64::MAX => u64::MAX,
            Arrivals::Constant => constant_share(rate, part),
            Arrivals::Poisson | Arrivals::Bursty { .. } | Arrivals::Recorded => {
                RunPlan::part_of(part.requests, part.thread, part.threads)
            }
        };
        Self::with(cursor, limit, part)
    }

    /// The part of `part.thread` in a load of `stages` over all threads; no count ends it.
    pub(crate) fn of_stages(stages: &Stages, arrivals: Arrivals, part: Part) -> Self {
        let curve = Arc::new(Curve::of_stages(stages, part.count_from.saturating_sub(part.start)));
        let cursor = match arrivals {
            Arrivals::Constant | Arrivals::Recorded => Cursor::staged(curve, part),
            Arrivals::Poisson | Arrivals::Bursty { .. } => Cursor::warped(curve, arrivals, part),
        };
        Self::with(cursor, u64::MAX, part)
    }

    /// The part of `part.thread` of `moments`, which are from `part.start` on.
    pub(crate) fn recorded(moments: Moments, part: Part) -> Self {
        let stride = NonZeroU64::new(u64::from(part.threads)).expect("invariant: plans have a thread");
        let warmup = part.count_from.saturating_sub(part.start);
        let counted = moments.as_slice().partition_point(|moment| *moment < warmup)..moments.as_slice().len();
        // Of the first `n` moments.
        let own = |n: usize| (n as u64 + stride.get() - 1 - u64::from(part.thread)) / stride;
        let limit = own(counted.end) - own(counted.start);
        let cursor = Cursor::Recorded { start: part.start, moments, index: part.thread as usize, stride };
        Self::with(cursor, limit, part)
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
            Arrivals::Constant | Arrivals::Poisson | Arrivals::Recorded => None,
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
            Self::Recorded { start, moments, index, .. } => {
                moments.as_slice().get(*index).map_or(NEVER, |moment| start.saturating_add(*moment))
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
            Self::Recorded { index, stride, .. } => {
                *index = index.saturating_add(usize::try_from(stride.get()).unwrap_or(usize::MAX));
            }
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
mod tests;
