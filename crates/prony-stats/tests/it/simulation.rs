//! Worlds in which the truth is known, and how often the statistics find it. Used by the tests next to
//! it and by `examples/coverage.rs`, which prints the figures of docs/measuring.md.

use prony_stats::{
    Better, Criteria, DEFAULT_MARGIN, Errors, Histogram, LOOKS, Looks, Precision, Quantile, Sparse, Verdict,
    WarmUp, clusters_of_slices, compare, label_swap, mann_kendall, sectioning, signed_rank_center, warm_up,
};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

/// Seeded noise.
pub struct Noise(Pcg64);

impl Noise {
    pub fn new(seed: u64) -> Self {
        Self(Pcg64::seed_from_u64(seed))
    }

    /// Uniform in the open interval (0, 1).
    pub fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// A standard normal, by Box and Muller's transform (one of the two it makes).
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// How often each of several things happened.
#[derive(Debug, Default, Clone, Copy)]
pub struct Coverage {
    pub trials: u32,
    /// Trials in which an interval was printed without a caveat.
    pub known: u32,
    /// Trials in which it was printed as indicative.
    pub indicative: u32,
    /// Printed intervals, either way, that held the truth.
    pub covered: u32,
    /// Trials in which the interval from order statistics held the truth.
    pub order_statistics_covered: u32,
}

impl Coverage {
    pub fn covered(&self) -> f64 {
        share(self.covered, self.known + self.indicative)
    }

    pub fn order_statistics(&self) -> f64 {
        share(self.order_statistics_covered, self.trials)
    }
}

pub fn share(hits: u32, trials: u32) -> f64 {
    f64::from(hits) / f64::from(trials.max(1))
}

/// Slices of a run, and requests in each: 200 x 100, as 20 s at 1,000 per second in slices of 100 ms.
const SLICES: usize = 200;
const PER_SLICE: usize = 100;

/// Runs of log-normal response times (median 1 ms, σ = 0.5) of which neighbours correlate by `phi`: how
/// often the sectioning interval of `q` holds the true quantile, whose normal quantile is `z`.
pub fn interval_coverage(trials: u32, seed: u64, phi: f64, q: Quantile, z: f64) -> Coverage {
    let mut noise = Noise::new(seed);
    let truth = 1e6 * (0.5 * z).exp();
    let mut result = Coverage { trials, ..Coverage::default() };
    let mut histogram = Histogram::new();
    for _ in 0..trials {
        let mut total = Histogram::new();
        let mut state = noise.normal();
        let slices: Vec<Sparse> = (0..SLICES)
            .map(|_| {
                histogram.clear();
                for _ in 0..PER_SLICE {
                    histogram.record((1e6 * (0.5 * state).exp()) as u64);
                    state = phi * state + (1.0 - phi * phi).sqrt() * noise.normal();
                }
                total.add(&histogram);
                histogram.to_sparse()
            })
            .collect();
        let level = total.value_at_quantile(q.value()).expect("the run is not empty");
        let clusters = clusters_of_slices(&slices, level, 100_000_000);
        match sectioning(&slices, &total, q, clusters) {
            Precision::Known { interval, .. } => {
                result.known += 1;
                result.covered += u32::from(interval.contains(truth));
            }
            Precision::Indicative { interval, .. } => {
                result.indicative += 1;
                result.covered += u32::from(interval.contains(truth));
            }
            Precision::Withheld { .. } => {}
        }
        result.order_statistics_covered += u32::from(order_statistics_cover(&total, q, truth));
    }
    result
}

/// The textbook interval that takes requests as independent: ranks n·q ± 1.96·√(n·q·(1 − q)).
fn order_statistics_cover(total: &Histogram, q: Quantile, truth: f64) -> bool {
    let n = total.count() as f64;
    let half = 1.96 * (n * q.value() * (1.0 - q.value())).sqrt();
    let at = |rank: f64| total.value_at_rank((rank as u64).clamp(1, total.count())).expect("a rank within");
    (at(n * q.value() - half) as f64..=at(n * q.value() + half + 1.0) as f64).contains(&truth)
}

/// Pairs of adjacent blocks on a machine whose mood drifts by tens of percent, in random order; B is
/// slower by `effect` (in logarithms). The differences within pairs have a standard deviation of about
/// [`PAIR_SPREAD`] and heavier tails than a normal.
pub fn pairs(noise: &mut Noise, n: usize, effect: f64) -> Vec<(f64, f64)> {
    let mut mood = noise.normal();
    (0..n)
        .map(|_| {
            let mut block = || {
                mood = 0.999 * mood + 0.0447 * noise.normal();
                // One block in ten is four times as noisy: somebody else's job.
                let hiccup = if noise.uniform() < 0.1 { 4.0 } else { 1.0 };
                0.3 * mood + 0.02 * hiccup * noise.normal()
            };
            let (first, second) = (block(), block());
            let (a, b) = if noise.uniform() < 0.5 { (first, second) } else { (second, first) };
            (a.exp(), (b + effect).exp())
        })
        .collect()
}

/// √(2·0.02²·(0.9 + 0.1·16) + (0.3·0.0447)²): two blocks' noise, and the mood's step between them.
pub const PAIR_SPREAD: f64 = 0.0468;

const CLEAN: [Errors; 2] = [Errors { failed: 0, requests: 1_000_000 }; 2];

#[derive(Debug, Default, Clone, Copy)]
pub struct Verdicts {
    pub trials: u32,
    pub slower: u32,
    pub faster: u32,
    pub no_difference: u32,
}

/// What comparisons of `n` pairs say when B is slower by `effect`.
pub fn verdicts(trials: u32, seed: u64, n: usize, effect: f64) -> Verdicts {
    let criteria = Criteria { better: Better::Lower, margin: DEFAULT_MARGIN, looks: Looks::Once };
    count(trials, seed, |noise| {
        compare(&pairs(noise, n, effect), CLEAN, criteria).expect("valid pairs").verdict
    })
}

/// The same, looked at after 10, 16, 24 and 40 pairs and stopped at the first answer.
pub fn sequential_verdicts(trials: u32, seed: u64, effect: f64) -> Verdicts {
    let criteria = Criteria { better: Better::Lower, margin: DEFAULT_MARGIN, looks: Looks::Sequential };
    count(trials, seed, |noise| {
        let pairs = pairs(noise, 40, effect);
        let looks = LOOKS.map(|n| compare(&pairs[..n], CLEAN, criteria).expect("valid pairs"));
        looks.iter().find(|look| look.is_final()).expect("the last look is final").verdict
    })
}

fn count(trials: u32, seed: u64, mut verdict: impl FnMut(&mut Noise) -> Verdict) -> Verdicts {
    let mut noise = Noise::new(seed);
    let mut result = Verdicts { trials, ..Verdicts::default() };
    for _ in 0..trials {
        match verdict(&mut noise) {
            Verdict::Slower | Verdict::SlowerSizeUncertain => result.slower += 1,
            Verdict::Faster | Verdict::FasterSizeUncertain => result.faster += 1,
            Verdict::NoDifference { .. } => result.no_difference += 1,
            Verdict::TooNoisy { .. } | Verdict::Refused { .. } => {}
        }
    }
    result
}

/// Peeking after every pair from the sixth to the fortieth with the interval of a single look: how
/// often it excludes 0 when nothing differs.
pub fn peeking(trials: u32, seed: u64) -> f64 {
    let mut noise = Noise::new(seed);
    let hits = (0..trials).filter(|_| {
        let differences: Vec<f64> = pairs(&mut noise, 40, 0.0).iter().map(|(a, b)| (b / a).ln()).collect();
        (6..=40).any(|n| {
            let center = signed_rank_center(&differences[..n], 1.96).expect("not empty");
            center.interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0)
        })
    });
    share(hits.count() as u32, trials)
}

/// How often the label swap calls a p99 different (p < .05) when B's whole block is slower by `effect`:
/// 16 pairs of blocks of 200 requests, blocks log-normal around their own mood.
pub fn swap_alarms(trials: u32, seed: u64, effect: f64) -> f64 {
    let mut noise = Noise::new(seed);
    let hits = (0..trials).filter(|trial| {
        let mut block = |shift: f64| {
            let mood = 0.05 * noise.normal() + shift;
            let values = (0..200).map(|_| (1e6 * (mood + 0.5 * noise.normal()).exp()) as u64);
            values.collect::<Histogram>().to_sparse()
        };
        let pairs: Vec<_> = (0..16).map(|_| (block(0.0), block(effect))).collect();
        label_swap(&pairs, Quantile::P99, u64::from(*trial)).expect("both sides recorded").p < 0.05
    });
    share(hits.count() as u32, trials)
}

/// Sixty log medians with noise of 3 %, neighbours correlated by `phi`, the start higher by `start`
/// (in logarithms) and decaying by a factor e every four slices.
pub fn medians(noise: &mut Noise, phi: f64, start: f64) -> Vec<f64> {
    let mut state = noise.normal();
    (0..60)
        .map(|i| {
            state = phi * state + (1.0 - phi * phi).sqrt() * noise.normal();
            0.03 * state + start * (-f64::from(i) / 4.0).exp()
        })
        .collect()
}

/// In what share of series a warm-up was cut, and the mean length of the cut in slices.
pub fn cuts(trials: u32, seed: u64, phi: f64, start: f64) -> (f64, f64) {
    let mut noise = Noise::new(seed);
    let (mut found, mut slices) = (0, 0);
    for _ in 0..trials {
        if let WarmUp::Cut { slices: cut, .. } = warm_up(&medians(&mut noise, phi, start)) {
            found += 1;
            slices += cut;
        }
    }
    (share(found, trials), slices as f64 / f64::from(found.max(1)))
}

/// In what share of series Mann and Kendall see no steady state; each rises by `drift` from end to end.
pub fn unsteady(trials: u32, seed: u64, phi: f64, drift: f64) -> f64 {
    let mut noise = Noise::new(seed);
    let alarms = (0..trials).filter(|_| {
        let series = medians(&mut noise, phi, 0.0);
        let series: Vec<f64> = series.iter().enumerate().map(|(i, z)| z + drift * i as f64 / 60.0).collect();
        !mann_kendall(&series).expect("sixty values").is_steady()
    });
    share(alarms.count() as u32, trials)
}
