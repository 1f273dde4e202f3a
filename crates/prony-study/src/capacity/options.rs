//! What a search for a capacity is asked for: checked once, for the command line and for study files.

use std::time::Duration;

use prony_model::{Problem, Rate, RunPlan, Spelling, Threshold};

use super::live::{LiveCapacity, refuse_too_long};
use super::trial::Objectives;

/// Time for all trials, where none is given.
const TIME: Duration = Duration::from_mins(10);
/// A shorter search finds nothing, a longer one is a mistake.
const TIME_MIN: Duration = Duration::from_secs(10);
const TIME_MAX: Duration = Duration::from_hours(24);
/// A shorter trial is mostly its own beginning.
const TRIAL_MIN: Duration = Duration::from_millis(100);
/// Share of the requests that may have no good answer.
const ERRORS_MAX: f64 = 0.001;

/// What a search is asked for, as it was typed: `None` where nothing was.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CapacityOptions {
    /// What every trial must meet.
    pub objectives: Vec<Threshold>,
    /// Share of the requests (0..1) that may have no good answer.
    pub errors: Option<f64>,
    /// Try no lower rate, and begin there.
    pub from: Option<Rate>,
    /// Try no higher rate.
    pub to: Option<Rate>,
    /// The rate that is planned for.
    pub peak: Option<Rate>,
    /// Length of a trial.
    pub trial: Option<Duration>,
    /// Time for all trials.
    pub time: Option<Duration>,
}

impl CapacityOptions {
    /// Time for all trials and the length of one, where that is given; refuses what finds nothing.
    pub fn lengths(&self, spelled: Spelling) -> Result<(Duration, Option<Duration>), Problem> {
        let time = self.time.unwrap_or(TIME);
        if !(TIME_MIN..=TIME_MAX).contains(&time) {
            let what = format!("{} must be 10s to 24h", spelled("time"));
            return Err(Problem::new(what, "10m are enough for most searches").about("time"));
        }
        if self.trial.is_some_and(|trial| trial < TRIAL_MIN || trial > time / 2) {
            let what = format!(
                "{} must be 100ms at least and half of {} at most",
                spelled("trial"),
                spelled("time")
            );
            let advice = format!("leave it out: it follows from {}", spelled("time"));
            return Err(Problem::new(what, advice).about("trial"));
        }
        Ok((time, self.trial))
    }

    /// The search by `plan`, an open loop whose rate and length are varied; refuses what can't be searched for.
    pub fn search(&self, plan: RunPlan, spelled: Spelling) -> Result<LiveCapacity, Problem> {
        let (time, trial) = self.lengths(spelled)?;
        if self.objectives.is_empty() {
            let example = "say what every request must get, as in 'response.p99 < 50ms'";
            return Err(Problem::new(format!("a capacity needs {}", spelled("slo")), example).about("slo"));
        }
        let per_s = |rate: Option<Rate>| rate.map(Rate::as_per_second);
        let (from, to) = (per_s(self.from), per_s(self.to));
        if let (Some(from), Some(to)) = (from, to)
            && from >= to
        {
            let what = format!("{} is not below {}", spelled("from"), spelled("to"));
            return Err(Problem::new(what, "leave out one of them, or exchange them").about("to"));
        }
        let errors_max = self.errors.unwrap_or(ERRORS_MAX);
        if !(0.0..1.0).contains(&errors_max) {
            let what = format!("{} must be 0% or more, and less than 100%", spelled("errors"));
            return Err(Problem::new(what, "for example 0.1%").about("errors"));
        }
        let objectives = Objectives { thresholds: self.objectives.clone(), errors_max };
        let of_slo = |problem: Problem| problem.after(&format!("{} ", spelled("slo"))).about("slo");
        objectives.check().map_err(of_slo)?;
        for threshold in &objectives.thresholds {
            threshold.refuse_unknown_names(&plan).map_err(of_slo)?;
        }
        let peak_per_s = per_s(self.peak);
        let live = LiveCapacity { plan, objectives, from_per_s: from, to_per_s: to, peak_per_s, trial, time };
        if let Some(from) = from {
            refuse_too_long(&live.options(from)).map_err(|problem| problem.about("time"))?;
        }
        Ok(live)
    }
}
