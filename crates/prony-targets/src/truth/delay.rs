//! What is drawn for a request: pure functions of the seed and the request's id, and of nothing else.

use std::time::Duration;

use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

use crate::clock::SECOND_NS;

/// The longest time any delay may have: an hour. Sums of a few stay far from overflow.
pub(super) const DELAY_LIMIT_NS: u64 = 3600 * SECOND_NS;
/// Numbers of the generator set aside for each id; two are used.
const DRAWS_PER_ID: u128 = 4;

/// How long a request takes to serve, and what else can keep it waiting. No time here may exceed an hour.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Delay {
    /// Always the same.
    Const(Duration),
    /// `b` with probability `p`, else `a`.
    Bimodal {
        /// The usual.
        a: Duration,
        /// The other.
        b: Duration,
        /// The share of the other, 0..1.
        p: f64,
    },
    /// Exponentially distributed, up to an hour.
    Exponential {
        /// The mean.
        mean: Duration,
    },
    /// Pareto distributed, `scale / u^(1/shape)`, and never longer than `cap`.
    CappedPareto {
        /// The least.
        scale: Duration,
        /// The exponent: smaller is wilder. Above 0.
        shape: f64,
        /// The most.
        cap: Duration,
    },
    /// One request at a time, in the order in which they were read: each begins at its arrival or at the end of
    /// the one before, whichever is later (Lindley's recursion), and takes `service`.
    SingleWorker {
        /// How long each takes.
        service: Duration,
    },
    /// `base` each, but for the last `stall` of every `every` (counted from the start of the server) nothing
    /// begins and nothing ends.
    Freeze {
        /// How long each takes.
        base: Duration,
        /// From one thaw to the next.
        every: Duration,
        /// How long a freeze lasts.
        stall: Duration,
    },
    /// Served in `base`, and kept until the next multiple of `every` (counted from the start of the server), when
    /// all that are ready go out together. Clients that wait for their answers move in lockstep from then on.
    Batch {
        /// How long each takes.
        base: Duration,
        /// From one release to the next. Above 0.
        every: Duration,
    },
}

/// How a request is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// 200.
    Success,
    /// 500, after the same delay.
    Error,
    /// A reset instead of a reply, after the same delay.
    Reset,
}

/// What was drawn for one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServiceDraw {
    /// How long it takes to serve. What it waits beyond that follows from its arrival.
    pub service: Duration,
    /// How it ends.
    pub ending: Ending,
}

/// What a server with this seed draws for a request with this id.
///
/// The generator is PCG XSL RR 128/64 (`Pcg64`), seeded by `seed_from_u64`; id n has its outputs 4n and 4n+1, so
/// that requests may come in any order. The shares are parts of all requests, and together at most 1.
pub fn draw(seed: u64, id: u64, delay: Delay, error_share: f64, reset_share: f64) -> ServiceDraw {
    let mut generator = Pcg64::seed_from_u64(seed);
    generator.advance(u128::from(id) * DRAWS_PER_ID);
    let service_ns = service_ns(delay, unit(generator.next_u64()));
    let share = unit(generator.next_u64());
    let ending = if share <= reset_share {
        Ending::Reset
    } else if share <= reset_share + error_share {
        Ending::Error
    } else {
        Ending::Success
    };
    ServiceDraw { service: Duration::from_nanos(service_ns), ending }
}

/// A number in (0, 1] from the upper 53 bits: never 0, whose logarithm is infinite, and never in a share of 0.
fn unit(bits: u64) -> f64 {
    const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
    ((bits >> 11) + 1) as f64 * STEP
}

fn service_ns(delay: Delay, unit: f64) -> u64 {
    match delay {
        Delay::Const(service)
        | Delay::SingleWorker { service }
        | Delay::Freeze { base: service, .. }
        | Delay::Batch { base: service, .. } => whole_ns(service),
        Delay::Bimodal { a, b, p } => whole_ns(if unit <= p { b } else { a }),
        Delay::Exponential { mean } => rounded_ns(-unit.ln() * whole_ns(mean) as f64),
        Delay::CappedPareto { scale, shape, cap } => {
            rounded_ns(whole_ns(scale) as f64 / unit.powf(shape.recip())).min(whole_ns(cap))
        }
    }
}

/// In nanoseconds, at most the limit.
pub(super) fn whole_ns(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).map_or(DELAY_LIMIT_NS, |span_ns| span_ns.min(DELAY_LIMIT_NS))
}

/// To the nearest nanosecond, at most the limit.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to 0..3.6e12 just before"
)]
fn rounded_ns(span_ns: f64) -> u64 {
    span_ns.round().clamp(0.0, DELAY_LIMIT_NS as f64) as u64
}

impl Delay {
    /// What is wrong with it, if anything: the reason, with what would be right.
    pub(super) fn fault(self) -> Option<&'static str> {
        if self.longest() > Duration::from_nanos(DELAY_LIMIT_NS) {
            return Some("choose times of at most an hour");
        }
        match self {
            Self::Bimodal { p, .. } if !(0.0..=1.0).contains(&p) => Some("a probability lies in 0..1"),
            Self::CappedPareto { shape, .. } if !(shape > 0.0 && shape.is_finite()) => {
                Some("the shape must be above 0; 1.5 is usual")
            }
            Self::Freeze { every, stall, .. } if stall >= every => {
                Some("the stall must be shorter than the time from one to the next")
            }
            Self::Batch { every, .. } if every.is_zero() => {
                Some("the time from one release to the next must be above 0")
            }
            _ => None,
        }
    }

    /// The longest of its times.
    fn longest(self) -> Duration {
        match self {
            Self::Const(span) | Self::Exponential { mean: span } | Self::SingleWorker { service: span } => {
                span
            }
            Self::Bimodal { a, b, .. } => a.max(b),
            Self::CappedPareto { scale, cap, .. } => scale.max(cap),
            Self::Freeze { base, every, .. } | Self::Batch { base, every } => base.max(every),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const COUNT: u64 = 100_000;

    /// The services of the first requests, sorted, ms.
    fn sample(delay: Delay) -> Vec<f64> {
        let service = |id| draw(7, id, delay, 0.0, 0.0).service.as_secs_f64() * 1e3;
        let mut services: Vec<f64> = (0..COUNT).map(service).collect();
        services.sort_by(f64::total_cmp);
        services
    }

    /// Compares a quantile with theory; 100,000 draws give it to about 1 %.
    fn check(services: &[f64], quantile: f64, expected: f64) {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
        let seen = services[(quantile * COUNT as f64) as usize];
        assert!((seen / expected - 1.0).abs() < 0.05, "q{quantile}: {seen} instead of {expected}");
    }

    #[test]
    fn the_distributions_are_what_they_are_called() {
        let exponential = sample(Delay::Exponential { mean: 2 * MS });
        for quantile in [0.1_f64, 0.5, 0.9, 0.99] {
            check(&exponential, quantile, -2.0 * (1.0 - quantile).ln());
        }
        let pareto = sample(Delay::CappedPareto { scale: MS, shape: 1.5, cap: 50 * MS });
        for quantile in [0.1_f64, 0.5, 0.9, 0.99] {
            check(&pareto, quantile, (1.0 - quantile).powf(-1.0 / 1.5));
        }
        check(&pareto, 0.9999, 50.0);
        let bimodal = sample(Delay::Bimodal { a: MS, b: 10 * MS, p: 0.1 });
        check(&bimodal, 0.89, 1.0);
        check(&bimodal, 0.91, 10.0);
    }

    #[test]
    fn shares_are_parts_of_all_requests() {
        let ending = |id| draw(1, id, Delay::Const(MS), 0.1, 0.2).ending;
        let count = |wanted| (0..COUNT).filter(|id| ending(*id) == wanted).count() as f64 / COUNT as f64;
        assert!((count(Ending::Error) - 0.1).abs() < 0.005);
        assert!((count(Ending::Reset) - 0.2).abs() < 0.005);
        assert!((0..COUNT).all(|id| draw(1, id, Delay::Const(MS), 0.0, 0.0).ending == Ending::Success));
        assert!((0..COUNT).all(|id| draw(1, id, Delay::Const(MS), 1.0, 0.0).ending == Ending::Error));
    }

    /// The log of an old run must still match what its server drew.
    #[test]
    fn a_seed_gives_the_same_draws_for_ever() {
        let delay = Delay::Exponential { mean: MS };
        let drawn = |seed, id| draw(seed, id, delay, 0.5, 0.0).service.as_nanos();
        assert_ne!(drawn(1, 0), drawn(2, 0));
        assert_ne!(drawn(1, 0), drawn(1, 1));
        assert_eq!([drawn(1, 0), drawn(1, 1), drawn(1, u64::MAX)], [174_504, 118_338, 768_200]);
    }

    #[test]
    fn nonsense_is_named() {
        assert!(Delay::Bimodal { a: MS, b: MS, p: 1.1 }.fault().is_some());
        assert!(Delay::Bimodal { a: MS, b: MS, p: f64::NAN }.fault().is_some());
        assert!(Delay::CappedPareto { scale: MS, shape: 0.0, cap: MS }.fault().is_some());
        assert!(Delay::Freeze { base: MS, every: MS, stall: MS }.fault().is_some());
        assert!(Delay::Batch { base: MS, every: Duration::ZERO }.fault().is_some());
        assert!(Delay::Const(Duration::from_secs(3601)).fault().is_some());
        assert!(Delay::Freeze { base: MS, every: 2 * MS, stall: MS }.fault().is_none());
    }
}
