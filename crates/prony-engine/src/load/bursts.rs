//! Bursts: arrivals that come in two states, a rate above the mean and none. A Markov-modulated Poisson process whose
//! states all threads share, so that their bursts fall together.

use rand_pcg::Pcg64;

use crate::load::curve::Curve;
use crate::load::pacer::exponential;

/// The states' own stream of the run's seed; threads have the streams of their numbers.
const STREAM: u128 = 1 << 64;

/// A state after the other, each of an exponentially distributed length.
#[derive(Debug, Clone)]
pub(super) struct Bursts {
    random: Pcg64,
    /// In a burst the rate is so many times the mean; else it is 0.
    factor: f64,
    /// Mean length of a burst.
    mean_ns: f64,
    is_burst: bool,
    /// The state's end.
    ends_ns: f64,
    /// Requests of the curve at its beginning and at its end.
    curve: (f64, f64),
    /// Requests of the bursts before it.
    before: f64,
}

impl Bursts {
    /// Bursts along `curve` of `factor` times its rate, `mean_ns` long on average, from the run's `seed`.
    pub(super) fn new(curve: &Curve, factor: f64, mean_ns: f64, seed: u64) -> Self {
        let mut random = Pcg64::new(u128::from(seed), STREAM);
        // As a process that has been going on for ever: −ln(1 − u) is below this with probability 1/factor.
        let is_burst = exponential(&mut random) < -(1.0 - 1.0 / factor).ln();
        let begins = curve.begins();
        let mut bursts = Self {
            random,
            factor,
            mean_ns,
            is_burst,
            ends_ns: curve.begins_ns(),
            curve: (begins, begins),
            before: 0.0,
        };
        bursts.enter(curve, is_burst);
        bursts
    }

    /// What the curve has counted when bursts along it have counted `count` since its beginning; `None` if never. Each
    /// `count` must be at least the one before.
    pub(super) fn reaches(&mut self, curve: &Curve, count: f64) -> Option<f64> {
        loop {
            let (from, to) = self.curve;
            if self.is_burst {
                let of_burst = (to - from) * self.factor;
                if count < self.before + of_burst {
                    return Some(from + (count - self.before) / self.factor);
                }
                self.before += of_burst;
            }
            if self.ends_ns >= curve.ends_ns() {
                return None;
            }
            self.enter(curve, !self.is_burst);
        }
    }

    /// Begins the next state.
    fn enter(&mut self, curve: &Curve, is_burst: bool) {
        self.is_burst = is_burst;
        // Bursts take 1/factor of the time.
        let mean_ns = if is_burst { self.mean_ns } else { self.mean_ns * (self.factor - 1.0) };
        self.ends_ns += exponential(&mut self.random) * mean_ns;
        self.curve = (self.curve.1, curve.at(self.ends_ns));
    }
}
