//! The rate of more and more users, each of which sends its next request when the last one is answered, and the law of how
//! it grows.

use std::ops::ControlFlow;
use std::time::Duration;

use prony_model::words::{percent, plural};
use prony_model::{
    CAPACITY_FORMAT, CAPACITY_VERSION, CapacityMethod, CapacityOutcome, CapacityResult, CapacityTrial, End,
    Load, Problem, RunPlan, Scaling, ScalingFigure, ScalingFit, ScalingPoint, TrialOutcome, TrialPurpose,
    Varied, Verdict,
};
use prony_stats::{Bounded, EXTRAPOLATION_MAX, LEAST_USERS, ScalabilityFit, UsersRate, scalability};

use super::findings::{Missing, TriedAt, findings};
use super::live::{Pilot, TrialRunner, no_more, not_made, pilot};
use super::search::{TrialPlan, WARMUP_SHARE};
use super::trial::{Objectives, evaluate, trial};
use crate::loads::{Cause, Drained, LoadError, Loaded, lost_agents, wait_until_drained};

/// Trials of each number of users: three times over, up, down and up, so that drift is no law.
const ROUNDS: usize = 3;
/// A void trial is made again so often.
const AGAIN_MAX: usize = 2;
/// Trials are no longer than this, and no shorter than that.
const LONGEST_TRIAL: Duration = Duration::from_secs(10);
const SHORTEST_TRIAL: Duration = Duration::from_millis(500);
/// What a trial takes beside its own time.
const OVERHEAD: Duration = Duration::from_millis(500);
/// Points of the drawn law.
const CURVE_POINTS: u32 = 40;
/// More numbers of users than any law needs.
const USERS_MAX: usize = 40;

/// A server whose rate is measured with more and more users.
#[derive(Debug, Clone)]
pub struct LiveScaling {
    /// What each trial does, but for its users and its length.
    pub plan: RunPlan,
    /// How many users to try, ascending, at least six different numbers.
    pub users: Vec<u32>,
    /// The load that is planned for, per second.
    pub peak_per_s: Option<f64>,
    /// Length of a trial; `None` derives it from `time`.
    pub trial: Option<Duration>,
    /// Limit on the whole.
    pub time: Duration,
}

impl LiveScaling {
    /// Refuses numbers of users that bound no law.
    pub fn check(&self) -> Result<(), Problem> {
        let example = "for example: --users 1,2,4,8,16,32";
        if self.users.len() < LEAST_USERS || self.users.len() > USERS_MAX {
            return Err(Problem::new(
                format!(
                    "{} of users: it takes {LEAST_USERS} to {USERS_MAX}",
                    plural(self.users.len() as u64, "number")
                ),
                example,
            ));
        }
        if self.users.contains(&0) || self.users.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(Problem::new("numbers of users must grow from 1 or more", example));
        }
        Ok(())
    }

    /// Measures with `runner`.
    pub fn measure<R: TrialRunner>(&self, runner: &mut R) -> Result<CapacityResult, LoadError<R::Error>> {
        self.check().map_err(LoadError::Asked)?;
        let Some(pilot) = pilot(&self.plan, runner)? else {
            return Err(LoadError::Asked(Problem::new(
                "the search was stopped before its first trial",
                "nothing is known yet: start it again",
            )));
        };
        let mut measuring = Measuring {
            live: self,
            alone_ms: pilot.alone_ms,
            length: self.length(),
            trials: Vec::new(),
            notes: Vec::new(),
            missing: None,
            interrupted: false,
        };
        for users in self.order() {
            if measuring.number(users, runner).is_break() {
                break;
            }
        }
        measuring.notes.extend(lost_agents(runner));
        Ok(measuring.result(&pilot, runner.agents(), runner.elapsed()))
    }

    /// The numbers of users in the order in which they are tried.
    fn order(&self) -> Vec<u32> {
        let round = |round: usize| {
            let mut users = self.users.clone();
            if round % 2 == 1 {
                users.reverse();
            }
            users
        };
        (0..ROUNDS).flat_map(round).collect()
    }

    fn length(&self) -> Duration {
        let trials = u32::try_from(self.users.len() * ROUNDS).unwrap_or(u32::MAX);
        let each = (self.time / trials).saturating_sub(OVERHEAD).div_f64(1.0 + WARMUP_SHARE);
        self.trial.unwrap_or(each.clamp(SHORTEST_TRIAL, LONGEST_TRIAL))
    }

    /// The plan of a trial.
    fn run_plan(&self, users: u32, length: Duration) -> RunPlan {
        RunPlan {
            load: Load::Closed { connections: users },
            threads: self.plan.threads.min(users),
            end: End::Duration(length),
            warmup: length.mul_f64(WARMUP_SHARE),
            ..self.plan.clone()
        }
    }
}

/// A measurement that is on.
struct Measuring<'a> {
    live: &'a LiveScaling,
    alone_ms: Option<f64>,
    /// Length of a trial.
    length: Duration,
    trials: Vec<CapacityTrial>,
    notes: Vec<String>,
    /// Why the server could not be loaded any more.
    missing: Option<Missing>,
    interrupted: bool,
}

impl Measuring<'_> {
    /// Tries one number of users, again where the trial is void; breaks where nothing more can be tried.
    fn number<R: TrialRunner>(&mut self, users: u32, runner: &mut R) -> ControlFlow<()> {
        for _ in 0..=AGAIN_MAX {
            if runner.elapsed() + self.length.mul_f64(1.0 + WARMUP_SHARE) > self.live.time {
                return ControlFlow::Break(());
            }
            if self.one(users, runner)? != TrialOutcome::Void {
                break;
            }
        }
        ControlFlow::Continue(())
    }

    /// Makes one trial, and takes in what came of it.
    fn one<R: TrialRunner>(&mut self, users: u32, runner: &mut R) -> ControlFlow<(), TrialOutcome> {
        runner.begins(&trial_plan(users, self.length));
        let (mut made, is_in_doubt) = match runner.run(&self.live.run_plan(users, self.length)) {
            Ok(loaded) if loaded.result.timing.interrupted => return self.interrupt(),
            Ok(loaded) => {
                let made = of_users(&loaded, self.length);
                // A server that is overloaded answers all the same, if late: its users wait for it.
                let is_in_doubt = made.failed + made.unanswered > 0 || made.requests == 0;
                (made, is_in_doubt)
            }
            Err(error) => {
                let why = R::describe(&error);
                match R::cause(&error) {
                    Cause::Interrupt => return self.interrupt(),
                    Cause::Agents => {
                        self.notes.push(no_more(self.trials.len(), &why));
                        return ControlFlow::Break(());
                    }
                    Cause::Share | Cause::Lost => (void(users, self.length, why), false),
                    Cause::Server => (void(users, self.length, why), true),
                }
            }
        };
        if is_in_doubt {
            self.wait(users, &mut made, runner);
        }
        let outcome = made.outcome;
        runner.ended(&made);
        self.trials.push(made);
        if self.missing.is_some() || self.interrupted {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(outcome)
    }

    /// Waits until single requests take as long as before any load. A trial in which the server went away says nothing about
    /// its rate.
    fn wait<R: TrialRunner>(&mut self, users: u32, made: &mut CapacityTrial, runner: &mut R) {
        let load = TriedAt::Users(users);
        match wait_until_drained(&self.live.plan, self.alone_ms, runner) {
            Drained::After(after) => made.recovered_after_s = Some(after.as_secs_f64()),
            Drained::Never => self.missing = Some(Missing::NotRecovered { after: load }),
            Drained::Gone(why) => {
                made.outcome = TrialOutcome::Void;
                made.reason = format!("the server was gone: {why}");
                self.missing = Some(Missing::Gone { at: load, why });
            }
            Drained::Unknown(why) => self.notes.push(no_more(self.trials.len() + 1, &why)),
            Drained::Interrupted => self.interrupted = true,
        }
    }

    fn interrupt<T>(&mut self) -> ControlFlow<(), T> {
        self.interrupted = true;
        ControlFlow::Break(())
    }

    fn result(self, pilot: &Pilot, agents: Vec<String>, elapsed: Duration) -> CapacityResult {
        let Self { live, length, trials, interrupted, missing, .. } = self;
        let scaling = scaling(&trials, &live.users, live.plan.seed);
        let outcome = match (&scaling.missing_because, &missing) {
            (Some(_), Some(Missing::Gone { at, why })) => {
                CapacityOutcome::Unknown { reason: format!("the server was gone at {at}: {why}") }
            }
            (Some(reason), _) => CapacityOutcome::Unknown { reason: reason.clone() },
            (None, _) => CapacityOutcome::Users,
        };
        let findings = findings(&outcome, &trials, missing.as_ref(), interrupted, live.time);
        let mut notes = misfit(&scaling);
        notes.extend(self.notes);
        CapacityResult {
            format: CAPACITY_FORMAT.to_owned(),
            version: CAPACITY_VERSION,
            verdict: Verdict::from_findings(&findings),
            started_at: pilot.result.timing.started_at.clone(),
            elapsed_s: elapsed.as_secs_f64(),
            interrupted,
            plan: live.plan.clone(),
            agents,
            addresses: pilot.result.addresses.clone(),
            driver: pilot.result.driver.name.clone(),
            objectives: Vec::new(),
            errors_max: 1.0,
            peak_per_s: live.peak_per_s,
            method: CapacityMethod {
                varied: Varied::Users,
                trial_s: length.as_secs_f64(),
                warmup_share: WARMUP_SHARE,
                trials_per_load: u32::try_from(ROUNDS).unwrap_or_default(),
                exceed_ratio: 0.0,
                coarse: 0.0,
                precision: 0.0,
                confirm_trials: 0,
                confirm_share: 0.0,
                time_s: live.time.as_secs_f64(),
                from_per_s: None,
                to_per_s: None,
            },
            alone_ms: pilot.alone_ms,
            outcome,
            notes,
            trials,
            scaling: Some(scaling),
            findings,
            environment: pilot.result.environment.clone(),
        }
    }
}

fn trial_plan(users: u32, length: Duration) -> TrialPlan {
    TrialPlan { rate_per_s: f64::from(users), length, purpose: TrialPurpose::Users }
}

/// What came of a trial.
fn of_users(loaded: &Loaded, length: Duration) -> CapacityTrial {
    let none = Objectives { thresholds: Vec::new(), errors_max: 1.0 };
    let evaluated = evaluate(loaded, &none, TrialPurpose::Users);
    trial(loaded, &evaluated, &none, TrialPurpose::Users, length.as_secs_f64())
}

/// A trial that could not be made.
fn void(users: u32, length: Duration, why: String) -> CapacityTrial {
    let made = not_made(&trial_plan(users, length), TrialOutcome::Void, why);
    CapacityTrial { users: Some(users), ..made }
}

/// The law of all trials that are not void.
fn scaling(trials: &[CapacityTrial], asked: &[u32], seed: u64) -> Scaling {
    let counted: Vec<UsersRate> = trials
        .iter()
        .filter(|trial| trial.outcome == TrialOutcome::Passed)
        .filter_map(|trial| Some(UsersRate { users: f64::from(trial.users?), rate: trial.delivered_per_s }))
        .collect();
    let users_max = asked.last().copied().unwrap_or_default();
    match scalability(&counted, seed) {
        Ok(fit) => Scaling {
            fit: Some(described(&fit, counted.len() as u64, f64::from(users_max))),
            missing_because: None,
            users_max,
        },
        Err(why) => Scaling { fit: None, missing_because: Some(why.to_string()), users_max },
    }
}

fn described(fit: &ScalabilityFit, trials: u64, users_max: f64) -> ScalingFit {
    let figure =
        |bounded: Bounded| ScalingFigure { value: bounded.value, low: bounded.low, high: bounded.high };
    let peak = fit.peak();
    let last = peak.map_or(users_max, |(users, _)| (users.value * 1.1).max(users_max));
    let last = last.min(EXTRAPOLATION_MAX * users_max);
    let point = |at: u32| {
        let users = last.powf(f64::from(at) / f64::from(CURVE_POINTS));
        ScalingPoint { users, rate: figure(fit.of(|law| law.rate(users))) }
    };
    ScalingFit {
        gamma: figure(fit.of(|law| law.gamma)),
        alpha: figure(fit.of(|law| law.alpha)),
        beta: figure(fit.of(|law| law.beta)),
        peak_users: peak.map(|(users, _)| figure(users)),
        peak_per_s: peak.map(|(_, rate)| figure(rate)),
        trials,
        misfit: fit.misfit,
        curve: (0..=CURVE_POINTS).map(point).collect(),
    }
}

/// A law that does not describe the server is reported as such.
fn misfit(scaling: &Scaling) -> Vec<String> {
    /// Farther off than this, no law of three numbers describes the server.
    const MISFIT: f64 = 0.1;
    let misfit = scaling.fit.as_ref().map(|fit| fit.misfit).filter(|misfit| *misfit > MISFIT);
    let note = misfit.map(|misfit| {
        format!(
            "the law is off by up to {}: this server does not follow it, so rely on the trials",
            percent(misfit)
        )
    });
    note.into_iter().collect()
}
