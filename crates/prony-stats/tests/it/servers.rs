//! Servers of known rate under a closed loop, block by block as `prony compare` loads them: fresh connections, a
//! warm-up, a window, and a drain in which no request begins.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use prony_stats::{Rounds, Weighted};

use crate::simulation::Noise;

const MS: f64 = 1e6;

/// How long a server takes for a request, milliseconds.
#[derive(Debug, Clone, Copy)]
pub enum Takes {
    Const(f64),
    /// Give or take this share.
    Jittered(f64, f64),
    /// The first, or with this probability the second.
    Bimodal(f64, f64, f64),
    Exponential(f64),
    /// Scale, shape, cap.
    Pareto(f64, f64, f64),
}

impl Takes {
    fn draw(self, noise: &mut Noise) -> f64 {
        match self {
            Self::Const(ms) => ms,
            Self::Jittered(ms, share) => ms * (1.0 + share * (2.0 * noise.uniform() - 1.0)),
            Self::Bimodal(ms, other, p) => {
                if noise.uniform() < p {
                    other
                } else {
                    ms
                }
            }
            Self::Exponential(mean) => -mean * noise.uniform().ln(),
            Self::Pareto(scale, shape, cap) => (scale / noise.uniform().powf(1.0 / shape)).min(cap),
        }
    }

    pub fn mean(self) -> f64 {
        match self {
            Self::Const(ms) | Self::Jittered(ms, _) | Self::Exponential(ms) => ms,
            Self::Bimodal(ms, other, p) => ms * (1.0 - p) + other * p,
            Self::Pareto(scale, shape, cap) => {
                let beyond = (scale / cap).powf(shape - 1.0);
                scale * shape / (shape - 1.0) * (1.0 - beyond) + scale * beyond
            }
        }
    }
}

/// Who waits for whom.
#[derive(Debug, Clone, Copy)]
pub enum Server {
    /// Nobody.
    Parallel(Takes),
    /// All for one worker, in the order of arrival.
    Serial(Takes),
    /// For the next moment at which all that wait are answered, so many milliseconds apart.
    Batching(f64),
    /// Nobody, but that in every so many milliseconds the last so many have no answer.
    Stalling(Takes, f64, f64),
}

impl Server {
    /// The mean response time at `connections`, milliseconds.
    pub fn round_ms(self, connections: u32) -> f64 {
        match self {
            Self::Parallel(takes) => takes.mean(),
            Self::Serial(takes) => takes.mean() * f64::from(connections),
            Self::Batching(ms) => ms,
            Self::Stalling(takes, every, stall) => takes.mean() * every / (every - stall),
        }
    }

    /// When a request is answered that arrives at `at`, milliseconds; `free` is when the one worker is.
    fn answers(self, at: f64, factor: f64, free: &mut f64, noise: &mut Noise) -> f64 {
        match self {
            Self::Parallel(takes) => at + factor * takes.draw(noise),
            Self::Serial(takes) => {
                *free = free.max(at) + factor * takes.draw(noise);
                *free
            }
            Self::Batching(ms) => {
                let ms = factor * ms;
                // What comes within a microsecond of an answer waits for the next.
                ((at + 1e-3) / ms).floor().mul_add(ms, ms)
            }
            Self::Stalling(takes, every, stall) => {
                let end = at + factor * takes.draw(noise);
                let phase = end.rem_euclid(every);
                if phase < every - stall { end } else { end - phase + every }
            }
        }
    }
}

/// The load of one block.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    pub connections: u32,
    pub warmup_ms: f64,
    pub block_ms: f64,
}

/// The rate of one block that begins at `start_ms` on a machine that is slower by `factor`.
pub fn block(server: Server, load: Load, start_ms: f64, factor: f64, noise: &mut Noise) -> Weighted {
    let nanos = |ms: f64| (ms * MS) as u64;
    let (from, to) = (nanos(start_ms + load.warmup_ms), nanos(start_ms + load.warmup_ms + load.block_ms));
    let mut due: BinaryHeap<Reverse<u64>> =
        (0..load.connections).map(|k| Reverse(nanos(start_ms) + u64::from(k) * 10_000)).collect();
    let (mut rounds, mut begun, mut took, mut free) = (Rounds::default(), 0, 0_u128, start_ms);
    while let Some(Reverse(at)) = due.pop() {
        if at >= to {
            continue;
        }
        let ended = nanos(server.answers(at as f64 / MS, factor, &mut free, noise)).max(at + 1000);
        rounds.add(at, ended, from, to);
        if at >= from {
            begun += 1;
            took += u128::from(ended - at);
        }
        due.push(Reverse(ended));
    }
    let window = to - from;
    let value = rounds.per_second(begun, took, window).expect("connections are always at work");
    let weight = if begun == 0 { f64::from(load.connections) * window as f64 } else { took as f64 };
    Weighted { value, weight }
}

/// The moods of a machine: they last for some blocks, vary between blocks, and at times somebody else's job makes
/// a block slow.
#[derive(Debug, Default, Clone, Copy)]
pub struct Mood {
    /// Standard deviation of its steps; 0 for a machine without any.
    pub step: f64,
    now: f64,
}

impl Mood {
    pub fn new(step: f64) -> Self {
        Self { step, now: 0.0 }
    }

    fn factor(&mut self, noise: &mut Noise) -> f64 {
        if self.step == 0.0 {
            return 1.0;
        }
        self.now = 0.7 * self.now + self.step * noise.normal();
        let hiccup = if noise.uniform() < 0.05 { 1.4 * noise.uniform() } else { 0.0 };
        (self.now + 0.3 * self.step * noise.normal() + hiccup).exp()
    }
}

/// Pairs of adjacent blocks in random order, after each other.
pub fn measured(
    servers: [Server; 2],
    load: Load,
    pairs: usize,
    mood: &mut Mood,
    noise: &mut Noise,
) -> Vec<(Weighted, Weighted)> {
    let mut now_ms = 1e4 * noise.uniform();
    (0..pairs)
        .map(|_| {
            let is_a_first = noise.uniform() < 0.5;
            let mut next = |server| {
                let factor = mood.factor(noise);
                let block = block(server, load, now_ms, factor, noise);
                now_ms += load.warmup_ms + load.block_ms + 16.0 + 4.0 * noise.uniform();
                block
            };
            let [a, b] = servers;
            if is_a_first {
                let first = next(a);
                (first, next(b))
            } else {
                let first = next(b);
                (next(a), first)
            }
        })
        .collect()
}
