//! Where a series of results changed for good: change points by energy statistics (E-divisive).
//!
//! Every point is one run's figure, in the order of commits. A step in them is looked for without knowing the
//! noise: the divergence of what is before from what is after, at the best place to cut, against the same of the
//! points in random order. Source: Matteson and James, "A Nonparametric Approach for Multiple Change Point Analysis
//! of Multivariate Data", Journal of the American Statistical Association 109 (2014). Windows and the second look at
//! every point found are as in Fleming et al., "Hunter: Using Change Point Detection to Hunt for Performance
//! Regressions", ICPE 2023, on which Apache Otava is built, with which the tests compare
//! (`bench/otava/run`).
//!
//! Two things differ from the paper. A segment's points are exchanged with each other alone, not those of all
//! segments at once, so a segment's answer depends on nothing outside of it. And what was found is tested again
//! between its neighbours, for windows overlap and may cut one step twice.
//!
//! Points that depend on their predecessors (a machine's mood that lasts for days) look like steps to this test, as
//! to any that exchanges them: `examples/changes.rs` prints how often.

mod chance;
mod energy;

use crate::sample::median;
use chance::p_of_split;
use energy::best_split;
use std::ops::Range;
use thiserror::Error;

/// How many points are looked at together. A hundred runs ago is another machine, another kernel, another team; and
/// the time of a test grows with the square of it.
pub const CHANGE_WINDOW: usize = 50;

/// The probability by chance up to which a change is suspected.
pub const P_TO_SUSPECT: f64 = 1e-3;

/// The probability by chance up to which a change counts as found. Looked at after every point, 100 points of normal
/// noise are suspected of a change in one of a hundred series at .001, and hardly ever at this (`examples/changes.rs`).
pub const P_TO_ALERT: f64 = 1e-4;

/// How many points a side needs at least: one alone is an outlier, and has no spread.
pub const LEAST_POINTS: usize = 2;

/// How many points each side needs for a change to be confirmed.
pub const POINTS_TO_CONFIRM: usize = 10;

/// The least change that is worth reporting, whatever its probability: 3 %.
pub const LEAST_CHANGE: f64 = 0.03;

/// The longest series that is taken: 30 years of a run a day. A change point of a series takes some 0.1 s, a quiet
/// window a millisecond.
pub const POINTS_MAX: usize = 10_000;

/// How sure a change is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// Improbable by chance ([`P_TO_SUSPECT`]), but not enough for more.
    Suspected,
    /// Very improbable by chance ([`P_TO_ALERT`]), but a side has fewer than [`POINTS_TO_CONFIRM`] points.
    Found,
    /// Very improbable by chance, with [`POINTS_TO_CONFIRM`] points on each side.
    Confirmed,
}

/// A change of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangePoint {
    /// The first point after the change.
    pub index: usize,
    /// Median after over median before, less one: 0.05 is 5 % more.
    pub change: f64,
    /// The probability of so clear a cut somewhere, if the order of the points means nothing; at least 1e-4.
    pub p: f64,
    /// How sure that is.
    pub certainty: Certainty,
    /// The points since the change before this one.
    pub before: Range<usize>,
    /// The points up to the next change.
    pub after: Range<usize>,
}

/// Why a series can't be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ChangesError {
    /// Changes are ratios, and logarithms are taken.
    #[error("look for changes: point {0} is not a positive number; leave such points out")]
    NotPositive(usize),
    /// The series has more than [`POINTS_MAX`] points.
    #[error("look for changes: {0} points are too many; take the last {POINTS_MAX}")]
    TooMany(usize),
}

/// Finds the changes of a series of positive values, in order.
///
/// `least_change` is the least ratio less one that is worth reporting, for example the half-width of the interval that
/// the points themselves have; never less than [`LEAST_CHANGE`] is reported. `seed` starts PCG XSL RR 128/64 generators:
/// the same seed gives the same answer.
pub fn change_points(values: &[f64], least_change: f64, seed: u64) -> Result<Vec<ChangePoint>, ChangesError> {
    if values.len() > POINTS_MAX {
        return Err(ChangesError::TooMany(values.len()));
    }
    if let Some(index) = values.iter().position(|value| !(value.is_finite() && *value > 0.0)) {
        return Err(ChangesError::NotPositive(index));
    }
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let mut cuts = Vec::new();
    let mut start = 0;
    while start < logs.len() {
        let end = (start + CHANGE_WINDOW).min(logs.len());
        let mut found = Vec::new();
        bisect(&logs, start..end, seed, &mut found);
        if end == logs.len() {
            cuts.extend(found);
            break;
        }
        // A change that was found begins the next window; else half of this one is looked at again.
        start = found.iter().copied().max().unwrap_or(0).max(start + CHANGE_WINDOW / 2);
        // The last window is a whole one, too: the newest points are those that matter.
        start = start.min(logs.len() - CHANGE_WINDOW);
        cuts.extend(found);
    }
    cuts.sort_unstable();
    cuts.dedup();
    Ok(SecondPass { logs: &logs, least: least_change.max(LEAST_CHANGE).ln_1p(), seed }.keep(cuts))
}

/// Cuts a segment where its parts diverge the most, and the parts again, until chance alone explains the rest.
fn bisect(logs: &[f64], segment: Range<usize>, seed: u64, cuts: &mut Vec<usize>) {
    let Some(split) = best_split(&logs[segment.clone()], LEAST_POINTS) else { return };
    if p_of_split(logs, segment.clone(), split, seed).is_none() {
        return;
    }
    let cut = segment.start + split.at;
    bisect(logs, segment.start..cut, seed, cuts);
    cuts.push(cut);
    bisect(logs, cut..segment.end, seed, cuts);
}

/// A series in the second pass, where every cut has to stand between its neighbours.
struct SecondPass<'a> {
    logs: &'a [f64],
    /// The least difference of logarithms that is worth reporting.
    least: f64,
    seed: u64,
}

impl SecondPass<'_> {
    /// Takes out the weakest cut until all that are left stand.
    fn keep(&self, mut cuts: Vec<usize>) -> Vec<ChangePoint> {
        let mut points: Vec<Option<ChangePoint>> = vec![None; cuts.len()];
        // A cut's change point depends on its neighbours only, so most of them stay when one goes.
        let mut stale = vec![true; cuts.len()];
        loop {
            for at in 0..cuts.len() {
                if std::mem::take(&mut stale[at]) {
                    points[at] = self.test_cut(&cuts, at);
                }
            }
            let strength = |at: usize| {
                points[at].as_ref().map_or((0.0, 0.0), |point: &ChangePoint| {
                    let size = point.change.ln_1p().abs();
                    (if size < self.least { 0.0 } else { 1.0 / point.p }, size)
                })
            };
            let weakest = (0..cuts.len()).min_by(|&a, &b| {
                let (a, b) = (strength(a), strength(b));
                a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
            });
            let Some(weakest) = weakest.filter(|&at| strength(at).0 == 0.0) else { break };
            cuts.remove(weakest);
            points.remove(weakest);
            stale.remove(weakest);
            for neighbour in [weakest.checked_sub(1), Some(weakest)].into_iter().flatten() {
                if let Some(stale) = stale.get_mut(neighbour) {
                    *stale = true;
                }
            }
        }
        points.into_iter().flatten().collect()
    }

    /// Tests the cut `at` between its neighbours; `None` if chance explains it.
    fn test_cut(&self, cuts: &[usize], at: usize) -> Option<ChangePoint> {
        let cut = cuts[at];
        let first = if at == 0 { 0 } else { cuts[at - 1] };
        let last = cuts.get(at + 1).copied().unwrap_or(self.logs.len());
        let near = around(cut, first..last);
        let split = best_split(&self.logs[near.clone()], LEAST_POINTS)?;
        let p = p_of_split(self.logs, near, split, self.seed)?;
        let (before, after) = (first..cut, cut..last);
        let difference = median(&self.logs[after.clone()])? - median(&self.logs[before.clone()])?;
        let certainty = match before.len().min(after.len()) {
            _ if p > P_TO_ALERT => Certainty::Suspected,
            POINTS_TO_CONFIRM.. => Certainty::Confirmed,
            _ => Certainty::Found,
        };
        Some(ChangePoint { index: cut, change: difference.exp_m1(), p, certainty, before, after })
    }
}

/// A window around `cut` within `whole`: half of it on each side, more where the other side has less.
fn around(cut: usize, whole: Range<usize>) -> Range<usize> {
    let half = CHANGE_WINDOW / 2;
    let left = (cut - whole.start).min(CHANGE_WINDOW - half.min(whole.end - cut));
    let right = (whole.end - cut).min(CHANGE_WINDOW - left);
    cut - left..cut + right
}

#[cfg(test)]
mod tests;
