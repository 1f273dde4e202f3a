//! Which load to try next: a pure state machine over trials, without a clock or a server.
//!
//! Single trials narrow the range down to [`COARSE`]; then each bound is decided by several trials (RFC 9971, MLRsearch:
//! load classification by duration sum and exceed ratio), geometric midpoints follow down to [`PRECISION`], and a long trial
//! a little below confirms the lower bound. What a trial says can be taken back by later ones at the same load: the least
//! load that is not carried is the upper bound, the greatest one below it that is carried the lower.

use std::time::Duration;

use prony_model::{CapacityLimit, TrialOutcome, TrialPurpose};

use super::outcome::interval;

/// Ratio of the bounds, less one, down to which single trials decide.
pub(super) const COARSE: f64 = 0.08;
/// The same where no trial can be made above: what is carried is then all that the search says.
const CEILING: f64 = 0.04;
/// Ratio of the bounds, less one, at which the search ends.
pub(super) const PRECISION: f64 = 0.02;
/// Trials of one load that decide on it at most.
pub(super) const TRIALS_PER_LOAD: u32 = 5;
/// Share of their time that may fail.
pub(super) const EXCEED_RATIO: f64 = 0.5;
/// Length of the confirming trial, in trials.
pub(super) const CONFIRM_TRIALS: u32 = 6;
/// Its load, as a share of the lower bound.
pub(super) const CONFIRM_SHARE: f64 = 0.95;
/// Warm-up as a share of the measured part.
pub(super) const WARMUP_SHARE: f64 = 0.2;
/// The first steps, while nothing failed or nothing passed, double or halve the load.
const STRIDE: f64 = 2.0;
/// A load is given up after so many void trials in a row: where the client is too slow it will be the next time.
const VOID_OF_CLIENT_MAX: u32 = 2;
/// Where the machine was busy, the next moment may be better; where an agent was lost, those that are left may do.
const VOID_OF_MACHINE_MAX: u32 = 5;
/// So many misses on a disturbed machine leave no majority for a load; a quiet moment is not waited for any longer.
const MISSES_MAX: u32 = 3;
/// The interval of all trials may reach this far beyond a bound, as a ratio less one, before more trials are spent there.
const LOOSE: f64 = 0.04;
/// So many at most.
const TIGHTENING_MAX: u32 = 10;
/// More trials than any search takes that gets anywhere.
const TRIALS_MAX: usize = 300;
/// Least load: ten requests in three hours.
const LEAST_PER_S: f64 = 0.001;
/// What ends a trial beside its own time: connecting, draining.
const OVERHEAD: Duration = Duration::from_millis(500);

/// What is searched, and within which limits.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SearchOptions {
    /// The first load, per second.
    pub(super) start_per_s: f64,
    /// No lower load is tried.
    pub(super) from_per_s: Option<f64>,
    /// No higher load is tried.
    pub(super) to_per_s: Option<f64>,
    /// Least measured part of a trial.
    pub(super) trial: Duration,
    /// Requests that a trial needs so that its quantiles are known.
    pub(super) requests_needed: f64,
    /// Limit on the whole search.
    pub(super) time: Duration,
}

/// What is to be done next.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Next {
    /// Put this load on the server.
    Try(TrialPlan),
    /// The search is over.
    End(Found),
}

/// A trial to be made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialPlan {
    /// The load, per second.
    pub rate_per_s: f64,
    /// The measured part.
    pub length: Duration,
    /// What it is for.
    pub purpose: TrialPurpose,
}

/// A trial that was made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tried {
    /// What was planned.
    pub(super) plan: TrialPlan,
    /// What came of it.
    pub(super) outcome: TrialOutcome,
    /// Why it is void.
    pub(super) void_by: Option<CapacityLimit>,
    /// Client or machine were in the way: where it passed it did so nevertheless, where it is void it missed its objectives.
    pub(super) is_disturbed: bool,
}

impl Tried {
    /// It missed its objectives, and would perhaps have met them on a quiet machine.
    pub(super) fn is_missed(&self) -> bool {
        self.is_disturbed && self.outcome == TrialOutcome::Void
    }
}

/// A bound, and whether as many trials as the method asks for decided on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Decided {
    /// The load, per second.
    pub(super) rate_per_s: f64,
    /// Whether further trials could not change it.
    pub(super) is_final: bool,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    /// The greatest load that is carried, below `exceeded`.
    pub(super) carried: Option<Decided>,
    /// The least load that is not carried.
    pub(super) exceeded: Option<Decided>,
    /// The confirming trial that passed: load and length.
    pub(super) confirmed: Option<(f64, Duration)>,
    /// Why the search ended where it did not come to its end.
    pub(super) limit: Option<CapacityLimit>,
}

/// A search.
#[derive(Debug, Clone)]
pub(super) struct Search {
    options: SearchOptions,
    loads: Vec<TriedLoad>,
    trials: Vec<Tried>,
    /// Trials spent on what lies beyond the bounds.
    tightening: u32,
    /// Steps upwards in a row since an upper bound was taken back.
    strides: i32,
    confirmed: Option<(f64, Duration)>,
    confirm_voids: u32,
    /// The long trial failed, which may be chance: it is made once more.
    repeat: Option<TrialPlan>,
    /// It failed twice, so that short ones that passed were carried by a burst: all trials are long from then on.
    is_long: bool,
    /// Set where the server is gone or the search was ended by hand.
    ended: bool,
}

/// All trials of one load.
#[derive(Debug, Clone, Copy, Default)]
struct TriedLoad {
    rate_per_s: f64,
    passed_s: f64,
    failed_s: f64,
    /// The part of `passed_s` in which client or machine were disturbed.
    passed_disturbed_s: f64,
    /// Void trials that missed their objectives: they speak against the load being carried, and not for its being too high.
    missed_s: f64,
    /// Length of one trial: what the sums are counted in.
    trial_s: f64,
    voids_in_a_row: u32,
    void_by: Option<CapacityLimit>,
}

/// What is known of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Carried; whether that is final.
    Carried(bool),
    /// Not carried; whether that is final.
    Exceeded(bool),
    /// No trial can be made there.
    Blocked(CapacityLimit),
    /// Not known.
    Open,
}

impl TriedLoad {
    /// RFC 9971 over the trials that nothing disturbed; or over all of them, where those that missed their objectives count as
    /// failed: what is carried by either is carried.
    fn standing(&self) -> Standing {
        if let Some(limit) = self.blocked_by() {
            return Standing::Blocked(limit);
        }
        let quiet = self.classified(self.passed_s - self.passed_disturbed_s, self.failed_s);
        if self.passed_disturbed_s + self.missed_s <= 0.0 {
            return quiet;
        }
        let all = self.classified(self.passed_s, self.failed_s + self.missed_s);
        let is_tried_enough = self.missed_s >= f64::from(MISSES_MAX) * self.trial_s;
        match (quiet, all) {
            (Standing::Carried(true), _) | (_, Standing::Carried(true)) => Standing::Carried(true),
            (Standing::Exceeded(true), _) => Standing::Exceeded(true),
            (Standing::Carried(false), _) | (_, Standing::Carried(false)) => Standing::Carried(false),
            (Standing::Exceeded(false), _) => Standing::Exceeded(false),
            _ => self.void_by.filter(|_| is_tried_enough).map_or(Standing::Open, Standing::Blocked),
        }
    }

    /// What would follow if all trials to come passed, and if all failed.
    fn classified(&self, passed: f64, failed: f64) -> Standing {
        if passed + failed <= 0.0 {
            return Standing::Open;
        }
        let whole = (f64::from(TRIALS_PER_LOAD) * self.trial_s).max(passed + failed);
        let allowed = EXCEED_RATIO * whole;
        let is_carried_at_best = failed <= allowed;
        let is_carried_at_worst = whole - passed <= allowed;
        match (is_carried_at_best, is_carried_at_worst) {
            (true, true) => Standing::Carried(true),
            (false, _) => Standing::Exceeded(true),
            // Until it is decided the majority counts; of equals the worse.
            (true, false) if passed > failed => Standing::Carried(false),
            (true, false) => Standing::Exceeded(false),
        }
    }

    fn blocked_by(&self) -> Option<CapacityLimit> {
        let by = self.void_by?;
        let may_pass = matches!(by, CapacityLimit::Machine | CapacityLimit::Agents | CapacityLimit::Server);
        let most = if may_pass { VOID_OF_MACHINE_MAX } else { VOID_OF_CLIENT_MAX };
        (self.voids_in_a_row >= most).then_some(by)
    }
}

impl Search {
    /// A search that has tried nothing yet.
    pub(super) fn new(options: SearchOptions) -> Self {
        Self {
            options,
            loads: Vec::new(),
            trials: Vec::new(),
            tightening: 0,
            strides: 0,
            confirmed: None,
            confirm_voids: 0,
            repeat: None,
            is_long: false,
            ended: false,
        }
    }

    /// Takes in what came of a trial.
    pub(super) fn record(&mut self, tried: Tried) {
        self.trials.push(tried);
        let Tried { plan, outcome, void_by, .. } = tried;
        if plan.purpose == TrialPurpose::Confirm || self.is_long {
            match outcome {
                TrialOutcome::Passed => {
                    (self.confirmed, self.repeat) = (Some((plan.rate_per_s, plan.length)), None);
                }
                TrialOutcome::Failed if self.is_long => {}
                TrialOutcome::Failed if self.repeat.is_none() => self.repeat = Some(plan),
                TrialOutcome::Failed => self.distrust_short_trials(),
                TrialOutcome::Void => self.confirm_voids += 1,
            }
        }
        let (length_s, trial_s) = (plan.length.as_secs_f64(), self.short(plan.rate_per_s).as_secs_f64());
        let load = self.load(plan.rate_per_s);
        load.trial_s = trial_s;
        match outcome {
            TrialOutcome::Passed => {
                load.passed_s += length_s;
                load.passed_disturbed_s += if tried.is_disturbed { length_s } else { 0.0 };
            }
            TrialOutcome::Failed => load.failed_s += length_s,
            TrialOutcome::Void => {
                // A void long trial says nothing about short ones at the same load.
                if plan.purpose != TrialPurpose::Confirm {
                    load.voids_in_a_row += 1;
                    load.missed_s += if tried.is_missed() { length_s } else { 0.0 };
                    load.void_by = void_by.or(Some(CapacityLimit::Machine));
                }
                return;
            }
        }
        load.voids_in_a_row = 0;
    }

    /// From here on trials are long, and one decides on its load. What short ones failed stays.
    fn distrust_short_trials(&mut self) {
        (self.is_long, self.repeat) = (true, None);
        for load in &mut self.loads {
            (load.passed_s, load.passed_disturbed_s, load.missed_s) = (0.0, 0.0, 0.0);
        }
        if let Some((rate_per_s, length)) = self.confirmed {
            self.load(rate_per_s).passed_s = length.as_secs_f64();
        }
    }

    /// Ends the search with what is known: the server is gone, or somebody wants it.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    /// What to do next, `elapsed` into the search.
    pub(super) fn next(&mut self, elapsed: Duration) -> Next {
        let left = self.options.time.saturating_sub(elapsed);
        if self.ended || self.trials.len() >= TRIALS_MAX {
            return Next::End(self.found(Some(CapacityLimit::Time).filter(|_| !self.ended)));
        }
        if let Some(repeat) = self.repeat {
            if Self::cost(&repeat) <= left && self.confirm_voids < VOID_OF_CLIENT_MAX {
                return Next::Try(repeat);
            }
            self.distrust_short_trials();
        }
        match self.wanted() {
            Wanted::Load(rate, purpose) => {
                let plan = self.trial(rate, purpose);
                let confirm = self.confirmation();
                let reserve = confirm.map_or(Duration::ZERO, |confirm| Self::cost(&confirm));
                if Self::cost(&plan) + reserve <= left {
                    return Next::Try(plan);
                }
                match confirm.filter(|confirm| Self::cost(confirm) <= left) {
                    Some(confirm) => Next::Try(confirm),
                    None => Next::End(self.found(Some(CapacityLimit::Time))),
                }
            }
            Wanted::Confirmation(limit) => match self.confirmation() {
                Some(confirm) if Self::cost(&confirm) <= left => Next::Try(confirm),
                Some(_) => Next::End(self.found(Some(limit.unwrap_or(CapacityLimit::Time)))),
                None => Next::End(self.found(limit)),
            },
            Wanted::Nothing(limit) => Next::End(self.found(limit)),
        }
    }

    /// The load that would say most, time aside.
    fn wanted(&mut self) -> Wanted {
        let (carried, exceeded) = self.bounds();
        let ceiling = self.ceiling().filter(|(rate, _)| exceeded.is_none_or(|load| *rate < load.rate_per_s));
        let top = ceiling.map(|(rate, _)| rate).or(exceeded.map(|load| load.rate_per_s));
        match (carried, top) {
            (None, None) => Wanted::Load(self.within(self.options.start_per_s), TrialPurpose::Coarse),
            (None, Some(top)) => self.downwards(top, exceeded, ceiling),
            (Some(carried), None) => self.upwards(carried),
            (Some(carried), Some(top)) => {
                self.strides = 0;
                let ratio = top / carried.rate_per_s - 1.0;
                let middle = rounded((carried.rate_per_s * top).sqrt());
                let can_split = middle > carried.rate_per_s && middle < top;
                let coarse = if ceiling.is_some() { CEILING } else { COARSE };
                if ratio > coarse && can_split {
                    return Wanted::Load(middle, TrialPurpose::Coarse);
                }
                if let Some(rate) =
                    undecided(Some(carried)).or_else(|| undecided(exceeded.filter(|_| ceiling.is_none())))
                {
                    return Wanted::Load(rate, TrialPurpose::Bound);
                }
                if ratio > PRECISION && can_split && ceiling.is_none() {
                    return Wanted::Load(middle, TrialPurpose::Bound);
                }
                if let Some(rate) = self.beyond(carried, top).filter(|_| ceiling.is_none()) {
                    return Wanted::Load(rate, TrialPurpose::Bound);
                }
                Wanted::Confirmation(ceiling.map(|(_, limit)| limit))
            }
        }
    }

    /// A load beyond a bound at which another trial would tighten the interval of all trials.
    fn beyond(&mut self, carried: TriedLoad, top: f64) -> Option<f64> {
        if self.tightening >= TIGHTENING_MAX {
            return None;
        }
        let interval = interval(&self.trials)?;
        let rate = if interval.high > top * (1.0 + LOOSE) {
            top * (1.0 + LOOSE)
        } else if interval.low < carried.rate_per_s / (1.0 + LOOSE) {
            carried.rate_per_s / (1.0 + LOOSE)
        } else {
            return None;
        };
        let rate = self.within(rate);
        let is_blocked = self.loads.iter().any(|load| {
            load.rate_per_s.total_cmp(&rate).is_eq() && matches!(load.standing(), Standing::Blocked(_))
        });
        if is_blocked {
            return None;
        }
        self.tightening += 1;
        Some(rate)
    }

    /// Nothing was carried yet, and `top` can't be.
    fn downwards(
        &mut self,
        top: f64,
        exceeded: Option<TriedLoad>,
        ceiling: Option<(f64, CapacityLimit)>,
    ) -> Wanted {
        let least = self.options.from_per_s.unwrap_or(LEAST_PER_S);
        if top > least * (1.0 + 1e-9) {
            return Wanted::Load(self.within(top / STRIDE), TrialPurpose::Coarse);
        }
        match undecided(exceeded.filter(|_| ceiling.is_none())) {
            Some(rate) => Wanted::Load(rate, TrialPurpose::Bound),
            None => Wanted::Nothing(ceiling.map(|(_, limit)| limit)),
        }
    }

    /// Everything so far was carried, up to `carried`.
    fn upwards(&mut self, carried: TriedLoad) -> Wanted {
        let most = self.options.to_per_s.unwrap_or(f64::INFINITY);
        if carried.rate_per_s * (1.0 + 1e-9) >= most {
            return match undecided(Some(carried)) {
                Some(rate) => Wanted::Load(rate, TrialPurpose::Bound),
                None => Wanted::Confirmation(Some(CapacityLimit::Asked)),
            };
        }
        // Where an upper bound was taken back, the capacity is near: begin with small steps.
        let has_failed = self.loads.iter().any(|load| load.failed_s > 0.0);
        let stride = if has_failed {
            let stride = (1.0 + COARSE).powi(1 << self.strides.clamp(0, 4));
            self.strides += 1;
            stride.min(STRIDE)
        } else {
            STRIDE
        };
        Wanted::Load(self.within(carried.rate_per_s * stride), TrialPurpose::Coarse)
    }

    /// The greatest load that is carried below the least that is not, and the latter.
    fn bounds(&self) -> (Option<TriedLoad>, Option<TriedLoad>) {
        let of = |is: fn(Standing) -> bool| self.loads.iter().filter(move |load| is(load.standing()));
        let by_rate = |a: &&TriedLoad, b: &&TriedLoad| a.rate_per_s.total_cmp(&b.rate_per_s);
        let exceeded = of(|standing| matches!(standing, Standing::Exceeded(_))).min_by(by_rate);
        let below = |load: &&TriedLoad| exceeded.is_none_or(|top| load.rate_per_s < top.rate_per_s);
        let carried = of(|standing| matches!(standing, Standing::Carried(_))).filter(below).max_by(by_rate);
        (carried.copied(), exceeded.copied())
    }

    /// The least load above all that was carried at which no trial can be made.
    fn ceiling(&self) -> Option<(f64, CapacityLimit)> {
        let floor = self.bounds().0.map_or(0.0, |load| load.rate_per_s);
        let blocked = self.loads.iter().filter(|load| load.rate_per_s > floor).filter_map(|load| {
            let Standing::Blocked(limit) = load.standing() else { return None };
            Some((load.rate_per_s, limit))
        });
        blocked.min_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// The confirming trial, unless there is nothing to confirm or it was made.
    fn confirmation(&self) -> Option<TrialPlan> {
        let carried = self.bounds().0?;
        let rate_per_s = rounded(CONFIRM_SHARE * carried.rate_per_s);
        let is_made = self.confirmed.is_some_and(|(rate, _)| rate >= rate_per_s);
        if is_made || self.is_long || self.confirm_voids >= VOID_OF_CLIENT_MAX {
            return None;
        }
        let length = self.short(rate_per_s) * CONFIRM_TRIALS;
        Some(TrialPlan { rate_per_s, length, purpose: TrialPurpose::Confirm })
    }

    fn trial(&self, rate_per_s: f64, purpose: TrialPurpose) -> TrialPlan {
        TrialPlan { rate_per_s, length: self.length(rate_per_s), purpose }
    }

    fn length(&self, rate_per_s: f64) -> Duration {
        self.short(rate_per_s) * if self.is_long { CONFIRM_TRIALS } else { 1 }
    }

    /// Long enough for the quantiles.
    fn short(&self, rate_per_s: f64) -> Duration {
        let needed = Duration::try_from_secs_f64(self.options.requests_needed / rate_per_s);
        self.options.trial.max(needed.unwrap_or(self.options.trial))
    }

    fn cost(plan: &TrialPlan) -> Duration {
        plan.length.mul_f64(1.0 + WARMUP_SHARE) + OVERHEAD
    }

    /// `rate` as it is tried: round, and within what was asked for.
    fn within(&self, rate: f64) -> f64 {
        let SearchOptions { from_per_s, to_per_s, .. } = self.options;
        rounded(rate).max(from_per_s.unwrap_or(LEAST_PER_S)).min(to_per_s.unwrap_or(f64::INFINITY))
    }

    fn load(&mut self, rate_per_s: f64) -> &mut TriedLoad {
        let place = self.loads.iter().position(|load| load.rate_per_s.total_cmp(&rate_per_s).is_eq());
        let place = place.unwrap_or_else(|| {
            self.loads.push(TriedLoad { rate_per_s, ..TriedLoad::default() });
            self.loads.len() - 1
        });
        &mut self.loads[place]
    }

    /// What is known now.
    fn found(&self, limit: Option<CapacityLimit>) -> Found {
        let (carried, exceeded) = self.bounds();
        let decided = |load: TriedLoad| Decided {
            rate_per_s: load.rate_per_s,
            is_final: undecided(Some(load)).is_none(),
        };
        let carried = carried.map(decided);
        // What was confirmed below a bound that was taken back confirms nothing.
        let confirmed = self.confirmed.filter(|(rate, _)| {
            carried.is_some_and(|carried| {
                *rate <= carried.rate_per_s && *rate >= rounded(CONFIRM_SHARE * carried.rate_per_s)
            })
        });
        Found { carried, exceeded: exceeded.map(decided), confirmed, limit }
    }
}

/// What a search wants to know.
enum Wanted {
    Load(f64, TrialPurpose),
    /// That the lower bound holds for long; and what ended the search for more, if something did.
    Confirmation(Option<CapacityLimit>),
    Nothing(Option<CapacityLimit>),
}

/// The load, where more trials could change what is known of it.
fn undecided(load: Option<TriedLoad>) -> Option<f64> {
    let load = load?;
    matches!(load.standing(), Standing::Carried(false) | Standing::Exceeded(false) | Standing::Open)
        .then_some(load.rate_per_s)
}

/// Four significant digits: loads that people can read, a tenth of what the search can tell apart.
pub(super) fn rounded(rate: f64) -> f64 {
    let unit = 10_f64.powf(rate.log10().floor() - 3.0);
    if !unit.is_normal() {
        return rate;
    }
    // By its decimal digits, so that equal loads are equal numbers.
    let digits = (rate / unit).round();
    let exact = if unit >= 1.0 { digits * unit.round() } else { digits / (1.0 / unit).round() };
    if exact.is_finite() { exact } else { rate }
}

#[cfg(test)]
mod tests;
