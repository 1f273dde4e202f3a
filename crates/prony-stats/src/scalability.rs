//! How the rate of a closed loop grows with its users: the universal scalability law,
//! X(N) = γN / (1 + α(N−1) + βN(N−1)).
//!
//! Source: Gunther, Guerrilla Capacity Planning (2007). N/X(N) is linear in 1/γ, α/γ and β/γ; with the weights X/N its
//! residuals are relative ones, so that the fit is one linear problem. None of the three may be negative: of all subsets
//! whose solution is not, the one with the least residual is taken, which is exact for three unknowns.

use rand::{RngExt as _, SeedableRng};
use rand_pcg::Pcg64;

use crate::distribution::{Z_975, t_975};

/// Fewer numbers of users bound no law of three unknowns.
pub const LEAST_USERS: usize = 6;
/// Beyond this many times the most users that were tried, nothing is predicted.
pub const EXTRAPOLATION_MAX: f64 = 2.0;
/// Draws of the bootstrap: its 95 % interval leaves 25 on each side.
const DRAWS: usize = 1000;
/// γ, α and β.
const UNKNOWNS: usize = 3;
/// A law of more coefficients must explain this much more of the residuals than a simpler one, or noise would be read as
/// contention.
const GAIN: f64 = 1e-9;

/// The rate of some users in one trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UsersRate {
    /// How many, at least 1.
    pub users: f64,
    /// Responses per second, above 0.
    pub rate: f64,
}

/// The law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scalability {
    /// Responses per second of one user.
    pub gamma: f64,
    /// Contention: the serial share of the work.
    pub alpha: f64,
    /// Coherency: what users cost one another.
    pub beta: f64,
}

/// A number with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounded {
    /// The estimate.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A law with its 95 % intervals.
#[derive(Debug, Clone, PartialEq)]
pub struct ScalabilityFit {
    /// The law itself.
    pub law: Scalability,
    /// The laws of the bootstrap.
    draws: Vec<Scalability>,
    /// The most users of the trials.
    users_max: f64,
    /// Greatest relative distance of a number of users' mean rate from the law.
    pub misfit: f64,
}

/// Why there is no law.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoScalability {
    /// Too few numbers of users.
    #[error("{found} numbers of users bound no law; it takes {LEAST_USERS}")]
    FewUsers {
        /// How many there were.
        found: usize,
    },
}

impl Scalability {
    /// The rate of `users`.
    pub fn rate(&self, users: f64) -> f64 {
        self.gamma * users / (1.0 + self.alpha * (users - 1.0) + self.beta * users * (users - 1.0))
    }

    /// The users at which the rate is greatest: √((1−α)/β); `None` where it grows for ever.
    pub fn peak(&self) -> Option<f64> {
        (self.beta > 0.0 && self.alpha < 1.0).then(|| ((1.0 - self.alpha) / self.beta).sqrt().max(1.0))
    }
}

/// Fits the law to `trials`; `seed` is that of the bootstrap.
pub fn scalability(trials: &[UsersRate], seed: u64) -> Result<ScalabilityFit, NoScalability> {
    let is_good = |trial: &&UsersRate| {
        trial.users >= 1.0 && trial.users.is_finite() && trial.rate.is_normal() && trial.rate > 0.0
    };
    let trials: Vec<UsersRate> = trials.iter().filter(is_good).copied().collect();
    let mut levels: Vec<f64> = trials.iter().map(|trial| trial.users).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    if levels.len() < LEAST_USERS {
        return Err(NoScalability::FewUsers { found: levels.len() });
    }
    let law = fit(&trials);
    // Residual bootstrap: relative residuals, inflated by what the fit has taken of them, and because their size is itself
    // estimated (Student's t over the normal quantile).
    let left = trials.len() - UNKNOWNS;
    let freedom = (trials.len() as f64 / left as f64).sqrt() * t_975(left) / Z_975;
    let residuals: Vec<f64> =
        trials.iter().map(|trial| freedom * (trial.rate / law.rate(trial.users)).ln()).collect();
    let mean = residuals.iter().sum::<f64>() / residuals.len() as f64;
    let mut random = Pcg64::seed_from_u64(seed);
    let mut draw = || {
        let drawn: Vec<UsersRate> = trials
            .iter()
            .map(|trial| {
                let residual = residuals[random.random_range(0..residuals.len())] - mean;
                UsersRate { rate: law.rate(trial.users) * residual.exp(), ..*trial }
            })
            .collect();
        fit(&drawn)
    };
    let draws = (0..DRAWS).map(|_| draw()).collect();
    let misfit = levels.iter().map(|users| misfit(&trials, *users, &law)).fold(0.0, f64::max);
    let users_max = levels.last().copied().unwrap_or_default();
    Ok(ScalabilityFit { law, draws, users_max, misfit })
}

impl ScalabilityFit {
    /// A number that follows from the law, with its interval.
    pub fn of(&self, figure: impl Fn(&Scalability) -> f64) -> Bounded {
        let mut drawn: Vec<f64> = self.draws.iter().map(&figure).collect();
        drawn.sort_by(f64::total_cmp);
        let value = figure(&self.law);
        let tail = drawn.len() / 40;
        let (low, high) = match (drawn.get(tail), drawn.get(drawn.len().saturating_sub(1 + tail))) {
            (Some(low), Some(high)) => (*low, *high),
            _ => (value, value),
        };
        Bounded { value, low: low.min(value), high: high.max(value) }
    }

    /// The users at which the rate is greatest, and the rate there; `None` where that is beyond twice the users that were
    /// tried.
    pub fn peak(&self) -> Option<(Bounded, Bounded)> {
        let limit = EXTRAPOLATION_MAX * self.users_max;
        let peak = |law: &Scalability| law.peak().unwrap_or(f64::INFINITY).min(limit);
        let users = self.of(peak);
        (users.value < limit).then(|| (users, self.of(|law| law.rate(peak(law)))))
    }
}

/// Relative distance of the mean rate of `users` from the law.
fn misfit(trials: &[UsersRate], users: f64, law: &Scalability) -> f64 {
    let rates: Vec<f64> =
        trials.iter().filter(|trial| trial.users.total_cmp(&users).is_eq()).map(|trial| trial.rate).collect();
    let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
    (mean / law.rate(users) - 1.0).abs()
}

/// The law of least relative residuals.
fn fit(trials: &[UsersRate]) -> Scalability {
    // 1 = (X/N)·(a + b(N−1) + cN(N−1)), with a = 1/γ, b = α/γ, c = β/γ.
    let rows: Vec<[f64; 3]> = trials
        .iter()
        .map(|trial| {
            let weight = trial.rate / trial.users;
            [weight, weight * (trial.users - 1.0), weight * trial.users * (trial.users - 1.0)]
        })
        .collect();
    let mut best = ([f64::NAN; 3], f64::INFINITY);
    // From the simplest law to the fullest: 1/γ is in all of them.
    for columns in [&[0][..], &[0, 1], &[0, 2], &[0, 1, 2]] {
        let Some(found) = solve(&rows, columns) else { continue };
        if found.iter().any(|value| *value < 0.0) || found[0] <= 0.0 {
            continue;
        }
        let residual: f64 = rows
            .iter()
            .map(|row| {
                (1.0 - row.iter().zip(found).map(|(value, factor)| value * factor).sum::<f64>()).powi(2)
            })
            .sum();
        if residual < best.1 * (1.0 - GAIN) {
            best = (found, residual);
        }
    }
    let ([a, b, c], _) = best;
    Scalability { gamma: 1.0 / a, alpha: b / a, beta: c / a }
}

/// Least squares of `rows`·x = 1 over some columns, by normal equations of scaled columns; others are 0.
fn solve(rows: &[[f64; 3]], columns: &[usize]) -> Option<[f64; 3]> {
    let size = columns.len();
    let scale: Vec<f64> =
        columns.iter().map(|at| rows.iter().map(|row| row[*at] * row[*at]).sum::<f64>().sqrt()).collect();
    if scale.iter().any(|scale| !scale.is_normal()) {
        return None;
    }
    // The matrix and its right side.
    let mut matrix = [[0.0; 4]; 3];
    for row in rows {
        let scaled: Vec<f64> = columns.iter().zip(&scale).map(|(at, scale)| row[*at] / scale).collect();
        for (line, left) in scaled.iter().enumerate() {
            for (place, right) in scaled.iter().enumerate() {
                matrix[line][place] += left * right;
            }
            matrix[line][3] += left;
        }
    }
    // Gauss with pivots.
    for at in 0..size {
        let pivot = (at..size).max_by(|a, b| matrix[*a][at].abs().total_cmp(&matrix[*b][at].abs()))?;
        matrix.swap(at, pivot);
        if matrix[at][at].abs() < 1e-12 {
            return None;
        }
        for below in at + 1..size {
            let factor = matrix[below][at] / matrix[at][at];
            let upper = matrix[at];
            for (value, upper) in matrix[below].iter_mut().zip(upper) {
                *value -= factor * upper;
            }
        }
    }
    let mut found = [0.0; 3];
    for at in (0..size).rev() {
        let known: f64 = (at + 1..size).map(|later| matrix[at][later] * found[later]).sum();
        found[at] = (matrix[at][3] - known) / matrix[at][at];
    }
    let mut all = [0.0; 3];
    for (place, at) in columns.iter().enumerate() {
        all[*at] = found[place] / scale[place];
    }
    all.iter().all(|value| value.is_finite()).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const USERS: [f64; 6] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];

    /// Three trials of each number of users, off by up to `noise`.
    fn trials(law: Scalability, noise: f64, seed: u64) -> Vec<UsersRate> {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut trials = Vec::new();
        for users in USERS {
            for _ in 0..3 {
                let normal: f64 = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
                trials.push(UsersRate { users, rate: law.rate(users) * (noise * normal).exp() });
            }
        }
        trials
    }

    fn check_exact(gamma: f64, alpha: f64, beta: f64) {
        let law = Scalability { gamma, alpha, beta };
        let found = scalability(&trials(law, 0.0, 1), 1).expect("a law").law;
        let near = |found: f64, truth: f64| (found - truth).abs() <= 1e-6 * truth.abs().max(1e-3);
        assert!(
            near(found.gamma, gamma) && near(found.alpha, alpha) && near(found.beta, beta),
            "{found:?} {law:?}"
        );
    }

    #[test]
    fn known_laws_are_found_exactly() {
        check_exact(1000.0, 0.05, 0.001);
        check_exact(25.0, 1.0, 0.0);
        check_exact(3.0, 0.0, 0.0);
        check_exact(1e6, 0.0, 0.02);
        check_exact(0.01, 0.3, 0.0);
    }

    #[test]
    fn the_peak_is_where_the_formula_has_it() {
        let law = Scalability { gamma: 100.0, alpha: 0.04, beta: 0.0015 };
        let (users, rate) = scalability(&trials(law, 0.0, 1), 1).expect("a law").peak().expect("a peak");
        assert!((users.value - (0.96_f64 / 0.0015).sqrt()).abs() < 0.01, "{users:?}");
        assert!((rate.value - law.rate(users.value)).abs() < 0.01, "{rate:?}");
    }

    #[test]
    fn nothing_is_predicted_beyond_twice_what_was_tried() {
        let far = Scalability { gamma: 100.0, alpha: 0.0, beta: 1e-5 };
        assert_eq!(scalability(&trials(far, 0.0, 1), 1).expect("a law").peak(), None);
        let never = Scalability { gamma: 100.0, alpha: 0.2, beta: 0.0 };
        assert_eq!(scalability(&trials(never, 0.0, 1), 1).expect("a law").peak(), None);
    }

    #[test]
    fn five_numbers_of_users_bound_no_law() {
        let law = Scalability { gamma: 1.0, alpha: 0.1, beta: 0.0 };
        let few: Vec<UsersRate> = trials(law, 0.0, 1).into_iter().filter(|trial| trial.users > 1.0).collect();
        assert_eq!(scalability(&few, 1), Err(NoScalability::FewUsers { found: 5 }));
        let bad = [UsersRate { users: 0.0, rate: 1.0 }, UsersRate { users: 2.0, rate: f64::NAN }];
        assert_eq!(scalability(&bad, 1), Err(NoScalability::FewUsers { found: 0 }));
    }

    /// 200 noisy servers: the intervals of the peak, its rate and the rate in between cover what is true.
    #[test]
    fn intervals_cover_the_truth() {
        let mut covered = [0; 3];
        let runs = 200;
        for seed in 0..runs {
            let noise = if seed % 2 == 0 { 0.01 } else { 0.05 };
            let law = Scalability { gamma: 500.0, alpha: 0.05, beta: 0.002 };
            let fit = scalability(&trials(law, noise, seed), seed).expect("a law");
            let peak = law.peak().expect("it has one");
            let covers = |found: Bounded, truth: f64| found.low <= truth && truth <= found.high;
            if let Some((users, rate)) = fit.peak() {
                covered[0] += u32::from(covers(users, peak));
                covered[1] += u32::from(covers(rate, law.rate(peak)));
            }
            covered[2] += u32::from(covers(fit.of(|law| law.rate(12.0)), law.rate(12.0)));
        }
        assert!(covered.iter().all(|count| *count >= 180), "{covered:?} of {runs}");
    }
}
