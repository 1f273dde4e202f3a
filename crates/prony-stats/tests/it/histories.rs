//! Histories in which the truth is known, and what is found in them. Used by the tests next to it and by
//! `examples/changes.rs`, which prints the figures of docs/history.md.

#![allow(dead_code, reason = "shared by tests and an example, which use different parts")]

use prony_stats::{Certainty, ChangePoint, change_points};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

/// What the logarithms of the points are around their level.
#[derive(Debug, Clone, Copy)]
pub enum Noise {
    Normal,
    /// Student's t with three degrees of freedom, scaled to the spread.
    Heavy,
    /// One time in five 20 % higher, beside normal noise of a quarter of the spread.
    Modes,
    /// Each point takes this share of the last one's deviation.
    Autocorrelated(f64),
}

/// A machine that measures.
#[derive(Debug, Clone, Copy)]
pub struct World {
    pub noise: Noise,
    /// The standard deviation of the logarithms.
    pub spread: f64,
}

impl World {
    /// Points around 1.
    pub fn series(self, points: usize, generator: &mut Pcg64) -> Vec<f64> {
        let mut last = 0.0;
        (0..points)
            .map(|at| {
                let deviation = match self.noise {
                    Noise::Normal => self.spread * normal(generator),
                    Noise::Heavy => {
                        let chi = (0..3).map(|_| normal(generator).powi(2)).sum::<f64>();
                        // The variance of t with 3 degrees of freedom is 3.
                        self.spread * normal(generator) / chi.sqrt()
                    }
                    Noise::Modes => {
                        let slow = if uniform(generator) < 0.2 { 1.2_f64.ln() } else { 0.0 };
                        slow + self.spread / 4.0 * normal(generator)
                    }
                    Noise::Autocorrelated(phi) => {
                        let fresh = if at == 0 { 1.0 } else { (1.0 - phi * phi).sqrt() };
                        last =
                            if at == 0 { 0.0 } else { phi * last } + fresh * self.spread * normal(generator);
                        last
                    }
                };
                deviation.exp()
            })
            .collect()
    }
}

fn uniform(generator: &mut Pcg64) -> f64 {
    ((generator.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
}

fn normal(generator: &mut Pcg64) -> f64 {
    (-2.0 * uniform(generator).ln()).sqrt() * (std::f64::consts::TAU * uniform(generator)).cos()
}

/// In how many series something was found, by the surest of what was.
#[derive(Debug, Default, Clone, Copy)]
pub struct Alarms {
    pub suspected: u32,
    pub found: u32,
    pub confirmed: u32,
}

impl Alarms {
    fn count(&mut self, surest: Option<Certainty>) {
        let Some(surest) = surest else { return };
        self.suspected += 1;
        self.found += u32::from(surest >= Certainty::Found);
        self.confirmed += u32::from(surest == Certainty::Confirmed);
    }
}

pub fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn changes_of(values: &[f64], seed: u64) -> Vec<ChangePoint> {
    change_points(values, 0.0, seed).expect("invariant: positive values, and few")
}

fn surest(values: &[f64], seed: u64) -> Option<Certainty> {
    changes_of(values, seed).iter().map(|point| point.certainty).max()
}

/// Looks once at each of `count` series of `points` points.
pub fn false_changes(count: u32, seed: u64, world: World, points: usize) -> Alarms {
    let mut generator = Pcg64::seed_from_u64(seed);
    let mut alarms = Alarms::default();
    for number in 0..count {
        alarms.count(surest(&world.series(points, &mut generator), u64::from(number)));
    }
    alarms
}

/// Looks at each series after every point, as a lab does: what was ever found.
pub fn false_changes_growing(count: u32, seed: u64, world: World, points: usize) -> Alarms {
    let mut generator = Pcg64::seed_from_u64(seed);
    let mut alarms = Alarms::default();
    for number in 0..count {
        let series = world.series(points, &mut generator);
        let ever = (4..=points).filter_map(|end| surest(&series[..end], u64::from(number))).max();
        alarms.count(ever);
    }
    alarms
}

/// What became of steps.
#[derive(Debug, Default, Clone)]
pub struct Delays {
    pub trials: u32,
    /// For each trial, how many points after the step it was first reported with at least this certainty.
    pub suspected: Vec<usize>,
    pub found: Vec<usize>,
    /// How many were found to within two points in the end.
    pub near: u32,
}

impl Delays {
    pub fn found(&self) -> f64 {
        self.found.len() as f64 / f64::from(self.trials)
    }

    pub fn near(&self) -> f64 {
        f64::from(self.near) / f64::from(self.trials)
    }

    /// The median number of points, those that were never found counted as more than any.
    pub fn median_delay(&self, certainty: Certainty) -> Option<usize> {
        let delays = if certainty == Certainty::Suspected { &self.suspected } else { &self.found };
        let mut delays = delays.clone();
        delays.sort_unstable();
        delays.get(self.trials as usize / 2).copied()
    }
}

/// A step after 50 points, looked at after each of the 30 points that follow.
pub fn delays(count: u32, seed: u64, world: World, step: f64) -> Delays {
    const BEFORE: usize = 50;
    const AFTER: usize = 30;
    let mut generator = Pcg64::seed_from_u64(seed);
    let mut delays = Delays { trials: count, ..Delays::default() };
    for number in 0..u64::from(count) {
        let mut series = world.series(BEFORE + AFTER, &mut generator);
        for value in &mut series[BEFORE..] {
            *value *= 1.0 + step;
        }
        let (mut suspected, mut found) = (None, None);
        for after in 2..=AFTER {
            let changes = changes_of(&series[..BEFORE + after], number);
            let surest = changes
                .iter()
                .filter(|change| change.index.abs_diff(BEFORE) <= 5)
                .map(|change| change.certainty)
                .max();
            if surest.is_some() && suspected.is_none() {
                suspected = Some(after);
            }
            if surest >= Some(Certainty::Found) && found.is_none() {
                found = Some(after);
            }
            if after == AFTER {
                delays.near += u32::from(changes.iter().any(|change| change.index.abs_diff(BEFORE) <= 2));
            }
        }
        delays.suspected.extend(suspected);
        delays.found.extend(found);
    }
    delays
}
